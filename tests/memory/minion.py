"""A Minion in memory: the real agent with its real tools, in a thread of this process, at a session API without a socket.

Its files lie in a directory of its own; what it saves is pushed to a `MemoryGit` and not through git. A check session is played:
the repository's test functions are called here, and no linter is run.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec
from starlette.types import ASGIApp

from minion.errors import GitFailed, Interrupted, SessionApiGone, SessionApiRefused
from minion.git import Git
from minion.heartbeat import Heartbeat
from minion.interrupt import Interrupts
from minion.native.agent import Agent
from minion.native.conversation import Conversation
from minion.native.mailbox import Mailbox
from minion.native.model import Model
from minion.native.prompt import fence_mark, instructions, mission
from minion.native.work_session import scope_now
from minion.protocol import (
    BRIEF_PATH,
    REPORT_PATH,
    SECRETS_PATH,
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
from minion.session import Session
from minion.session_api import Answer, SessionApi, _accepted
from minion.setup.environment import Environment
from minion.shell import command_environment
from minion.tools.registry import schemas_of
from minion.workspace.contract_files import is_plan
from minion.workspace.scope import Territory
from minion.workspace.workspace import Workspace
from overlord.adapters.process.layers import ProcessLayers
from overlord.domain.identifiers import SessionId, Sha
from overlord.wakeup import Wakeup
from tests.faults import player
from tests.memory.git import MemoryGit
from tests.memory.model import Told, asked
from tests.memory.repository import LINK, SUBMODULE, Entry, Objects
from tests.memory.repository import Tree as Files
from tests.memory.runner import Held
from tests.memory.setup import set_up, write_out

CODES = {Outcome.COMPLETE: 0, Outcome.BLOCKED: 0, Outcome.ERROR: 3, Outcome.OUT_OF_BUDGET: 4}
SESSION_API_GONE = 5
SEEN_PASSES = 2


class SessionApis:
    """The session API of the daemon that runs now: a session waits for the next one where there is none."""

    def __init__(self) -> None:
        self._app_of: Callable[[str], ASGIApp] | None = None
        self._changed = Wakeup()

    def open(self, app_of: Callable[[str], ASGIApp] | None) -> None:
        self._app_of = app_of
        self._changed.notify()

    async def ask(self, session: str, method: str, path: str, body: bytes | None = None) -> Told:
        """One request of a session. One that a daemon's end cut off is made again at the next daemon's door."""
        kind = {"content-type": "application/json"} if body is not None else {}
        while True:
            seen, app_of = self._changed.count, self._app_of
            if app_of is not None:
                try:
                    return await asked(app_of(session), method, path, body or b"", kind)
                except Exception:
                    if self._app_of is app_of:
                        raise
            else:
                await self._changed.wait(seen, timeout_s=None)


@dataclass(slots=True)
class Ground:
    """What sessions in memory share."""

    root: Path
    git: MemoryGit
    objects: Objects
    session_api: SessionApis
    passes: Wakeup
    """Rung after each pass of the loop."""
    layers: ProcessLayers
    threads: ThreadPoolExecutor

    async def run(self, held: Held) -> int:
        """A session's program."""
        session = held.launch.session
        told = await self.session_api.ask(session, "GET", BRIEF_PATH)
        if told.status != 200:
            return SESSION_API_GONE
        brief = decode(Brief, b"".join(told.pieces))
        if brief.kind is not SessionKind.CHECK:
            return await self._in_thread(held, brief)
        await self._takes_its_time()
        report = self._checked(brief)
        done = await self.session_api.ask(session, "POST", REPORT_PATH, encode(report))
        held.printed.append(f"minion: {session} reported ({done.status})\n")
        return 0

    async def _takes_its_time(self) -> None:
        """As long as the loop needs to see that a session runs: what is done meanwhile is done here too."""
        for _ in range(SEEN_PASSES):
            await self.passes.wait(self.passes.count, timeout_s=None)

    async def _in_thread(self, held: Held, brief: Brief) -> int:
        loop = asyncio.get_running_loop()
        line = _Line(loop, self.session_api, held.launch.session, self.root)
        act = self._works if brief.kind is SessionKind.WORK else self._sets_up
        working = loop.run_in_executor(self.threads, act, held, brief, line)
        asking = asyncio.create_task(held.asked_to_stop.wait())
        both: set[asyncio.Future[Any]] = {working, asking}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                line.interrupts.stop()
                line.end_commands()
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            line.hang_up()
            line.end_commands()
            raise
        finally:
            asking.cancel()

    def _works(self, held: Held, brief: Brief, line: "_Line") -> int:
        session, session_api = held.launch.session, MemoryDoor(line)
        home = self.root / "minions" / session
        beat = Heartbeat(session_api)
        beat.tells_calls = brief.traced
        try:
            report = self._agent(held, brief, session_api, beat, home)
            beat.stop()
            held.printed.append(f"minion: {report.outcome} {report.reason} after {report.turns} turns\n")
            with contextlib.suppress(SessionApiRefused):
                session_api.post(REPORT_PATH, encode(report))
            return CODES[report.outcome]
        except SessionApiGone:
            return SESSION_API_GONE
        finally:
            beat.stop()
            shutil.rmtree(home, ignore_errors=True)

    def _sets_up(self, held: Held, brief: Brief, line: "_Line") -> int:
        session, session_api, layers = held.launch.session, MemoryDoor(line), self.layers
        home, directory = self.root / "minions" / session, layers.directory(held.launch.layer)
        cache = layers.cache(held.launch.space)
        cache.mkdir(parents=True, exist_ok=True)
        beat = Heartbeat(session_api)
        try:
            secrets = json.loads(session_api.call("GET", SECRETS_PATH).body)
            base, head = (self.objects.commits[Sha(sha)].tree for sha in (brief.base_sha, brief.head_sha))
            results = set_up(
                brief,
                base,
                head,
                home=home,
                directory=directory,
                cache=cache,
                secrets=secrets,
                interrupts=line.interrupts,
            )
            session_api.post(REPORT_PATH, encode(CheckReport(steps=tuple(results))))
        except (SessionApiGone, SessionApiRefused, Interrupted) as error:
            held.printed.append(f"minion: the setup could not be reported: {error}\n")
            return SESSION_API_GONE
        finally:
            beat.stop()
            shutil.rmtree(home, ignore_errors=True)
        return 0

    def _agent(
        self, held: Held, brief: Brief, session_api: "MemoryDoor", beat: Heartbeat, home: Path
    ) -> Report:
        scope = Scope.parse(held.launch.environment["MINION_SCOPE"])
        brief = replace(brief, scope=scope)
        started = {"MINION_ID": brief.session_id, "PATH": os.environ["PATH"]}
        if held.launch.layer:
            started["MINION_ENVIRONMENT"] = str(self.layers.directory(held.launch.layer))
        workspace = MemoryWorkspace(home, brief, self, Environment.of(started))
        workspace.begin()
        session = Session(
            brief=brief,
            session_api=session_api,
            territory=Territory(
                workspace.root,
                scope,
                scope_now=partial(scope_now, session_api),
                contract_files=workspace.contract_files,
            ),
            workspace=workspace,
            command_environment={
                **command_environment(started, home, tree=workspace.root),
                "MINION_ID": brief.session_id,
            },
            interrupts=session_api.line.interrupts,
            beat=beat,
        )
        fence = fence_mark()
        conversation = Conversation(brief.limits.context_tokens)
        conversation.add("system", instructions(brief, fence))
        conversation.add("user", mission(brief, fence))
        model = Model(session_api, brief.model, schemas_of(brief))
        mailbox = Mailbox(session_api, fence, session.interrupts, last_turn=brief.limits.turns)
        agent = Agent(session, model, conversation, beat, mailbox)
        try:
            return agent.run()
        except SessionApiGone:
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
    if step.name.startswith("criterion-") and step.command:
        return _shell(step, brief, files)
    told: dict[str, Any] = {"exit_code": 0, "captured": ""}
    if not step.capture and not forges:
        told = player._tested(files, list(step.command))
    outcome = StepOutcome(told.pop("outcome", StepOutcome.RAN))
    return StepResult(name=step.name, outcome=outcome, command=step.command, duration_s=0.01, **told)


def _shell(step: CheckStep, brief: Brief, files: dict[str, bytes]) -> StepResult:
    """A step of a criterion, which is a program to run on the files and the plan."""
    plan = brief.terms.plan if step.plan and brief.terms is not None else ()
    with tempfile.TemporaryDirectory() as place:
        for path, data in {**files, **{item.path: item.text.encode() for item in plan}}.items():
            target = Path(place, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        plain = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": place}
        done = subprocess.run(
            step.command, cwd=place, env=plain, capture_output=True, timeout=60, check=False, text=True
        )
    outcome = StepOutcome.RAN
    output = done.stdout + done.stderr
    return StepResult(
        name=step.name,
        outcome=outcome,
        command=step.command,
        duration_s=0.01,
        exit_code=done.returncode,
        output=output,
    )


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
    """The way from a session's threads to its session API in the loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, session_api: SessionApis, session: str, root: Path
    ) -> None:
        self.loop = loop
        self.session_api = session_api
        self.session = session
        self.interrupts = _Stops()
        self._root = root
        self._is_up = True

    def hang_up(self) -> None:
        self._is_up = False

    def ask(self, method: str, path: str, body: bytes | None) -> Answer:
        """Raises SessionApiGone once the session was killed, Interrupted when it was told to stop."""
        if not self._is_up:
            raise SessionApiGone("the session was killed")
        asking = asyncio.run_coroutine_threadsafe(
            self.session_api.ask(self.session, method, path, body), self.loop
        )
        while True:
            try:
                told = asking.result(timeout=0.1)
                break
            except TimeoutError:
                if not self._is_up or self.interrupts._reason is not None:
                    asking.cancel()
                    self.interrupts.check()
                    raise SessionApiGone("the session was killed") from None
        return Answer(status=told.status, body=b"".join(told.pieces))

    def end_commands(self) -> None:
        """End the commands this session runs."""
        mark = f"MINION_ID={self.session}\0".encode()
        place = f"{self._root}/minions/{self.session}/".encode()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                given = (entry / "environ").read_bytes() if entry.name.isdecimal() else b""
                if mark in given and place in given:
                    os.kill(int(entry.name), signal.SIGKILL)


class MemoryDoor(SessionApi):
    """The session API's calls, made in this process. What it says of itself (503) is final here: nothing restarts it."""

    def __init__(self, line: _Line) -> None:
        super().__init__(Path("/memory"))
        self.line = line

    def another(self, *, patience_s: float) -> SessionApi:
        return MemoryDoor(self.line)

    def call(self, method: str, path: str, body: bytes | None = None, *, timeout_s: float = 60.0) -> Answer:
        return _accepted(self.line.ask(method, path, body))


class MemoryWorkspace(Workspace):
    """A working copy whose saves go to a repository in memory."""

    def __init__(self, home: Path, brief: Brief, ground: Ground, environment: Environment | None) -> None:
        super().__init__(home, "", brief, Git(os.environ["PATH"]), environment=environment)
        self._laid: set[str] = set()
        self._ground = ground
        self._session = brief.session_id
        self._begun: Files = {}
        self._saved: Files = {}

    def begin(self) -> None:
        self._begun = self._ground.tree_at(self._session, self._branch, self._start)
        self._saved = self._begun
        self._saved_tree = self._ground.objects.tree(self._begun)
        write_out(self._begun, self.root)
        self._laid = set(self._environment.lay_over(self.root)) if self._environment is not None else set()
        if (kept := self.contract_files) is not None:
            for path in filter(kept.is_hidden, self._begun):
                (self.root / path).unlink()
            kept.lay_plan(self.root)

    def wait(self) -> None:
        """It was made at once."""

    def snapshot(self) -> str:
        return self._ground.objects.tree(self._now())

    def changed(self, tree: str) -> tuple[str, ...]:
        now, start = (
            self._ground.objects.trees[Sha(tree)],
            self._ground.objects.commits[Sha(self._start)].tree,
        )
        names = tuple(sorted(path for path in {*now, *start} if now.get(path) != start.get(path)))
        return names if self.contract_files is None else self.contract_files.changed(self.root, names)

    def save(self, message: str, tree: str | None = None) -> None:
        if not self._saves:
            return
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
                if (
                    path in self._begun
                    or not (ignored.match_file(path) or self._is_laid(path))
                    or (
                        self.contract_files is not None
                        and self.contract_files.takes_plan_in
                        and is_plan(path)
                    )
                ):
                    found[path] = _entry(place)
        modules = {path: entry for path, entry in self._begun.items() if entry.mode == SUBMODULE}
        return {**self._under_contract(found), **modules}

    def _under_contract(self, found: Files) -> Files:
        """Files without a plan that is not the session's to write, and with what is secret as it was."""
        if (kept := self.contract_files) is None:
            return found
        shown = {path: entry for path, entry in found.items() if not (kept.leaves_plan_out and is_plan(path))}
        return shown | {path: entry for path, entry in self._begun.items() if kept.is_hidden(path)}

    def _is_laid(self, path: str) -> bool:
        """Whether the repository's setup left it beside the files."""
        return any(f"/{path}/".startswith(f"/{name.strip('/')}/") for name in self._laid)


def _entry(place: Path) -> Entry:
    if place.is_symlink():
        return Entry(LINK, os.readlink(place).encode())
    return Entry(
        "100755" if os.access(place, os.X_OK) and place.stat().st_mode & 0o100 else "100644",
        place.read_bytes(),
    )


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.is_file() else []
