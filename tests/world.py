"""The world in a box for scenarios: an embedded forge and model, a clock that is moved, and an Overlord on a temporary home.

A scenario opens issues, writes what the model will do, lets the world settle, and looks. On failure the transcript is
printed: every ledger event, every request the forge and the model saw.
"""

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from overlord.adapters.git.command import git
from overlord.app import Overlord, overlord
from overlord.domain.decision import Decision, Verb
from overlord.domain.evaluation import CheckResult, EvaluationResult
from overlord.domain.interface import Interface
from overlord.domain.job import Job
from overlord.embedded.chat.chat import EmbeddedChat
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import Turn, run
from overlord.engine.reload import LOOK_S
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.entrypoints.chat.talk import talking
from overlord.errors import StoreError
from overlord.home import Home
from overlord.settings.load import Settings, load
from overlord.store import decisions, jobs, ledger, sessions
from overlord.store.checks import evaluations
from overlord.store.database import open_reader
from overlord.verbs import commands
from tests.github_openapi.check import served
from tests.turning import Turning, WorldClock

REPO = "acme/calc"
DEADLINE_S = float(os.environ.get("WORLD_DEADLINE_S", "180"))
"""How long a scenario may wait in real time for something to happen; only a broken one reaches it."""

TOOLCHAIN = Path(__file__).parents[1] / ".venv" / "toolchain" / "bin" / "python"
"""What sessions run with, as in the image: pytest and the linters, without the plug-ins of this suite."""

CALC = {
    "README.md": "# calc\n\nAdds numbers.\n",
    "calc.py": "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n",
    "tests/test_calc.py": (
        "from calc import add, double\n\n\ndef test_add():\n    assert add(2, 2) == 4\n\n\n"
        "def test_double():\n    assert double(4) == 8\n"
    ),
}
"""A small repository with a failing test."""
FIX = ("calc.py", "return a - b", "return a + b")

HOLDING = ": holding"
MEMORY, ROOM_BYTES = "/dev/shm", 2_000_000_000
"""A file system in memory, and what must be free there: all worlds of a suite at once need a fifth of it."""


@dataclass
class World:
    """Everything a scenario touches."""

    root: Path
    forge: EmbeddedForge
    model: EmbeddedModel
    clock: WorldClock
    forge_url: str
    model_url: str
    overrides: dict[str, Any] = field(default_factory=dict)
    deadline_s: float = DEADLINE_S
    chat: EmbeddedChat | None = None
    _running: Overlord | None = None
    _stack: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    @property
    def overlord(self) -> Overlord:
        assert self._running is not None, "start the Overlord first"
        return self._running

    def settings(self) -> Settings:
        return load({"OVERLORD_HOME": str(self.root / "home")}, **self.given())

    def given(self) -> dict[str, Any]:
        """The settings a scenario's Overlord is loaded with; an override of None leaves a key to the file."""
        given = {
            "repositories": [REPO],
            "runner": "process",
            "forge": {"api_url": self.forge_url, "token": self.forge.token},
            "model": {"base_url": f"{self.model_url}/v1", "name": "scripted", "api_key": self.model.key},
            "sessions": {"grace_s": 1},
            "slack": {"page": ""},
            "portfolio": {"retrospectives": False},
            "disk": {"least_free_gb": 0, "least_free_files": 0},
            "process": {"python": str(TOOLCHAIN) if TOOLCHAIN.exists() else ""},
        }
        return {key: value for key, value in _merged(given, self.overrides).items() if value is not None}

    def write_settings(self, text: str) -> None:
        """The operator saves their settings file."""
        home = self.root / "home"
        home.mkdir(exist_ok=True)
        (home / "overlord.yaml").write_text(text)

    async def until_settings_are_read(self) -> None:
        """As long as it takes until a saved file is looked at, and has rested."""
        for _ in range(2):
            self.clock.move(LOOK_S)
            await self.until(lambda: True)

    async def start(self) -> None:
        """Start (or start again) the Overlord on its home."""
        self._stack = contextlib.AsyncExitStack()
        self._running = await self._stack.enter_async_context(overlord(self.settings(), clock=self.clock))
        self._stack.push_async_callback(_cancelled, asyncio.create_task(self.turning.follow()))
        if self.chat is not None:
            await self._stack.enter_async_context(talking(self._running))
            await self.chat.until(lambda: self.chat is not None and self.chat.links > 0)

    async def stop(self) -> None:
        """Let the Overlord go; what it started goes on."""
        await self._stack.aclose()
        self._running = None

    @property
    def turning(self) -> Turning:
        return Turning(overlord=self.overlord, clock=self.clock, deadline_s=self.deadline_s)

    async def settle(self) -> None:
        """Let everything happen that can happen by itself, until every job waits for people or has ended."""
        await self.make_due()
        await self.until(self.is_settled)

    async def is_settled(self) -> bool:
        """Whether every job waits for people or has ended."""
        return await self.turning.is_settled()

    async def until(self, condition: Callable[[], Any]) -> None:
        """Turn the loop until `condition` (sync or async) holds; waiting is for rings of the wakeup, not for time."""
        await self.turning.until(condition)

    async def read(self, act: Callable[..., Any], *arguments: Any) -> Any:
        return await self.overlord.parts.database.read(lambda c: act(c, *arguments))

    async def job(self, number: int = 1) -> Job:
        found: Job = await self.read(jobs.get, number)
        return found

    async def events(self, number: int = 1) -> list[str]:
        """The names of a job's ledger events, in order."""
        return [entry.name for entry in await self.read(lambda c: list(ledger.entries(c, job_id=number)))]

    async def decisions(self) -> Sequence[Decision]:
        """What waits for a person."""
        waiting: list[Decision] = await self.read(decisions.waiting)
        return waiting

    async def answer(self, decision: Decision, verb: Verb, text: str = "", *, by: str = "cli:alice") -> None:
        await self.overlord.parts.database.write(
            "by hand",
            lambda c: commands.answer_decision(
                c,
                decision.id,
                verb,
                text=text,
                actor=by,
                interface=Interface.TERMINAL,
                digest=decision.digest,
                at=self.clock.now(),
            ),
        )
        self.overlord.wakeup.notify()

    async def stop_job(self, number: int = 1) -> None:
        reason = "not needed any more"
        await self.overlord.parts.database.write(
            "by hand",
            lambda c: commands.stop_job(c, number, actor="cli:alice", reason=reason, at=self.clock.now()),
        )

    async def push(self, files: dict[str, str]) -> None:
        """Somebody pushes to the base branch."""
        await self.forge.push_files(REPO, "main", dict(files), "Change by hand")

    async def jobs(self) -> list[Job]:
        """Every job, oldest first."""
        found: list[Job] = await self.read(jobs.all_jobs)
        return found[::-1]

    def files_with(self, text: str) -> list[Path]:
        """What Overlord keeps that holds this text: database, evidence, logs, everything below its home."""
        home = self.root / "home"
        found = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
        return [path for path in found if text.encode() in path.read_bytes()]

    async def issue(self, title: str, body: str = "", *, label: str = "nebulus-ready") -> int:
        """A person opens an issue and labels it."""
        return int(await self.forge.open_issue(REPO, title, body, labels=[label] if label else []))

    async def checks(self, number: int = 1) -> list[CheckResult]:
        """Every check of every evaluation of a job, in the order they were made."""
        job = await self.job(number)
        past: list[EvaluationResult] = await self.read(evaluations.history, job)
        return [check for evaluation in past for check in evaluation.checks]

    async def git_log(self, branch: str) -> list[tuple[str, str]]:
        """Author and subject of each commit at the forge, newest first."""
        repository = self.forge.directory(REPO)
        output = await git(repository, "log", "--format=%an%x09%s", branch)
        return [(line.split("\t")[0], line.split("\t")[1]) for line in output.decode().splitlines()]

    async def git_show(self, branch: str, path: str) -> str:
        """A file at the forge."""
        return (await git(self.forge.directory(REPO), "show", f"{branch}:{path}")).decode()

    def hold(self) -> Turn:
        """A turn in which the Minion's command runs until `let_go`, wherever it runs."""
        return run(f"{HOLDING}; until test -e {self.root}/go -o -e /run/door/go; do sleep 0.02; done")

    def is_holding(self, session: str = "j1-work-1") -> bool:
        """Whether this session says that it runs its `hold` command."""
        with (
            contextlib.suppress(StoreError),
            contextlib.closing(open_reader(Home(self.root / "home").database)) as c,
        ):
            return any(item.id == session and HOLDING in item.last_action for item in sessions.live(c))
        return False

    def has_started(self, session: str) -> bool:
        """Whether the runner has this session now."""
        with contextlib.closing(open_reader(Home(self.root / "home").database)) as c:
            return any(item.id == session and item.started_at for item in sessions.live(c))

    def let_go(self, session: str = "j1-work-1") -> None:
        (self.root / "go").touch()
        session_api = Home(self.root / "home").session_api(session)
        if session_api.exists():
            (session_api / "go").touch()

    async def make_due(self) -> None:
        """Start the Overlord if it is not running, and make a poll due."""
        if self._running is None:
            await self.start()
        self.clock.move(interval_s(self.overlord.parts.settings) + 1)

    async def until_holding(self, session: str = "j1-work-1") -> None:
        """Until the Minion of this session runs its `hold` command."""
        await self.make_due()
        await self.until(lambda: self.is_holding(session))

    async def kill_session(self, session: str) -> None:
        """Somebody else kills the session's program and everything below it."""
        for process in _processes_of(session, self.root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    async def something_happens(self) -> None:
        """Wait for the next request to the forge or the model, or a moment, whichever is first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await asyncio.Event().wait()

    def contract(self, text: str) -> None:
        """Put every job of this world under another contract; before the Overlord starts."""
        path = self.root / "contract.yaml"
        path.write_text(text)
        self.overrides["contract"] = str(path)

    def minion_heard(self, index: int = -1) -> list[dict[str, Any]]:
        """The messages of one of the Minions' requests, the last one's by default."""
        heard = [self.model.messages(number) for number in range(len(self.model.requests))]
        return [messages for messages in heard if messages[0]["content"].startswith("You are a Minion")][
            index
        ]

    def model_will(self, *turns: Turn, when: str | None = None) -> None:
        self.model.will(*turns, when=when)

    async def transcript(self) -> str:
        if self._running is None:
            return "(the Overlord is not running)\n" + self.forge.transcript()
        rows = await self.read(lambda c: list(ledger.entries(c)))
        told = [f"{row.seq:4} {row.job_id or '-'} {row.name} by {row.actor} {row.data}" for row in rows]
        logs = []
        for job in await self.read(jobs.all_jobs):
            for session in await self.read(sessions.of_job, job.id):
                logs.append(
                    f"{session.id}: {session.state} {session.ending} report={str(session.report)[:300]}"
                )
        said = ["CHAT", self.chat.transcript()] if self.chat is not None else []
        return "\n".join(["LEDGER", *told, "SESSIONS", *logs, "FORGE", self.forge.transcript(), *said])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print(await self.transcript())
        await self.stop()


def _processes_of(session: str, root: Path) -> list[int]:
    """The processes whose environment names this session, or any, of the world at `root`: other tests have such names too."""
    mark = f"MINION_ID={session}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and _names(entry, mark, any_of=not session):
                # A process works below the world; into a container its session API is mounted from there, told from its file system's root on.
                places = (entry / "environ").read_bytes() + (entry / "mountinfo").read_bytes()
                if f"/{root.name}/".encode() in places:
                    found.append(int(entry.name))
    return found


def _names(process: Path, mark: bytes, *, any_of: bool) -> bool:
    given = (process / "environ").read_bytes().split(b"\0")
    return any(item.startswith(mark) for item in given) if any_of else mark in given


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        known = merged.get(key)
        merged[key] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


@functools.cache
def ground() -> str:
    """Where worlds are: in memory where there is room, for nothing in them outlives a machine and thousands wait for the disk."""
    try:
        memory = os.statvfs(MEMORY)
    except OSError:
        return "/tmp"
    fits = memory.f_bavail * memory.f_frsize >= ROOM_BYTES and not memory.f_flag & os.ST_NOEXEC
    return MEMORY if fits and os.access(MEMORY, os.W_OK) else "/tmp"


@contextlib.asynccontextmanager
async def made_world(files: dict[str, str] | None = None, **overrides: Any) -> AsyncIterator[World]:
    """A fresh world around one repository; `overrides` go over the settings."""
    root = Path(tempfile.mkdtemp(prefix="ov-", dir=ground()))
    clock = WorldClock()
    forge, model = EmbeddedForge(root / "forge", now=clock.now), EmbeddedModel()
    try:
        await forge.create_repository(REPO, files=CALC if files is None else files)
        async with (
            served(forge) as forge_url,
            model.serve() as model_url,
            World(root, forge, model, clock, forge_url, model_url, overrides) as world,
        ):
            yield world
    finally:
        forge.close()
        for process in _processes_of("", root):
            with contextlib.suppress(ProcessLookupError):  # what waits for its daemon would wait for minutes
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(root, ignore_errors=True)
