"""A stage for one engine step: the real store, settings and parts over ports in memory, and no loop that turns.

A test brings a job into a state by writing the facts the engine writes on its way, calls one step, and looks at what it wrote and
did. The runner runs nothing: a session goes on until the test ends it.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minion.protocol import CheckReport, Outcome, Report, SessionKind, encode
from overlord.domain.decision import Decision
from overlord.domain.evaluation import REQUIRED, CheckName, CheckResult
from overlord.domain.event import EventName
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.job import Job
from overlord.domain.launch import Launch
from overlord.domain.session import Ending, EndKind, Session, SessionState, session_id
from overlord.embedded.forge.repository import Content
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.store import decisions, jobs, ledger, sessions
from overlord.store.checks import evaluations
from overlord.store.checks.evaluations import EvaluationRow
from tests.memory.runner import MemoryRunner
from tests.memory.world import MemoryWorld, made_memory_world
from tests.records import a_brief, a_check
from tests.world import REPO

NAME = RepositoryName(REPO)
Files = Mapping[str, Content | None]
FIXED: Files = {"calc.py": "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n"}
"""What fixes the repository of a world."""
DONE = Report(outcome=Outcome.COMPLETE, summary="done", turns=2)
EXITED = Ending(kind=EndKind.EXITED, exit_code=0)


@dataclass(frozen=True, slots=True)
class Stage:
    """One repository, its people, and what steps are handed."""

    world: MemoryWorld
    runner: MemoryRunner

    @property
    def parts(self) -> Parts:
        return self.world.overlord.parts

    async def write(self, act: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return await self.parts.database.write("by hand", lambda c: act(c, *arguments, **named))

    async def read(self, act: Callable[..., Any], *arguments: Any) -> Any:
        return await self.parts.database.read(lambda c: act(c, *arguments))

    async def job(self, number: int = 1) -> Job:
        found: Job = await self.read(jobs.get, number)
        return found

    async def events(self, number: int = 1) -> list[str]:
        """The names of a job's ledger events, in order."""
        return [entry.name for entry in await self.read(lambda c: list(ledger.entries(c, job_id=number)))]

    async def asked(self) -> Decision:
        """The one thing that waits for a person."""
        [decision] = await self.read(decisions.waiting)
        return decision  # type: ignore[no-any-return]

    async def move(self, job: Job, event: EventName, **changes: Any) -> Job:
        moved: Job = await self.write(jobs.move, job.id, event, at=self.parts.clock.now(), **changes)
        return moved

    async def step(self, act: Callable[[Parts, Job], Awaitable[Progress]], number: int = 1) -> Job:
        """One step of a job as it stands; the job after it."""
        await act(self.parts, await self.job(number))
        return await self.job(number)

    # Facts, as the engine writes them on its way

    async def claimed(
        self, title: str = "add() subtracts", body: str = "", *, labels: Sequence[str] = ()
    ) -> Job:
        """QUEUED: an issue was taken up, and its base is in the mirror."""
        number = await self.world.forge.open_issue(REPO, title, body, labels=["nebulus-ready", *labels])
        return await self.claimed_issue(number)

    async def claimed_issue(self, number: int) -> Job:
        """QUEUED: an issue that is there was taken up."""
        issue = (await self.parts.forge.issue(NAME, number)).issue
        contract, at = self.parts.contract(REPO), self.parts.clock.now()
        job: Job = await self.write(
            jobs.claim, space=REPO, issue=issue, base_branch="main", contract=contract, at=at
        )
        return await self.based(job)

    async def based(self, job: Job) -> Job:
        """The job begins with what base is now."""
        await self.parts.git.refresh_mirror(NAME, await self.parts.forge.remote(NAME))
        base = await self.parts.git.branch_head(NAME, "main")
        based: Job = await self.write(jobs.repair, job.id, base_sha=base)
        return based

    async def session(
        self, job: Job, kind: SessionKind = SessionKind.WORK, *, is_started: bool = True, **brief: Any
    ) -> Session:
        """A session was prepared for a job, its session API is open, and the runner has it."""
        ordinal = await self.read(sessions.count, job.id, kind) + 1
        told = replace(a_brief(job, kind, ordinal), session_id=session_id(job.id, kind, ordinal), **brief)
        at = self.parts.clock.now()
        made = Session(
            id=told.session_id,
            job_id=job.id,
            kind=kind,
            state=SessionState.PREPARED,
            brief=encode(told).decode(),
            scope=told.scope.to_json(),
            branch=job.branch,
            token_budget=100_000,
            time_limit_s=1800,
            prepared_at=at,
            door_opened_at=at,
        )
        await self.write(sessions.prepare, made)
        if is_started:
            base = job.base
            references = {"main": base, job.branch: job.head_sha or base}
            writable = job.branch if kind is SessionKind.WORK else None
            await self.parts.git.prepare_session(NAME, SessionId(made.id), references, writable)
            session_api = self.parts.home.session_api(made.id)
            await self.runner.start(
                Launch(session=SessionId(made.id), job="1", environment={}, session_api=session_api)
            )
            await self.write(sessions.start, made, at=at)
        found: Session = await self.read(sessions.get, made.id)
        return found

    async def running(self, job: Job | None = None, **brief: Any) -> Session:
        """RUNNING: a session is at work."""
        job = job or await self.claimed()
        session = await self.session(job, **brief)
        await self.move(job, EventName.SESSION_STARTED)
        return session

    async def ends(
        self,
        session: Session,
        report: Report | CheckReport | None = DONE,
        *,
        files: Files | None = None,
        ending: Ending = EXITED,
    ) -> None:
        """The session pushed these files, said this, and is over."""
        if files:
            self.world.git.push_session(SessionId(session.id), session.branch, files)
        if report is not None:
            await self.write(sessions.take_report, session.id, report)
        self.runner.end(SessionId(session.id), ending)

    async def commit(self, job: Job, files: Files) -> Sha:
        """A canonical commit over the job's head."""
        session = SessionId(f"by-hand-{job.id}")
        base = job.base
        await self.parts.git.prepare_session(
            NAME, session, {"main": base, job.branch: job.head_sha or base}, job.branch
        )
        self.world.git.push_session(session, job.branch, files)
        tree = await self.parts.git.session_tree(session, job.branch)
        assert tree is not None
        at, parent = self.parts.clock.now(), job.head_sha or base
        head = await self.parts.git.canonical_commit(
            NAME, session, tree=tree, parent=parent, message="Work", at=at
        )
        await self.parts.git.remove_session(session)
        return head

    async def submitted(self, files: Files | None = None, job: Job | None = None) -> Job:
        """EVALUATING: work came back as one commit of these files."""
        job = job or await self.claimed()
        head = await self.commit(job, FIXED if files is None else files)
        job = await self.move(job, EventName.SESSION_STARTED)
        return await self.move(job, EventName.WORK_SUBMITTED, head_sha=head)

    async def evaluated(self, *checks: CheckResult, job: Job | None = None) -> EvaluationRow:
        """EVALUATING, with these checks made so far."""
        job = job or await self.submitted()
        at = self.parts.clock.now()
        row: EvaluationRow = await self.write(evaluations.current, job, at=at)
        for check in checks:
            await self.write(evaluations.add_check, row, check, at=at)
        found: EvaluationRow = await self.write(evaluations.current, job, at=at)
        return found

    async def passed(self, job: Job | None = None) -> Job:
        """DELIVERING: every check passed."""
        job = job or await self.submitted()
        row = await self.evaluated(*passes(), job=job)
        await self.write(evaluations.close, row)
        return await self.move(job, EventName.PASSED)

    def held(self) -> Sequence[str]:
        """The sessions the runner has."""
        return list(self.runner.state.sessions)


def passes(*names: CheckName) -> list[CheckResult]:
    """These checks, or all that are required, passed."""
    return [a_check(name, summary="fine") for name in names or REQUIRED]


@contextlib.asynccontextmanager
async def made_stage(files: dict[str, str] | None = None, **overrides: Any) -> AsyncIterator[Stage]:
    """A stage around one repository; `overrides` go over the settings."""
    made: list[MemoryRunner] = []

    def idle(runner: MemoryRunner) -> MemoryRunner:
        made.append(MemoryRunner(state=runner.state))
        return made[-1]

    async with made_memory_world(files, before={"runner": idle}, **overrides) as world:
        await world.start()
        yield Stage(world, made[0])
