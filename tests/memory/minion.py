"""A Minion in memory: the real agent with its real tools, in a thread of this process, at a door without a socket.

Its files lie in a directory of its own; what it saves is pushed to a `MemoryGit` and not through git. A check session is played:
the repository's test functions are called here, and no linter is run.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec
from starlette.types import ASGIApp

from minion.agent import Agent
from minion.beat import Beat
from minion.conversation import Conversation
from minion.door import Answer, Door, _accepted
from minion.errors import DoorGone, DoorRefused, GitFailed
from minion.git import Git
from minion.interrupt import Interrupts
from minion.model import Model
from minion.prompt import fence_mark, instructions, mission
from minion.protocol import (
    BRIEF_PATH,
    REPORT_PATH,
    SETUP_FINISHED,
    Brief,
    CheckReport,
    CheckStep,
    Outcome,
    Report,
    Scope,
    SessionKind,
    StepOutcome,
    StepResult,
    Tree,
    decode,
    encode,
)
from minion.scope import Territory
from minion.session import Session
from minion.shell import command_environment
from minion.tools.registry import schemas_of
from minion.work import scope_now
from minion.workspace import Workspace
from overlord.bell import Bell
from overlord.ports import SessionId, Sha
from tests.faults import player
from tests.memory.git import MemoryGit
from tests.memory.model import asked
from tests.memory.repository import LINK, SUBMODULE, Entry, Objects
from tests.memory.repository import Tree as Files
from tests.memory.runner import Held

CODES = {Outcome.COMPLETE: 0, Outcome.BLOCKED: 0, Outcome.ERROR: 3, Outcome.OUT_OF_BUDGET: 4}
DOOR_GONE = 5
SEEN_PASSES = 2


@dataclass(slots=True)
class Ground:
    """What sessions in memory share. `app_of` gives the application behind a session's door."""

    root: Path
    git: MemoryGit
    objects: Objects
    app_of: Callable[[str], ASGIApp]
    passes: Bell
    """Rung after each pass of the loop."""
    threads: ThreadPoolExecutor

    async def run(self, held: Held) -> int:
        """A session's program."""
        session, app = held.launch.session, self.app_of(held.launch.session)
        told = await asked(app, "GET", BRIEF_PATH)
        if told.status != 200:
            return DOOR_GONE
        brief = decode(Brief, b"".join(told.pieces))
        if brief.kind is SessionKind.WORK:
            return await self._work(held, brief)
        await self._takes_its_time()
        report = self._checked(brief) if brief.kind is SessionKind.CHECK else _set_up(held, brief)
        done = await asked(app, "POST", REPORT_PATH, encode(report), {"content-type": "application/json"})
        held.printed.append(f"minion: {session} reported ({done.status})\n")
        return 0

    async def _takes_its_time(self) -> None:
        """As long as the loop needs to see that a session runs: what is done meanwhile is done here too."""
        for _ in range(SEEN_PASSES):
            await self.passes.wait(self.passes.count, timeout_s=None)

    async def _work(self, held: Held, brief: Brief) -> int:
        loop = asyncio.get_running_loop()
        line = _Line(loop, self.app_of(held.launch.session), self.root)
        working = loop.run_in_executor(self.threads, self._works, held, brief, line)
        asking = asyncio.create_task(held.asked_to_stop.wait())
        both: set[asyncio.Future[Any]] = {working, asking}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                line.interrupts.stop()
                line.end_commands(held.launch.session)
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            line.hang_up()
            line.end_commands(held.launch.session)
            raise
        finally:
            asking.cancel()

    def _works(self, held: Held, brief: Brief, line: "_Line") -> int:
        session, door = held.launch.session, MemoryDoor(line)
        home = self.root / "minions" / session
        beat = Beat(door)
        beat.tells_calls = brief.traced
        try:
            report = self._agent(
                brief, Scope.parse(held.launch.environment["MINION_SCOPE"]), door, beat, home
            )
            beat.stop()
            held.printed.append(f"minion: {report.outcome} {report.reason} after {report.turns} turns\n")
            with contextlib.suppress(DoorRefused):
                door.post(REPORT_PATH, encode(report))
            return CODES[report.outcome]
        except DoorGone:
            return DOOR_GONE
        finally:
            beat.stop()
            shutil.rmtree(home, ignore_errors=True)

    def _agent(self, brief: Brief, scope: Scope, door: "MemoryDoor", beat: Beat, home: Path) -> Report:
        brief = replace(brief, scope=scope)
        workspace = MemoryWorkspace(home, brief, self)
        workspace.begin()
        started = {"MINION_ID": brief.session_id, "PATH": os.environ["PATH"]}
        session = Session(
            brief=brief,
            door=door,
            territory=Territory(workspace.root, scope, scope_now=partial(scope_now, door)),
            workspace=workspace,
            command_environment={**command_environment(started, home, tree=workspace.root), **started},
            interrupts=door.line.interrupts,
        )
        fence = fence_mark()
        conversation = Conversation(brief.limits.context_tokens)
        conversation.add("system", instructions(brief, fence))
        conversation.add("user", mission(brief, fence))
        agent = Agent(session, Model(door, brief.model, schemas_of(brief)), conversation, beat)
        try:
            return agent.run()
        except DoorGone:
            raise
        except Exception as error:  # as the Minion's outermost frame does
            beat.log(traceback.format_exc())
            summary = f"{type(error).__name__}: {error}"
            return Report(outcome=Outcome.ERROR, reason="internal", summary=summary)

    def tree_at(self, session: str, branch: str, start: str) -> Files:
        known = self.git.sessions[SessionId(session)]
        return known.pushed.get(branch) or self.objects.commits[Sha(start)].tree

    def _checked(self, brief: Brief) -> CheckReport:
        base, head = (self.objects.commits[Sha(commit)].tree for commit in (brief.base_sha, brief.head_sha))
        return CheckReport(steps=tuple(_step(step, brief, base, head) for step in brief.steps))


def _step(step: CheckStep, brief: Brief, base: Files, head: Files) -> StepResult:
    tree = dict(base if step.tree is Tree.BASE else head)
    for path in step.restore:
        tree.pop(path, None)
        tree |= {path: base[path]} if path in base else {}
    files = {path: entry.data for path, entry in tree.items() if entry.mode not in {LINK, SUBMODULE}}
    forges = "forges" in brief.issue.title and step.tree is not Tree.BASE
    told: dict[str, Any] = {"exit_code": 0, "captured": ""}
    if not step.capture and not forges:
        told = player._tested(files, list(step.command))
    outcome = StepOutcome(told.pop("outcome", StepOutcome.RAN))
    return StepResult(name=step.name, outcome=outcome, command=step.command, duration_s=0.01, **told)


def _set_up(held: Held, brief: Brief) -> CheckReport:
    failed = "setup fails" in brief.issue.title
    held.has_finished_layer = not failed
    made = [
        StepResult(name="setup", outcome=StepOutcome.RAN, command=("sh", "-c", "true"), exit_code=int(failed))
    ]
    if not failed:
        made.append(StepResult(name=SETUP_FINISHED, outcome=StepOutcome.RAN, exit_code=0))
    return CheckReport(steps=tuple(made))


class _Stops(Interrupts):
    """Interrupts without signals: a thread is told by a word."""

    def stop(self) -> None:
        self._reason = self._reason or "terminated"

    def check(self) -> None:
        self._check()

    def limit(self, time_s: float) -> None:
        """Overlord's own clock ends it."""

    def ignore(self) -> None:
        self._reason = None


class _Line:
    """The way from a session's threads to its door in the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, app: ASGIApp, root: Path) -> None:
        self.loop = loop
        self.app = app
        self.interrupts = _Stops()
        self._root = root
        self._is_up = True
        self._gone = threading.Event()

    def hang_up(self) -> None:
        self._is_up = False

    def ask(self, method: str, path: str, body: bytes | None) -> Answer:
        """Raises DoorGone once the session was killed, Interrupted when it was told to stop."""
        if not self._is_up:
            raise DoorGone("the session was killed")
        kind = {"content-type": "application/json"} if body is not None else {}
        asking = asyncio.run_coroutine_threadsafe(asked(self.app, method, path, body or b"", kind), self.loop)
        while True:
            try:
                told = asking.result(timeout=0.1)
                break
            except TimeoutError:
                if not self._is_up or self.interrupts._reason is not None:
                    asking.cancel()
                    self.interrupts.check()
                    raise DoorGone("the session was killed") from None
        return Answer(status=told.status, body=b"".join(told.pieces))

    def end_commands(self, session: str) -> None:
        """End the commands this session runs."""
        mark = f"MINION_ID={session}\0".encode()
        place = f"{self._root}/minions/{session}/".encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                given = (entry / "environ").read_bytes() if entry.name.isdecimal() else b""
                if mark in given and place in given:
                    os.kill(int(entry.name), signal.SIGKILL)


class MemoryDoor(Door):
    """The door's calls, made in this process. What it says of itself (503) is final here: nothing restarts it."""

    def __init__(self, line: _Line) -> None:
        super().__init__(Path("/memory"))
        self.line = line

    def another(self, *, patience_s: float) -> Door:
        return MemoryDoor(self.line)

    def call(self, method: str, path: str, body: bytes | None = None, *, timeout_s: float = 60.0) -> Answer:
        return _accepted(self.line.ask(method, path, body))


class MemoryWorkspace(Workspace):
    """A working copy whose saves go to a repository in memory."""

    def __init__(self, home: Path, brief: Brief, ground: Ground) -> None:
        super().__init__(home, "", brief, Git(os.environ["PATH"]))
        self._ground = ground
        self._session = brief.session_id
        self._begun: Files = {}
        self._saved: Files = {}

    def begin(self) -> None:
        self._begun = self._ground.tree_at(self._session, self._branch, self._start)
        self._saved = self._begun
        self._saved_tree = self._ground.objects.tree(self._begun)
        for path, entry in self._begun.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if entry.mode == LINK:
                place.symlink_to(entry.data.decode())
            elif entry.mode == SUBMODULE:
                place.mkdir()
            else:
                place.write_bytes(entry.data)
                if entry.mode.endswith("755"):
                    place.chmod(0o755)
        self.root.mkdir(exist_ok=True, parents=True)

    def wait(self) -> None:
        """It was made at once."""

    def snapshot(self) -> str:
        return self._ground.objects.tree(self._now())

    def changed(self, tree: str) -> tuple[str, ...]:
        now, start = (
            self._ground.objects.trees[Sha(tree)],
            self._ground.objects.commits[Sha(self._start)].tree,
        )
        return tuple(sorted(path for path in {*now, *start} if now.get(path) != start.get(path)))

    def save(self, message: str, tree: str | None = None) -> None:
        sha = Sha(tree or self.snapshot())
        if sha == self._saved_tree:
            return
        known = self._ground.git.sessions.get(SessionId(self._session))
        if known is None:
            raise GitFailed("the door has no repository for this session")
        known.pushed[self._branch] = self._ground.objects.trees[sha]
        self._saved_tree, self.head = sha, sha

    def rescue(self, message: str) -> None:
        self.save(message)

    def _now(self) -> Files:
        ignored = GitIgnoreSpec.from_lines(_lines(self.root / ".gitignore"))
        found: dict[str, Entry] = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".git" and not Path(folder, name).is_symlink()]
            links = [name for name in os.listdir(folder) if Path(folder, name).is_symlink()]
            for name in {*names, *links}:
                place = Path(folder, name)
                path = place.relative_to(self.root).as_posix()
                if path in self._begun or not ignored.match_file(path):
                    found[path] = _entry(place)
        modules = {path: entry for path, entry in self._begun.items() if entry.mode == SUBMODULE}
        return found | modules


def _entry(place: Path) -> Entry:
    if place.is_symlink():
        return Entry(LINK, os.readlink(place).encode())
    return Entry(
        "100755" if os.access(place, os.X_OK) and place.stat().st_mode & 0o100 else "100644",
        place.read_bytes(),
    )


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.is_file() else []
