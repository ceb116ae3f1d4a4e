"""A hundred nodes and their sessions in one process: each node is an address of this machine, each session a task that speaks the real
session API over TLS, as the Minion does on another machine. Nodes vanish, connections are cut, programs leave without a report.

The daemon's runner (`bench/fleet_daemon.py`) asks for sessions over a unix socket and is told of their ends there.
"""

import asyncio
import contextlib
import json
import random
import ssl
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.forge import FILES
from bench.played_client import Commit, FarSession, GivenUp
from minion.protocol import (
    BRIEF_PATH,
    COMPLETIONS_PATH,
    EVENTS_PATH,
    MESSAGES_PATH,
    REPORT_PATH,
    Brief,
    CheckReport,
    CheckStep,
    Event,
    EventKind,
    MessagesTaken,
    Outcome,
    Report,
    SessionKind,
    StepOutcome,
    StepResult,
    Tree,
    decode,
    encode,
)
from minion.reach import FarEnd

FIXED = "def add(a, b):\n    return a + b\n"
ASKED = json.dumps(
    {
        "model": "default",
        "messages": [
            {"role": "system", "content": "This is a played session."},
            {"role": "user", "content": "x" * 4000},
        ],
    }
).encode()
LOST, EXITED, STOPPED = "lost", "exited", "stopped"
"""Ends as `EndKind` names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the fleet is to do."""

    nodes: int
    faults: float
    """The share of sessions that something happens to; a third each: its node vanishes, its connections are cut, it leaves without
    a report."""
    turn_s: float
    """How long a turn of a session takes, on average."""
    window_s: float
    """In which nodes vanish and sessions come to their ends, from when `Fleet.open_window` is called."""
    ending: float
    """The share of work sessions that come to their end in the window; the others go on."""
    seed: int = 35


@dataclass(slots=True, kw_only=True)
class Account:
    """What the fleet saw, beside what Overlord says of itself."""

    begun: Counter[str] = field(default_factory=Counter)
    """How often each session was begun."""
    lost: set[str] = field(default_factory=set)
    """Those that a node took along, or that left without a report."""
    reported: set[str] = field(default_factory=set)
    first_at: float = 0.0
    """When the first session was begun, by the loop's clock, and the last first one of a job."""
    last_at: float = 0.0
    together: list[str] = field(default_factory=list)
    """Sessions that were begun while another one of their job ran."""
    cut: int = 0
    vanished: int = 0
    troubles: Counter[str] = field(default_factory=Counter)
    """Why sessions gave up that nothing was done to."""

    late: Counter[str] = field(default_factory=Counter)
    """What sessions asked that had no answer in time."""

    @property
    def jobs(self) -> set[str]:
        """Those of which a session was begun."""
        return {job_of(session) for session in self.begun}


def job_of(session: str) -> str:
    """`j12` of `j12-work-1`."""
    return session.partition("-")[0]


class Fleet:
    """Runs what the daemon's runner asks for. `serve` is where it listens."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.account = Account()
        self._random = random.Random(plan.seed)
        self._nodes = [f"127.0.{1 + number // 250}.{1 + number % 250}" for number in range(plan.nodes)]
        self._on: dict[str, dict[str, asyncio.Task[None]]] = {node: {} for node in self._nodes}
        self._running: defaultdict[str, set[str]] = defaultdict(set)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._open = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None

    @property
    def running(self) -> int:
        """How many sessions run now."""
        return sum(map(len, self._on.values()))

    @asynccontextmanager
    async def serve(self, path: Path) -> AsyncIterator[None]:
        """Listen for the daemon's runner; at the end nothing runs any more."""
        server = await asyncio.start_unix_server(self._hear, path, limit=1 << 20)
        try:
            yield
        finally:
            server.close()
            tasks = [task for node in self._on.values() for task in node.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def open_window(self) -> None:
        """Let sessions end and nodes vanish, for as long as the window is."""
        self._open.set()
        nodes = max(1, round(self.plan.nodes * self.plan.faults / 3)) if self.plan.faults else 0
        for _ in range(nodes):
            await asyncio.sleep(self.plan.window_s / (nodes + 1))
            self.vanish(self._random.choice(self._nodes))
        await asyncio.sleep(self.plan.window_s / (nodes + 1))

    def vanish(self, node: str) -> None:
        """A machine is gone with all it ran, and one with its address is there in its place."""
        self.account.vanished += 1
        for session, task in list(self._on[node].items()):
            task.cancel()
            self._over(node, session, LOST, None, f"node {node} is gone")

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        with contextlib.suppress(OSError):
            while line := await reader.readline():
                asked = json.loads(line)
                if asked["do"] == "start":
                    self._start(asked["session"], asked["environment"])
                else:
                    self._stop(asked["session"])
        writer.close()

    def _tell(self, session: str, what: str, exit_code: int | None = None, detail: str = "") -> None:
        if self._writer is not None and not self._writer.is_closing():
            told = {"session": session, "is": what, "exit_code": exit_code, "detail": detail}
            self._writer.write(json.dumps(told).encode() + b"\n")

    def _start(self, session: str, environment: Mapping[str, str]) -> None:
        account, job, now = self.account, job_of(session), asyncio.get_running_loop().time()
        if not account.begun[session] and job not in account.jobs:
            account.first_at, account.last_at = account.first_at or now, now
        account.begun[session] += 1
        if self._running[job]:
            account.together.append(session)
        self._running[job].add(session)
        node = min(self._nodes, key=lambda name: len(self._on[name]))
        task = asyncio.create_task(self._run(node, session, dict(environment)))
        task.add_done_callback(self._note_broken)
        self._on[node][session] = task
        self._tell(session, "taken")

    def _note_broken(self, task: asyncio.Task[None]) -> None:
        """What no session does by itself is a fault of the bench."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.account.troubles[repr(error)[:200]] += 1

    def _stop(self, session: str) -> None:
        for node, held in self._on.items():
            if session in held:
                held[session].cancel()
                self._over(node, session, STOPPED, 137, "")

    def _over(self, node: str, session: str, what: str, exit_code: int | None, detail: str) -> None:
        if self._on[node].pop(session, None) is not None:
            self._running[job_of(session)].discard(session)
            if session not in self.account.reported and what != STOPPED:
                self.account.lost.add(session)
            self._tell(session, what, exit_code, detail)

    async def _run(self, node: str, session: str, environment: dict[str, str]) -> None:
        """A session's program, from its start to its exit."""
        code = 1
        try:
            async with FarSession.at(self._far_end(environment), node) as far:
                try:
                    code = await self._played(session, far)
                finally:
                    self.account.late.update(far.late)
        except (GivenUp, ValueError) as error:
            self.account.troubles[f"{type(error).__name__}: {error}"[:200]] += 1
        self._over(node, session, EXITED, code, "")

    def _far_end(self, environment: dict[str, str]) -> FarEnd:
        """As the Minion reads it; all sessions that trust the same share what they trust with."""
        authority = environment["OVERLORD_AUTHORITY"]
        if (known := self._contexts.get(authority)) is None:
            found = FarEnd.of(environment)
            self._contexts[authority] = found.context
            return found
        host, _, port = environment["OVERLORD_URL"].removeprefix("https://").rpartition(":")
        return FarEnd(
            host=host,
            address=(host, int(port)),
            session=environment["MINION_ID"],
            token=environment["OVERLORD_TOKEN"],
            context=known,
        )

    async def _played(self, session: str, far: FarSession) -> int:
        brief = decode(Brief, await far.get(BRIEF_PATH))
        await far.clone(brief.branch, brief.head_sha)
        fault = self._fault()
        if brief.kind is SessionKind.CHECK:
            if fault == "leaves":
                return 1
            await far.post(REPORT_PATH, encode(_checked(brief)))
            self.account.reported.add(session)
            return 0
        ends_at = await self._turns(far, fault)
        if fault == "leaves":
            return 1
        report = await self._work(brief, far, ends_at)
        await far.post(REPORT_PATH, encode(report))
        self.account.reported.add(session)
        return 0

    async def _turns(self, far: FarSession, fault: str) -> int:
        """Turn by turn until the session's end; the number of turns."""
        ends_at, turn = None, 0
        while True:
            turn += 1
            await far.post(MESSAGES_PATH, encode(MessagesTaken(turn=turn)))
            await far.post(COMPLETIONS_PATH, ASKED)
            await far.tell(
                EVENTS_PATH, encode(Event(kind=EventKind.PROGRESS, turn=turn, text="edits calc.py"))
            )
            if fault == "cut" and turn == 1:
                self.account.cut += 1
                far.cut()
            now = asyncio.get_running_loop().time()
            if ends_at is None and self._open.is_set():
                ends_at = now + self._left_s(fault)
            if ends_at is not None and now >= ends_at:
                return turn
            pause_s = self.plan.turn_s * self._random.uniform(0.5, 1.5)
            if ends_at is not None:
                await asyncio.sleep(min(pause_s, ends_at - now))
                continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._open.wait(), pause_s)

    def _left_s(self, fault: str) -> float:
        """How long a session goes on that runs when the window opens, or begins in it."""
        if fault == "leaves" or self._random.random() < self.plan.ending:
            return self._random.uniform(0, 0.7 * self.plan.window_s)
        return float("inf")

    def _fault(self) -> str:
        """What is done to a session. Nodes vanish by themselves."""
        drawn = self._random.random()
        return "cut" if drawn < self.plan.faults / 3 else "leaves" if drawn < self.plan.faults * 2 / 3 else ""

    async def _work(self, brief: Brief, far: FarSession, turns: int) -> Report:
        files = {**FILES, "calc.py": FIXED}
        commit = Commit.of({name: text.encode() for name, text in files.items()}, parent=brief.head_sha)
        await far.push(brief.branch, brief.head_sha, commit)
        return Report(outcome=Outcome.COMPLETE, summary="Adding adds.", head=commit.sha, turns=turns)


def _checked(brief: Brief) -> CheckReport:
    """What a check session finds where the work is right: the test fails at base and passes now; the linter says nothing."""
    return CheckReport(steps=tuple(map(_step, brief.steps)))


def _step(step: CheckStep) -> StepResult:
    if step.capture:
        return StepResult(
            name=step.name, outcome=StepOutcome.RAN, command=step.command, exit_code=0, captured=""
        )
    failed = step.tree is Tree.BASE
    why = '<failure message="0 is not 4"/>' if failed else ""
    case = f'<testcase classname="test_calc" name="test_add" file="test_calc.py">{why}</testcase>'
    return StepResult(
        name=step.name,
        outcome=StepOutcome.RAN,
        command=step.command,
        exit_code=int(failed),
        junit=f"<testsuites><testsuite>{case}</testsuite></testsuites>",
    )
