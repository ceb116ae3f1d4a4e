"""git's smart HTTP over ASGI, through `git http-backend`: one repository, three endpoints, nothing else.

Both directions are streamed, so neither side's size is ours to hold. The backend lives in a clean environment
(no system or user configuration, no hooks) and in a process group that dies with the client's connection, or when
its time is over. The session API and the embedded forge both serve git with it.
"""

import asyncio
import functools
import logging
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs

from starlette.types import Receive, Scope, Send

from overlord.git_limits import GitLimits
from overlord.process_limits import EXHAUSTED

log = logging.getLogger(__name__)

SERVICES = ("git-upload-pack", "git-receive-pack")
CHUNK_BYTES = 64 * 1024
LAST_WORDS_BYTES = 4096
LONGEST_S = 600.0
"""For one request, from its first byte to the last of its answer."""
DEFAULT_MAX_REQUEST_BYTES = 512 * 1024 * 1024


class _ClientGone(Exception):
    """The client went away before its answer was complete."""


class _TooLarge(Exception):
    """The client sent more than it may."""


class _NoAnswer(Exception):
    """The backend ended without an answer."""


_PUSH_ANSWER = (b"content-type", b"application/x-git-receive-pack-result")
_LIMIT_REACHED = re.compile(
    rb"exceeds maximum allowed size|[Oo]ut of memory|over limit \d|died of signal (9|24)\b"
)
"""How git says that a push was refused for what it takes; a program that was ended is named where the client sees nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a repository is served that is not our own to trust."""

    limits: GitLimits
    settings: Mapping[str, str]
    """Git configuration, which counts before the repository's."""
    refusal: str
    """What the client is told of a push that reached a limit, beside git's own words: one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    status: int
    text: str


def service_of(scope: Scope, path_info: str) -> str | None:
    """Which of git's two services a request is about, or None when it is not one of the three endpoints."""
    if path_info == "/info/refs":
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("service", [""])
        return asked[0] if asked[0] in SERVICES else None
    return path_info[1:] if path_info[1:] in SERVICES and path_info[:1] == "/" else None


async def serve_git(
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    repository: Path,
    path_info: str,
    user: str | None = None,
    environment: Mapping[str, str] | None = None,
    forward_protocol: bool = False,
    max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES,
    serving: Serving | None = None,
    longest_s: float = LONGEST_S,
) -> None:
    """Answer one request for the bare `repository`; `path_info` is the path beneath it (`/info/refs`, …).

    `user` is who git says pushed; without one, git refuses pushes unless the repository itself allows them.
    `environment` adds to the backend's clean one. `forward_protocol` lets the client ask for protocol v2.
    A request body over `max_request_bytes` (as sent, compressed or not) is refused with 413. What takes longer than
    `longest_s` is ended, and a push that was is told so.
    """
    question = _Question(receive, max_request_bytes)
    answer = _Answer(send, serving.refusal if serving else "")
    refusal = _refusal(scope, path_info, repository, max_request_bytes)
    if refusal is None:
        settings = serving.settings if serving else {}
        variables = _environment(scope, path_info, repository, user, forward_protocol) | _configured(settings)
        begun = variables | (serving.limits.environment if serving else {}) | dict(environment or {})
        try:
            async with asyncio.timeout(longest_s):
                refusal = await _run(begun, question, answer, serving.limits.program if serving else ())
        except TimeoutError:
            text = f"rejected: it took longer than {longest_s:.0f} s"
            refusal = None if answer.begun else _Refusal(status=403, text=text)
            await answer.break_off(text)
    if refusal is not None:
        await refuse(send, refusal.status, refusal.text)


class _Question:
    """The request body on its way in; knows when it has ended."""

    def __init__(self, receive: Receive, max_bytes: int) -> None:
        self._receive = receive
        self._max_bytes = max_bytes
        self._taken = 0
        self.ended = False

    async def feed(self, into: asyncio.StreamWriter) -> None:
        """Pass the body on, close it, and then wait for the client to leave. Ends only by an exception."""
        while True:
            body = await self._next()
            if self._taken > self._max_bytes:
                raise _TooLarge
            # A backend that has read enough closes its end; what it has to say about that is its answer.
            with suppress(BrokenPipeError, ConnectionResetError):
                if body and not into.is_closing():
                    into.write(body)
                    await into.drain()
            if self.ended:
                into.close()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise _ClientGone
        body: bytes = message.get("body", b"")
        self._taken += len(body)
        self.ended = not message.get("more_body", False)
        return body


class _Answer:
    """The response on its way out; remembers whether it has begun."""

    def __init__(self, send: Send, refusal: str) -> None:
        self.send = send
        self.begun = False
        self._refusal = refusal
        self._is_push = False
        self._held = b""
        """The end of what was read: of an answer to a push, the packet that ends it. A line of ours fits in before that."""
        self._seen = b""

    async def relay(self, output: asyncio.StreamReader) -> None:
        """Pass the backend's CGI answer on as it comes, but for the end of it."""
        try:
            head = await output.readuntil(b"\r\n\r\n")
            status, headers = _parse_head(head)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            raise _NoAnswer from None
        self.begun, self._is_push = True, _PUSH_ANSWER in headers
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        while chunk := await output.read(CHUNK_BYTES):
            read = self._held + chunk  # not always whole packets
            await self._more(read[: -len(_FLUSH)])
            self._held = read[-len(_FLUSH) :]
            self._seen = (self._seen + chunk)[-LAST_WORDS_BYTES:]

    async def finish(self, words: str) -> None:
        """The end of it. `words` are the backend's last, which no client gets."""
        is_limit = bool(_LIMIT_REACHED.search(self._seen + words.encode()))
        if self._is_push and self._refusal and is_limit and self._held == _FLUSH:
            await self._more(_packet(_PROGRESS, self._refusal))
        await self._more(self._held)
        await self._end()

    async def break_off(self, why: str) -> None:
        """End an answer that has begun and whose backend did not come to its end."""
        if self._is_push:
            await self._more(self._held + _packet(_FATAL, why))
        if self.begun:
            await self._end()

    async def _more(self, body: bytes) -> None:
        if body:
            await self.send({"type": "http.response.body", "body": body, "more_body": True})

    async def _end(self) -> None:
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})


_PROGRESS, _FATAL = b"\x02", b"\x03"
_FLUSH = b"0000"
"""The packet that ends an answer."""


def _packet(band: bytes, line: str) -> bytes:
    """A line in one of the bands that git's answer to a push has."""
    content = band + line.encode() + (b"" if band == _FATAL else b"\n")
    return b"%04x%b" % (len(content) + 4, content)


async def _run(
    variables: Mapping[str, str], question: _Question, answer: _Answer, before: tuple[str, ...]
) -> _Refusal | None:
    try:
        process = await _start(variables, before)
    except OSError as error:
        log.warning("git http-backend did not start: %s", error)
        return _NOT_NOW if error.errno in EXHAUSTED else _NOT_SERVED
    try:
        return await _exchange(process, question, answer)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await _emptied(process)
        await process.wait()


async def _emptied(process: asyncio.subprocess.Process) -> None:
    """Read what a killed backend had still said: a pipe that is not read to its end is never closed."""
    assert process.stdin and process.stdout and process.stderr
    process.stdin.close()
    for stream in (process.stdout, process.stderr):
        while await stream.read(CHUNK_BYTES):
            continue


@functools.cache
def backend(path: str) -> str:
    """The program behind `git http-backend` of the git on a search path: begun itself, it is one program less for each request.

    Raises OSError when there is no git.
    """
    process = subprocess.run(
        ["git", "--exec-path"], capture_output=True, check=False, env={"PATH": path}, text=True
    )
    return str(Path(process.stdout.strip()) / "git-http-backend")


async def _start(variables: Mapping[str, str], before: tuple[str, ...]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(*before, backend(variables["PATH"])),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env=variables,
    )


async def _exchange(
    process: asyncio.subprocess.Process, question: _Question, answer: _Answer
) -> _Refusal | None:
    """Carry both directions; returns what is left to say when the backend has not said it."""
    assert process.stdin and process.stdout and process.stderr
    words = asyncio.create_task(_last_words(process.stderr))
    feeding = asyncio.create_task(question.feed(process.stdin))
    answering = asyncio.create_task(answer.relay(process.stdout))
    try:
        # Feeding never ends by itself while the client stays: it goes on to watch for the client leaving.
        done, _ = await asyncio.wait({feeding, answering}, return_when=asyncio.FIRST_COMPLETED)
        (answering if answering in done else feeding).result()
        await answer.finish(await words)
    except _ClientGone:
        log.debug("the client left in the middle of a git request")
    except _TooLarge:
        return None if answer.begun else _TOO_LARGE
    except _NoAnswer:
        log.warning("git http-backend gave no answer: %s", await words)
        return _NOT_SERVED
    finally:
        for task in (feeding, answering, words):
            task.cancel()
        await asyncio.gather(feeding, answering, words, return_exceptions=True)
    return None


async def _last_words(stream: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await stream.read(CHUNK_BYTES):
        kept = (kept + chunk)[-LAST_WORDS_BYTES:]
    return kept.decode(errors="replace").strip()


_NOT_SERVED = _Refusal(status=500, text="git could not serve this repository")
_NOT_NOW = _Refusal(status=503, text="git cannot be started just now: try again")
_TOO_LARGE = _Refusal(status=413, text="this push is larger than this server takes")


def _refusal(scope: Scope, path_info: str, repository: Path, max_request_bytes: int) -> _Refusal | None:
    """What is wrong with a request before git gets it."""
    if service_of(scope, path_info) is None or not repository.is_dir():
        return _Refusal(status=404, text="not found")
    if scope["method"] != ("GET" if path_info == "/info/refs" else "POST"):
        return _Refusal(status=405, text="method not allowed")
    length = _header(scope, b"content-length") or "0"
    if not length.isdecimal():
        return _Refusal(status=400, text="a Content-Length that is no number")
    return _TOO_LARGE if int(length) > max_request_bytes else None


def _configured(settings: Mapping[str, str]) -> dict[str, str]:
    pairs = {"core.hooksPath": os.devnull, "gc.auto": "0", **settings}
    numbered = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for index, (key, value) in enumerate(pairs.items()):
        numbered |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return numbered


def _environment(
    scope: Scope, path_info: str, repository: Path, user: str | None, forward_protocol: bool
) -> dict[str, str]:
    """The CGI variables git reads, over an environment with nothing of ours in it.

    Not how long the request is: where less comes than that, because we were killed, git would look for the rest for ever.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROJECT_ROOT": str(repository),
        "PATH_INFO": path_info,
        "QUERY_STRING": scope.get("query_string", b"").decode("latin-1"),
        "REQUEST_METHOD": scope["method"],
        "REMOTE_ADDR": "localhost",
        "CONTENT_TYPE": _header(scope, b"content-type"),
        "HTTP_CONTENT_ENCODING": _header(scope, b"content-encoding"),
        "REMOTE_USER": user or "",
        "GIT_PROTOCOL": _header(scope, b"git-protocol") if forward_protocol else "",
    }
    return {name: value for name, value in environment.items() if value}


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name), "")


def _parse_head(head: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
    """A CGI response head as a status and headers; raises ValueError when it is none."""
    status, headers = 200, []
    for line in head.split(b"\r\n"):
        if not line:
            continue
        name, colon, value = line.partition(b":")
        if not colon:
            raise ValueError("a header line without a colon")
        if name.lower() == b"status":
            status = int(value.split()[0])
        else:
            headers.append((name.lower(), value.strip()))
    return status, headers


async def refuse(send: Send, status: int, text: str) -> None:
    """An answer that git shows to who asked, if it was about what a push begins with."""
    # Without `Connection: close` the server goes on to read what a client still sends, so that it reads this.
    body = text.encode() + b"\n"
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
