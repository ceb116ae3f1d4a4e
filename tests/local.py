"""`overlord run` from the outside: the program in a process of its own, a scripted model, and repositories a user may have."""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import termios
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlord.embedded.model import EmbeddedModel
from tests.forked import Forked, Handed, Typed
from tests.world import CALC, TOOLCHAIN

DEADLINE_S = 180.0
COLUMNS = 160
NOTHING_ELSE: Mapping[str, str] = {}
USER = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@x",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@x",
}


def git(repository: Path, *arguments: str) -> str:
    """What the user types: in their working tree, with their repository's configuration."""
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **USER,
    }
    command = ["git", "-C", str(repository), "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def made(path: Path, files: Mapping[str, str | bytes] = CALC) -> Path:
    """A repository with two commits, checked out."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    (path / "LICENSE").write_text("Mine.\n")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message=Begin")
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message=First version")
    return path


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Terminal:
    """The program at a terminal: what it shows, and what is typed."""

    def __init__(self, process: asyncio.subprocess.Process | Forked, master: int) -> None:
        self.process, self._master = process, master
        self.shown = ""
        self._changed = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # the other end is gone
            piece = b""
        if not piece:
            asyncio.get_running_loop().remove_reader(self._master)
        self.shown += piece.decode(errors="replace")
        self._changed.set()

    async def until(self, text: str, *, after: int = 0) -> int:
        """Wait until this is shown; where it ends."""
        await self._wait(lambda: text in self.shown[after:], text)
        return self.shown.index(text, after) + len(text)

    async def _wait(self, is_shown: Callable[[], bool], wanted: str) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not is_shown():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"{wanted!r} is not shown:\n{self.shown[-3_000:]}") from None

    async def prompt(self, *prompts: str) -> str:
        """Wait until one of these is the last that is shown; which."""
        await self._wait(lambda: self.shown.endswith(prompts), " or ".join(prompts))
        return next(prompt for prompt in prompts if self.shown.endswith(prompt))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def ended(self) -> int:
        async with asyncio.timeout(DEADLINE_S):
            code = await self.process.wait()
        with contextlib.suppress(ValueError):
            asyncio.get_running_loop().remove_reader(self._master)
        with contextlib.suppress(OSError):
            while piece := os.read(self._master, 65536):
                self.shown += piece.decode(errors="replace")
        os.close(self._master)
        return code


@dataclass
class LocalSession:
    """A user's machine: a home of Overlord's, a model's address, and the commands they type."""

    root: Path
    model: EmbeddedModel
    model_url: str
    repo: Path
    python: str = str(TOOLCHAIN) if TOOLCHAIN.exists() else ""
    """What sessions run with."""
    is_warm: bool = False
    """Whether commands are forked from a process that has imported everything already."""
    _left: list[asyncio.subprocess.Process | Forked] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def place(self) -> Path:
        """Where the runs of the repository are kept."""
        [found] = (self.home / "local").iterdir()
        return found

    def environment(self, over: Mapping[str, str]) -> dict[str, str]:
        config = self.root / "overlord.yaml"
        if not config.exists():
            config.write_text(
                f"process: {{python: '{self.python}'}}\nrunner: process\nsessions: {{grace_s: 2}}\n"
            )
        ours = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self.root),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": str(COLUMNS),
            "USER": "ann",
            "LOGNAME": "ann",
            "OVERLORD_HOME": str(self.home),
            "OVERLORD_COMMAND": "overlord",  # how it is typed elsewhere: tests/cli/test_pasted.py
            "OVERLORD_CONFIG": str(config),
            "OVERLORD_REPOS": "acme/other",
            "OPENAI_BASE_URL": f"{self.model_url}/v1",
            "OPENAI_API_KEY": self.model.key,
            "OVERLORD_MODEL": "scripted",
        }
        return {name: value for name, value in {**ours, **over}.items() if value}

    async def start(
        self,
        *words: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] = NOTHING_ELSE,
        printed: tuple[int, int] | None = None,
    ) -> asyncio.subprocess.Process | Forked:
        """Type `overlord …` where nobody answers questions; what it prints goes where `printed` says, or nowhere."""
        with open(os.devnull, "r+b") as nothing:
            out, err = printed or (nothing.fileno(), nothing.fileno())
            return await self._begin(words, cwd, environment, (nothing.fileno(), out, err))

    async def overlord(
        self, *words: str, cwd: Path | None = None, environment: Mapping[str, str] = NOTHING_ELSE
    ) -> Said:
        """Type `overlord …` where nobody answers questions, and wait for its end."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = await self.start(
                *words, cwd=cwd, environment=environment, printed=(out.fileno(), err.fileno())
            )
            async with asyncio.timeout(DEADLINE_S):
                code = await process.wait()
            out.seek(0)
            err.seek(0)
            return Said(code, out.read().decode(), err.read().decode())

    async def terminal(
        self,
        *words: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] = NOTHING_ELSE,
        columns: int = COLUMNS,
    ) -> Terminal:
        """Type `overlord …` at a terminal."""
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, columns))
        sized = {**environment, "COLUMNS": str(columns)}
        try:
            process = await self._begin(words, cwd, sized, (slave,) * 3, at_terminal=True)
        finally:
            os.close(slave)
        return Terminal(process, master)

    async def _begin(
        self,
        words: Sequence[str],
        cwd: Path | None,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        *,
        at_terminal: bool = False,
    ) -> asyncio.subprocess.Process | Forked:
        process: asyncio.subprocess.Process | Forked
        if self.is_warm:
            handed = (Handed(streams[0]), Handed(streams[1]), Handed(streams[2]))
            process = Forked(
                Typed(
                    words=words,
                    cwd=cwd or self.repo,
                    environment=self.environment(environment),
                    streams=handed,
                    at_terminal=at_terminal,
                )
            )
        else:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "overlord", *words),
                cwd=cwd or self.repo,
                env=self.environment(environment),
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                start_new_session=at_terminal,
                preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if at_terminal else None,
            )
        self._left.append(process)
        return process

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for something outside of this process."""
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await asyncio.Event().wait()

    async def close(self) -> None:
        for process in self._left:
            if process.returncode is None:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def local_session(files: Mapping[str, str | bytes] = CALC) -> AsyncIterator[LocalSession]:
    """A machine with one small repository on it. Whatever a test leaves running there ends with it."""
    root = Path(tempfile.mkdtemp(prefix="ol-", dir="/tmp"))
    model = EmbeddedModel()
    try:
        async with model.serve() as model_url:
            sat = LocalSession(root, model, model_url, made(root / "calc", files))
            try:
                yield sat
            finally:
                await sat.close()
    finally:
        end_sessions(root)
        shutil.rmtree(root, ignore_errors=True)


def end_sessions(root: Path) -> None:
    """Kill what still runs with its work below `root`."""
    mark = f"MINION_WORK={root}/".encode()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and mark in (entry / "environ").read_bytes():
                os.kill(int(entry.name), 9)
