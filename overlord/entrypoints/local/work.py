"""One run worked by an ordinary Overlord whose GitHub is the place's own forge, until it is done, waits, or is stopped."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from minion.protocol import Report, SessionKind
from overlord.app import Overlord, overlord
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.identifiers import SessionId
from overlord.domain.interface import Interface
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.session import Session
from overlord.engine.bootstrap import init_job
from overlord.engine.sessions import collect
from overlord.entrypoints.local import asking
from overlord.entrypoints.local.asking import Answered
from overlord.entrypoints.local.init import editing
from overlord.entrypoints.local.init.asking_discovery import ask_questions
from overlord.entrypoints.local.init.kept_answers import NAME, KeptAnswers
from overlord.entrypoints.local.interruption import Interruption
from overlord.entrypoints.local.screen import RunStatus, Screen
from overlord.entrypoints.process_environment import environment
from overlord.entrypoints.terminal.logs import conceal
from overlord.entrypoints.terminal.show import person
from overlord.entrypoints.terminal.watch import Watch
from overlord.errors import ContractError, ExternalServiceError, IllegalMove, Refused
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings
from overlord.store import decisions, jobs, sessions
from overlord.store.bootstrap import contract_drafts, discoveries
from overlord.store.budgets import exchanges, model_outages
from overlord.store.spaces import spaces
from overlord.verbs import commands, contract
from overlord.verbs.typed_words import typed_words

LOOK_S = 1.0
"""The longest between two looks at where the run stands; every fact rings the wakeup."""
TERMINATED = "terminated"
"""What a Minion's report says when it was told to stop."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
ACTIVE = {JobState.QUEUED, JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING}
NO_WALLS = "Sessions run as programs of your own user: nothing keeps them from your files. Docker would."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How the work on a run came to rest."""

    job: Job
    interrupted: bool = False


@dataclass(slots=True, kw_only=True)
class Run:
    """The job of one issue, followed while the Overlord works on it."""

    running: Overlord
    space: str
    issue: int
    after_job: int
    """An earlier job of the issue, which is over: the one that is followed comes after it."""
    screen: Screen
    goes_on: bool
    """Whether a session that the user had stopped is gone on with, unasked."""
    asks: bool
    """Whether somebody is there to be asked."""
    watch: Watch
    accepts: bool = False
    """Whether what an architect proposes counts as the user's answer to its questions."""
    _left: set[int] = field(default_factory=set)
    _leaves_questions: bool = False

    async def until_it_rests(self) -> Job:
        """Follow the job until it is done, ended, or waits for a person who is not there or wants to think."""
        while True:
            seen = self.running.watchers.count
            job = await self.look()
            if job is not None:
                if job.state is JobState.IN_REVIEW or not job.is_open:
                    return job
                if await self._is_answered(job):
                    continue
                if await self._is_stuck(job):
                    return job
            await self.running.watchers.wait(seen, timeout_s=LOOK_S)

    async def look(self) -> Job | None:
        """Where the job stands, shown."""
        job = await self.running.parts.database.read(self._job)
        for news in await self.watch.news():
            if job is not None and news.job in {job.id, None} and not _is_of_talk(job, news.name):
                self.screen.show_news(news)
        if job is not None:
            self.screen.show(
                await self.running.parts.database.read(
                    lambda c: run_status(c, job, self.running.parts.clock.now())
                )
            )
        return job

    def _job(self, connection: sqlite3.Connection) -> Job | None:
        job = job_of(connection, self.space, self.issue)
        return job if job is not None and job.id > self.after_job else None

    async def _is_stuck(self, job: Job) -> bool:
        """Whether it waited when last seen and still does, and no answer is on its way to be carried out."""

        def stuck(connection: sqlite3.Connection) -> bool:
            unmoved = jobs.get(connection, job.id).updated_at == job.updated_at
            return unmoved and not decisions.unapplied(connection, job.id)

        return job.state is JobState.WAITING and await self.running.parts.database.read(stuck)

    async def _is_answered(self, job: Job) -> bool:
        """Put what waits to the person, one at a time; whether one of them was answered now."""
        for decision in await self.running.parts.database.read(lambda c: decisions.waiting(c, job.id)):
            if decision.id in self._left:
                continue
            if self.goes_on and await self._was_asked_to_stop(decision):
                return await self._answer(decision, Answered(verb=Verb.RETRY))
            if self.accepts and decision.subject is Subject.DISCOVERY:
                return await self._answer(decision, Answered(verb=Verb.ACCEPT))
            self._left.add(decision.id)
            if self.asks and not (self._leaves_questions and decision.subject is Subject.DISCOVERY):
                with self.screen.hidden():
                    answer = await self._asked(decision)
                if answer is not None and answer.edits:
                    return await self._edit(decision)
                if answer is not None and await self._answer(decision, answer):
                    return True
            elif decision.session_id is not None:
                self.screen.write(
                    f"The Minion asks, and waits for a while: `overlord decisions show {decision.id}`"
                )
        return False

    async def _was_asked_to_stop(self, decision: Decision) -> bool:
        """Whether all that is asked is whether to go on with a session that was ended from outside."""
        if decision.subject is not Subject.STOPPED_SHORT:
            return False
        last = await self.running.parts.database.read(
            lambda c: sessions.last_of(c, decision.job_id or 0, SessionKind.WORK)
        )
        return last is not None and isinstance(last.report, Report) and last.report.reason == TERMINATED

    async def _asked(self, decision: Decision) -> Answered | None:
        """The person's choice; None when it is left, or not needed any more."""
        asked = asyncio.create_task(self._ask(decision))
        closed = asyncio.create_task(self._closed(decision))
        try:
            await asyncio.wait({asked, closed}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            self.screen.write("\nThis needs no answer any more.")
            return None
        finally:
            await cancelled(asked, closed)

    async def _ask(self, decision: Decision) -> Answered | None:
        if decision.subject is Subject.DISCOVERY:
            discovery = await self.running.parts.database.read(
                lambda c: discoveries.of_job(c, decision.job_id or 0)
            )
            if discovery is not None:
                answer, self._leaves_questions = await ask_questions(decision, discovery, self._kept)
                return answer
        return await asking.ask(decision, may_edit=await self._may_edit(decision))

    @property
    def _kept(self) -> KeptAnswers:
        return KeptAnswers(path=self.running.parts.home.root / NAME)

    async def _may_edit(self, decision: Decision) -> bool:
        """Whether it is about a contract that an architect proposed."""
        if decision.subject is Subject.CONTRACT_INVALID:
            return True
        shows = decision.subject is Subject.GATE and decision.job_id is not None
        return shows and await self.running.parts.database.read(
            lambda c: contract_drafts.of_job(c, decision.job_id or 0) is not None
        )

    async def _edit(self, decision: Decision) -> bool:
        """Let the person edit the proposed contract; it is asked about again as it is then."""
        parts, number = self.running.parts, JobId(decision.job_id or 0)
        job = await parts.database.read(lambda c: jobs.get(c, number))
        text = await parts.database.read(lambda c: contract.draft_of(c, number))
        listing = await parts.git.listing(job.space, job.head_sha or job.base)
        self._left.discard(decision.id)
        try:
            with self.screen.hidden():
                made = await editing.edited(text, listing, environment())
            if made is not None:
                await parts.database.write(
                    Failpoint.CONTRACT_EDITED,
                    lambda c: contract.edit_contract(
                        c, number, made, existing=listing, actor=person(), at=parts.clock.now()
                    ),
                )
        except (Refused, ContractError) as error:
            self.screen.write(str(error))
        self.running.wakeup.notify()
        return True

    async def _closed(self, decision: Decision) -> None:
        while True:
            seen = self.running.wakeup.count
            now = await self.running.parts.database.read(lambda c: decisions.get(c, decision.id))
            if now.state is not DecisionState.OPEN:
                return
            await self.running.wakeup.wait(seen, timeout_s=LOOK_S)

    async def _answer(self, decision: Decision, answered: Answered) -> bool:
        actor = person()
        try:
            await self.running.parts.database.write(
                Failpoint.DECISION_ANSWERED,
                lambda c: commands.answer_decision(
                    c,
                    decision.id,
                    answered.verb,
                    actor=actor,
                    interface=Interface.TERMINAL,
                    text=answered.text,
                    digest=decision.digest,
                    at=self.running.parts.clock.now(),
                ),
            )
        except Refused as error:
            self.screen.write(error.worded(typed_words))
            self._left.discard(decision.id)
            return self.asks
        if decision.subject is Subject.DISCOVERY:
            self._kept.forget()
        self.running.wakeup.notify()
        return True


async def work(
    settings: Settings,
    *,
    issue: int,
    after_job: int,
    screen: Screen,
    interruption: Interruption,
    goes_on: bool,
    asks: bool,
    accepts: bool = False,
) -> Ended:
    """Work on one issue's job. Raises what `overlord()` raises when it cannot be started."""
    [space] = settings.repositories
    conceal(settings.secrets())
    async with overlord(settings, falls_back=True) as running:
        await _show_how(running, screen)
        after = await running.parts.database.read(last_event)
        watch = Watch(running, after=after, is_local=True)
        run = Run(
            running=running,
            space=space,
            issue=issue,
            after_job=after_job,
            screen=screen,
            goes_on=goes_on,
            asks=asks,
            watch=watch,
            accepts=accepts,
        )
        async with going(running):
            with screen.live():
                followed = asyncio.create_task(run.until_it_rests())
                stop = asyncio.create_task(interruption.came.wait())
                await asyncio.wait({followed, stop}, return_when=asyncio.FIRST_COMPLETED)
                await cancelled(stop)
                if followed.done():
                    return Ended(job=followed.result())
                await cancelled(followed)
        screen.write("Stopping. What the session has so far is kept; Ctrl-C again leaves at once.")
        await _stop_sessions(running, space, issue)
        job = await run.look()
        if job is None:
            raise Refused("stopped before the work began; `overlord resume` goes on with it")
        return Ended(job=job, interrupted=True)


_DECIDED = frozenset({EventName.DECISION_RAISED, EventName.DECISION_ANSWERED})


def _is_of_talk(job: Job, event: str) -> bool:
    """Whether a fact is of a conversation that the user is in, and has just read."""
    own = {EventName.QUESTIONS_ASKED, EventName.DISCOVERY_ANSWERED}
    return event in own or (event in _DECIDED and job.phase == init_job.DISCOVER)


def moving(connection: sqlite3.Connection, space: str) -> list[Job]:
    """The jobs of runs that would go on by themselves if an Overlord ran here. Calls of disciplines are no runs."""
    found = (job for job in jobs.open_jobs(connection) if job.space == space and job.call_number is None)
    return [job for job in found if job.state in ACTIVE or has_answers(connection, job)]


def has_answers(connection: sqlite3.Connection, job: Job) -> bool:
    """Whether a job waits for a person who has spoken."""
    return job.state is JobState.WAITING and bool(decisions.unapplied(connection, job.id))


def job_of(connection: sqlite3.Connection, space: str, issue: int) -> Job | None:
    """The latest job of an issue."""
    found = (job for job in jobs.all_jobs(connection) if job.space == space and job.issue.number == issue)
    return next(found, None)


def last_event(connection: sqlite3.Connection) -> int:
    """The number of the ledger's newest event."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM ledger").fetchone()[0])


async def _show_how(running: Overlord, screen: Screen) -> None:
    """Make the first poll due, and say what the runner does not hold."""
    parts = running.parts
    [space] = parts.settings.repositories
    await parts.database.write(Failpoint.POLL_MADE_DUE, lambda c: spaces.note_poll(c, space, at=LONG_AGO))
    if not parts.runner.capabilities.isolates_files:
        screen.write(NO_WALLS)


@asynccontextmanager
async def going(running: Overlord) -> AsyncIterator[None]:
    """The Overlord's loop, for as long as the block lasts."""
    stopped = asyncio.Event()
    loop = asyncio.create_task(running.run(stopped))
    try:
        yield
    finally:
        stopped.set()
        running.wakeup.notify()
        await loop


async def _stop_sessions(running: Overlord, space: str, issue: int) -> None:
    """Stop what runs and take in what it leaves, while the session API are still open for its last words."""
    parts = running.parts
    await running.tick.close()
    grace_s = parts.settings.sessions.grace_s
    with contextlib.suppress(ExternalServiceError, IllegalMove):
        for session in await parts.database.read(_live_of_runs):
            if session.kind is SessionKind.WORK:
                await parts.runner.stop(SessionId(session.id), grace_s=grace_s)
            elif session.kind not in {SessionKind.REVIEW, SessionKind.DRAFT}:
                await collect.abandon(parts, session)  # it leaves nothing of worth, and is made anew
        job = await parts.database.read(lambda c: job_of(c, space, issue))
        if job is not None and job.state is JobState.RUNNING:
            await collect.step(parts, job)


def _live_of_runs(connection: sqlite3.Connection) -> list[Session]:
    """Sessions of calls are left to be found again by whoever works on calls next."""
    live = sessions.live(connection)
    return [session for session in live if jobs.get(connection, session.job_id).call_number is None]


def run_status(connection: sqlite3.Connection, job: Job, at: datetime) -> RunStatus:
    """Where a run stands now, for its status line."""
    usage, _ = exchanges.job_usage(connection, job.id)
    session = sessions.live_of(connection, job.id)
    phase, turn, action = state_in_words(job.state), 0, ""
    if session is not None and session.kind is SessionKind.WORK:
        turn, action = session.turn, session.last_action
    elif session is not None:
        phase, action = f"{phase}: {session.kind}", session.last_action
    outage = model_outages.of_session(connection, session.id) if session is not None else None
    return RunStatus(
        phase=phase,
        turn=turn,
        action=action,
        trouble=outage.line(at, is_short=True) if outage is not None else "",
        tokens=usage.total,
        cost_nusd=exchanges.job_cost(connection, job.id),
    )


async def cancelled(*tasks: asyncio.Task[object]) -> None:
    """End these tasks, whatever they are at."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
