"""git over ASGI: real git clients and hand-made requests against one bare repository."""

import asyncio
import contextlib
import fcntl
import gzip
import os
import shlex
import sys
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from overlord.embedded.forge import repository as bare
from overlord.embedded.server import serve
from overlord.smart_http import LONGEST_S, backend, serve_git

DEADLINE_S = 180
PATIENCE_S = 180
FULL_BYTES, FULL_TURNS = 16_000, 50

Served = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    directory = tmp_path / "calc.git"
    bare.create(directory, "main")
    author = bare.Author(name="alice", at=datetime(2026, 1, 1, tzinfo=UTC))
    bare.commit_files(directory, "main", {"calc.py": "x = 1\n"}, parent=None, message="First", author=author)
    return directory


@pytest.fixture
def served(repository: Path) -> Served:
    @asynccontextmanager
    async def serving(**options: Any) -> AsyncIterator[str]:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            path = scope["path"].removeprefix("/calc.git")
            await serve_git(
                scope, receive, send, **{"repository": repository, "path_info": path, "user": "bob"} | options
            )

        async with serve(app) as url:
            yield f"{url}/calc.git"

    return serving


async def git(*arguments: str, directory: Path | None = None) -> tuple[int, str]:
    identity = {"GIT_AUTHOR_NAME": "bob", "GIT_AUTHOR_EMAIL": "b@x", "GIT_COMMITTER_NAME": "bob"}
    process = await asyncio.create_subprocess_exec(
        "git",
        *arguments,
        cwd=directory,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_COMMITTER_EMAIL": "b@x",
            **identity,
        },
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def packet(text: str) -> bytes:
    return f"{len(text) + 4:04x}{text}".encode()


def wants(repository: Path) -> bytes:
    return packet(f"want {bare.heads(repository)['main']}\n") + b"0000" + packet("done\n")


async def test_a_clone_and_a_large_push_go_through(served: Served, repository: Path, tmp_path: Path) -> None:
    async with served() as url:
        assert (await git("clone", "-q", url, str(tmp_path / "work"))) == (0, "")
        # More than git's postBuffer, so that it is sent in chunks without a length.
        (tmp_path / "work" / "large").write_bytes(os.urandom(3_000_000))
        await git("add", "-A", directory=tmp_path / "work")
        await git("commit", "-qm", "Large", directory=tmp_path / "work")
        code, output = await git("push", "-q", "origin", "HEAD:refs/heads/topic", directory=tmp_path / "work")
    assert code == 0, output
    assert len(bare.files_at(repository, "topic")["large"]) == 3_000_000


async def test_a_compressed_request_is_understood(served: Served, repository: Path) -> None:
    headers = {"content-type": "application/x-git-upload-pack-request", "content-encoding": "gzip"}
    async with served() as url, httpx.AsyncClient() as client:
        compressed = gzip.compress(wants(repository))
        answer = await client.post(f"{url}/git-upload-pack", content=compressed, headers=headers)
    assert answer.status_code == 200
    assert b"PACK" in answer.content


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/HEAD", 404),
        ("GET", "/objects/info/packs", 404),
        ("GET", "/info/refs", 404),
        ("GET", "/info/refs?service=git-upload-archive", 404),
        ("GET", "/../calc.git/config", 404),
        ("GET", "/git-upload-pack", 405),
        ("POST", "/info/refs?service=git-upload-pack", 405),
        ("GET", "/info/refs?service=git-upload-pack", 200),
    ],
)
async def test_only_the_smart_endpoints_exist(served: Served, method: str, path: str, status: int) -> None:
    async with served() as url, httpx.AsyncClient() as client:
        assert (await client.request(method, url + path)).status_code == status


async def test_a_push_by_nobody_is_refused(served: Served) -> None:
    async with served(user=None) as url, httpx.AsyncClient() as client:
        answer = await client.get(f"{url}/info/refs?service=git-receive-pack")
    assert answer.status_code == 403


async def test_protocol_v2_is_spoken_only_when_it_is_forwarded(served: Served) -> None:
    address, headers = "/info/refs?service=git-upload-pack", {"git-protocol": "version=2"}
    async with httpx.AsyncClient(headers=headers) as client:
        async with served() as url:
            assert b"version 2" not in (await client.get(url + address)).content
        async with served(forward_protocol=True) as url:
            assert b"version 2" in (await client.get(url + address)).content


def fake_git(directory: Path, script: str) -> dict[str, str]:
    """An environment in which git's backend is this shell script."""
    directory.mkdir()
    for name, text in (("git", f"echo {shlex.quote(str(directory))}"), ("git-http-backend", script)):
        (directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / name).chmod(0o755)
    return {"PATH": f"{directory}:{os.environ['PATH']}"}


async def test_a_request_over_the_limit_is_refused_with_and_without_a_length(
    served: Served, tmp_path: Path
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(400):
            yield b"0" * 60_000

    headers = {"content-type": "application/x-git-receive-pack-request"}
    environment = fake_git(tmp_path / "bin", "cat > /dev/null")
    options = {"max_request_bytes": 100_000, "environment": environment}
    async with served(**options) as url, httpx.AsyncClient(headers=headers) as client:
        told = await client.post(f"{url}/git-receive-pack", content=b"0" * 100_001)
        found = await client.post(f"{url}/git-receive-pack", content=chunks())
        fits = await client.post(f"{url}/git-receive-pack", content=b"0" * 100_000)
    assert (told.status_code, found.status_code, fits.status_code) == (413, 413, 500)


async def test_a_repository_that_git_cannot_read_is_a_short_500(served: Served, repository: Path) -> None:
    (repository / "config").write_text("[core\n")
    async with served() as url, httpx.AsyncClient() as client:
        answer = await client.get(f"{url}/info/refs?service=git-upload-pack")
    assert answer.status_code == 500
    assert str(repository) not in answer.text


async def test_a_backend_that_dies_without_an_answer_is_a_short_500(served: Served, tmp_path: Path) -> None:
    environment = fake_git(tmp_path / "bin", "echo nothing useful; echo secret >&2; exit 3")
    async with served(environment=environment) as url, httpx.AsyncClient() as client:
        answer = await client.get(f"{url}/info/refs?service=git-upload-pack")
    assert (answer.status_code, answer.text) == (500, "git could not serve this repository\n")


async def test_a_missing_git_is_a_short_500(served: Served, tmp_path: Path) -> None:
    async with served(environment={"PATH": str(tmp_path)}) as url, httpx.AsyncClient() as client:
        answer = await client.get(f"{url}/info/refs?service=git-upload-pack")
    assert answer.status_code == 500


async def test_nothing_of_our_environment_reaches_the_backend(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "canary")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    seen = tmp_path / "seen"
    environment = fake_git(tmp_path / "bin", f"env > {shlex.quote(str(seen))}; exit 1")
    async with served(environment=environment) as url, httpx.AsyncClient() as client:
        await client.get(f"{url}/info/refs?service=git-upload-pack", headers={"git-protocol": "version=2"})
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        "PATH",
        "LC_ALL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_GLOBAL",
        *(
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_VALUE_0",
            "GIT_CONFIG_KEY_1",
            "GIT_CONFIG_VALUE_1",
        ),
        "GIT_HTTP_EXPORT_ALL",
        "GIT_PROJECT_ROOT",
        "PATH_INFO",
        "QUERY_STRING",
        "REQUEST_METHOD",
        "REMOTE_ADDR",
        "REMOTE_USER",
    }


async def test_the_backend_dies_with_its_clients_connection(served: Served, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    # Held open by the backend and its child: the reader sees the end when both are gone.
    script = f"exec 3>{shlex.quote(str(tmp_path / 'alive'))}; sleep 60 & echo started >&3; wait"
    environment = fake_git(tmp_path / "bin", script)
    alive = asyncio.StreamReader()
    pipe = os.fdopen(os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK), "rb")
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(alive), pipe
    )
    async with served(environment=environment) as url, httpx.AsyncClient() as client:
        asking = asyncio.create_task(client.get(f"{url}/info/refs?service=git-upload-pack"))
        assert await asyncio.wait_for(alive.readline(), DEADLINE_S) == b"started\n"
        asking.cancel()
        assert await asyncio.wait_for(alive.read(), DEADLINE_S) == b""
    transport.close()


async def test_an_answer_that_comes_early_is_heard_by_a_client_that_still_sends(
    served: Served, tmp_path: Path
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"0" * 100_000

    said = r"printf 'Content-Type: text/plain\r\n\r\ntoo large'"
    environment = fake_git(tmp_path / "bin", said)
    async with served(environment=environment) as url, httpx.AsyncClient() as client:
        for _ in range(5):
            answer = await client.post(f"{url}/git-receive-pack", content=chunks())
            assert (answer.status_code, answer.text) == (200, "too large")


async def test_a_push_that_takes_too_long_is_ended_and_the_client_is_told(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is moved once the answer has begun; it would have no end."""
    said = r"printf 'Content-Type: application/x-git-receive-pack-result\r\n\r\n'; sleep 600"
    real = shlex.quote(backend(os.environ["PATH"]))
    environment = fake_git(tmp_path / "bin", f'[ "$REQUEST_METHOD" = GET ] && exec {real}; {said}')
    loop = asyncio.get_running_loop()
    time = loop.time

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Any) -> None:
            await send(message)
            if scope["method"] == "POST" and message["type"] == "http.response.start":
                monkeypatch.setitem(vars(loop), "time", lambda: time() + LONGEST_S)

        path = scope["path"].removeprefix("/calc.git")
        await serve_git(
            *(scope, receive, sending),
            repository=repository,
            path_info=path,
            user="bob",
            environment=environment,
        )

    async with serve(app) as url:
        await git("clone", "-q", str(repository), str(tmp_path / "work"))
        address = f"{url}/calc.git"
        code, output = await git("push", address, "HEAD:refs/heads/topic", directory=tmp_path / "work")
    assert code != 0
    assert "remote: rejected: it took longer than 600 s" in output


async def test_hooks_of_the_repository_do_not_run(served: Served, repository: Path, tmp_path: Path) -> None:
    hook = repository / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    async with served() as url:
        await git("clone", "-q", url, str(tmp_path / "work"))
        code, output = await git("push", "-q", "origin", "HEAD:refs/heads/topic", directory=tmp_path / "work")
    assert code == 0, output


SERVER = """
import asyncio, sys
from pathlib import Path
from overlord.embedded.server import serve
from overlord.smart_http import serve_git

async def app(scope, receive, send):
    path = scope["path"].removeprefix("/calc.git")
    await serve_git(scope, receive, send, repository=Path(sys.argv[1]), path_info=path, user="bob")

async def main():
    async with serve(app) as url:
        print(url.rpartition(":")[2], flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def backends(repository: Path) -> list[int]:
    """The processes that serve a repository."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                entry.name.isdigit()
                and f"GIT_PROJECT_ROOT={repository}".encode() in (entry / "environ").read_bytes()
            ):
                found.append(int(entry.name))
    return found


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not holds():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.02):
                    await asyncio.Event().wait()


async def test_no_backend_outlives_a_server_that_was_killed_in_the_middle_of_a_push(repository: Path) -> None:
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SERVER, str(repository)), stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    _, writer = await asyncio.open_connection("127.0.0.1", int(await server.stdout.readline()))
    writer.write(
        b"POST /calc.git/git-receive-pack HTTP/1.1\r\nhost: x\r\ncontent-length: 957\r\n"
        b"content-type: application/x-git-receive-pack-request\r\n\r\n0094"
    )
    await until(lambda: len(backends(repository)) > 1)
    server.kill()
    await server.wait()
    writer.close()
    await until(lambda: backends(repository) == [])


async def test_a_client_that_leaves_in_the_middle_leaves_no_pipe_open(repository: Path) -> None:
    noise = "".join(f"{number * 2654435761 % 2**32:08x}{number:x}" for number in range(400_000))
    author = bare.Author(name="alice", at=datetime(2026, 1, 1, tzinfo=UTC))
    head = bare.heads(repository)["main"]
    bare.commit_files(repository, "main", {"noise": noise}, parent=head, message="Noise", author=author)
    want = f"want {bare.heads(repository)['main']} no-progress\n"
    asked = f"{len(want) + 4:04x}{want}00000009done\n".encode()
    begun = asyncio.Event()
    messages = [{"type": "http.request", "body": asked, "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await begun.wait()
        full = 0
        while full < FULL_TURNS:  # nobody reads that pipe any more
            full = full + 1 if _most_unread() > FULL_BYTES else 0
            await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message.get("body"):
            begun.set()
            await asyncio.Event().wait()  # a client that reads no more: the backend's pipe fills

    before = _pipes()
    scope = {
        "type": "http",
        "method": "POST",
        "query_string": b"",
        "headers": [(b"content-type", b"application/x-git-upload-pack-request")],
    }
    async with asyncio.timeout(PATIENCE_S):
        await serve_git(scope, receive, send, repository=repository, path_info="/git-upload-pack")
        while _pipes() - before:  # what was read to its end is closed in the next turns
            await asyncio.sleep(0)


def _most_unread() -> int:
    """How much waits in the fullest pipe of this process."""
    most = 0
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if str(entry.readlink()).startswith("pipe:"):
                unread = fcntl.ioctl(int(entry.name), termios.FIONREAD, bytes(4))
                most = max(most, int.from_bytes(unread, sys.byteorder))
    return most


def _pipes() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(str(entry.readlink()))
    return {name for name in found if name.startswith(("pipe:", "socket:"))}
