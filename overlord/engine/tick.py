"""The one place that moves jobs. Events are hints: a tick reads what is true and takes every open job one step.

An external service that does not answer delays its own job and no other; whatever else goes wrong in a step is written down,
and the job is tried again later.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from structlog.contextvars import bound_contextvars

from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobChanges, JobId, JobState
from overlord.engine import due
from overlord.engine.chat import briefing, handle_requests, home_tab, message_projection
from overlord.engine.contracts import plan_gate
from overlord.engine.conversation import issue_receipts, message_receipts
from overlord.engine.delivery import deliver
from overlord.engine.disciplines import call_step
from overlord.engine.due import Due
from overlord.engine.evaluation import evaluate
from overlord.engine.hooks import observe
from overlord.engine.intake import open_requested, poll
from overlord.engine.issues import projection
from overlord.engine.portfolio import issue_steps
from overlord.engine.portfolio import steps as portfolio_steps
from overlord.engine.proposals import open_approved, raise_proposals
from overlord.engine.retention import clear_up, disk_shortage, environments
from overlord.engine.runtime import retry
from overlord.engine.runtime.background_steps import BackgroundSteps
from overlord.engine.runtime.chat_output import ChatOutput
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_outcome import is_alike
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import apply_answers, cleanup, collect, dispatch, ending
from overlord.engine.skills import lifecycle
from overlord.errors import ExternalServiceError, Fenced, IllegalMove
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.chat import requests
from overlord.store.chat.requests import RequestState

log = structlog.get_logger()

Step = Callable[[Parts, Job], Awaitable[Progress]]

STEPS: Mapping[JobState, Step] = {
    JobState.QUEUED: dispatch.step,
    JobState.RUNNING: collect.step,
    JobState.EVALUATING: evaluate.step,
    JobState.DELIVERING: deliver.step,
    JobState.WAITING: apply_answers.step,
}

Act = Callable[[], Awaitable[Progress]]
PROJECTION = " projection"
OUTLIVED_FOR_S = 3600.0
MOST_READ = 4
"""Messages of people that a model reads at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delay:
    job_id: JobId | None
    until: float
    failures: int
    trouble: str


class Tick:
    """Holds only what may be forgotten: which steps are under way, and when to try again what failed."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._delays: dict[str, _Delay] = {}
        self._outlived: dict[str, float] = {}
        self._background_steps = BackgroundSteps(parts.notify)
        self._pruned_at = -environments.EVERY_S
        self._kept_at = -clear_up.EVERY_S
        self._is_low: bool | None = None
        self._shortage = ""
        self._is_behind = False
        self.next_poll_at: datetime | None = None
        """When the next repository's turn comes, as the last pass saw it."""

    async def run(self) -> Progress:
        """One pass over everything. True when something moved, so that another pass is worth it at once.

        A step that takes its time, because an external service does, goes on beside the next passes.
        """
        parts = self._parts.still()
        self._look_at_disk()
        await self._look_for_room()
        retried, delayed = self._failed_before()
        found = await parts.database.read(lambda c: due.look(c, parts, retried=retried, delayed=delayed))
        self.next_poll_at = found.next_poll_at
        if found.questions_end:
            await apply_answers.expire(parts)
        wanted = self._wanted(found)
        if parts.clock.monotonic() - self._pruned_at >= environments.EVERY_S:
            self._pruned_at = parts.clock.monotonic()
            wanted["prune"] = self._act("prune", None, partial(environments.step, parts))
        self._look_who_asks()
        if parts.clock.monotonic() - self._kept_at >= clear_up.EVERY_S:
            wanted["keep"] = self._act("keep", None, self._keep)
        if await parts.database.read(lambda c: observe.is_due(c, parts)):
            wanted["hooks"] = self._act("hooks", None, partial(observe.step, parts))
        if parts.chat_output is not None:
            wanted |= await self._talk(parts.chat_output)
        for key, act in wanted.items():
            self._background_steps.start(key, act)
        known = wanted.keys() | {_key(number) for number in found.open_ids}
        now = parts.clock.monotonic()
        self._delays = {  # those of polls also while none is due: they may be asked to wait for longer than that
            key: delay
            for key, delay in self._delays.items()
            if key in known
            or key.removesuffix(PROJECTION) in known
            or (delay.job_id is None and now < delay.until)
        }
        self._outlived = {key: since for key, since in self._outlived.items() if key in known}
        return await self._background_steps.news()

    def _look_at_disk(self) -> None:
        """Say when the disk has no room left, and when it has again: whatever fails then fails for that."""
        shortage = self._parts.home.shortage()
        if shortage != self._shortage:
            log.warning("disk", trouble=shortage or "it has room again")
        self._shortage = shortage

    async def _look_for_room(self) -> None:
        """See whether new work may begin; when it may not any more, keep house at once."""
        try:
            is_low = await disk_shortage.look(self._parts, was_low=self._is_low)
        except (sqlite3.DatabaseError, OSError) as error:
            log.warning("disk", trouble=str(error))  # nothing can be begun either; the next pass looks again
            return
        if is_low and not self._is_low:
            self._clean_up_now()
        if is_low != bool(self._is_low):
            log.warning("disk_low" if is_low else "disk_has_room", new_work=not is_low)
        self._is_low = is_low

    def _look_who_asks(self) -> None:
        """Keep house at once when a command asks for it; what is under way may be past what that one saw, and is let end."""
        if not self._background_steps.is_under_way("keep") and self._parts.home.take_keep_asked():
            self._clean_up_now()

    def _clean_up_now(self) -> None:
        self._kept_at = self._pruned_at = self._parts.clock.monotonic() - clear_up.EVERY_S

    def _wanted(self, found: Due) -> dict[str, Act]:
        """A step for everything that is due, by what it is about."""
        parts, wanted = self._parts.still(), dict[str, Act]()
        for name in found.polls:
            key = f"poll {name}"
            wanted[key] = self._act(key, None, partial(poll.poll, parts, RepositoryName(name)), space=name)
        if found.is_news:
            wanted["propose"] = self._act("propose", None, partial(raise_proposals.step, parts))
        if found.is_plan_due:
            wanted["plans"] = self._act("plans", None, partial(plan_gate.step, parts))
        for number in found.approved:
            key = f"proposal {number}"
            wanted[key] = self._act(key, None, partial(open_approved.step, parts, number))
        for number in found.drafts:
            key = f"draft {number}"
            wanted[key] = self._act(key, None, partial(lifecycle.step, parts, number))
        for number in found.read:
            key = f"message {number}"
            wanted[key] = self._act(key, None, partial(message_receipts.acknowledge, parts, number))
        wanted |= self._wanted_issues(found)
        for job in found.steps:
            step = self._step_later if self._background_steps.is_under_way(_key(job.id)) else self._step
            wanted[_key(job.id)] = self._act(_key(job.id), job.id, partial(step, job), **_about(found, job))
        for job in found.remains:
            reaping = partial(cleanup.step, parts, job)
            wanted[_key(job.id)] = self._act(_key(job.id), job.id, reaping, **_about(found, job))
        for job in found.behind:
            key = _key(job.id) + PROJECTION  # beside its step, which does not wait for labels
            wanted[key] = self._act(key, job.id, partial(projection.step, parts, job), space=job.space)
        for session in found.uncleared:
            key = f"clear {session.id}"
            clearing = partial(ending.clear, parts, session)
            wanted[key] = self._act(key, session.job_id, clearing, session_id=session.id)
        return wanted

    def _wanted_issues(self, found: Due) -> dict[str, Act]:
        """The steps of issues that people asked for, to open them and to say so, and those of the portfolio."""
        parts, wanted = self._parts.still(), dict[str, Act]()
        for number in found.requested:
            key = f"issue request {number}"
            wanted[key] = self._act(key, None, partial(open_requested.step, parts, number))
        for number in found.opened:
            key = f"issue receipt {number}"
            wanted[key] = self._act(key, None, partial(issue_receipts.acknowledge, parts, number))
        for name in found.portfolio:
            key = f"portfolio {name}"
            wanted[key] = self._act(key, None, partial(portfolio_steps.STEPS[name].step, parts))
        for said in found.issue_steps:
            wanted[said.key] = self._act(said.key, None, partial(issue_steps.step, parts, said))
        return wanted

    async def _keep(self) -> Progress:
        """The retention of a day, tried again until it went through."""
        await clear_up.step(self._parts)
        self._kept_at = self._parts.clock.monotonic()
        return Progress.IDLE

    async def _talk(self, chat_output: ChatOutput) -> dict[str, Act]:
        """What there is to read, to compile and to post in the chat."""
        parts, wanted = self._parts.still(), dict[str, Act]()
        asked, due, opened, self._is_behind = await parts.database.read(
            lambda c: (
                requests.unanswered(c),
                briefing.is_due(c, parts),
                home_tab.is_behind(c, parts),
                message_projection.is_behind(c, chat_output),
            )
        )
        for number in [item.id for item in asked if item.state is RequestState.READING][:MOST_READ]:
            read = partial(handle_requests.read_words, parts, chat_output, number)
            wanted[f"words {number}"] = self._act(f"words {number}", None, read)
        if asked:
            wanted["requests"] = self._act(
                "requests", None, partial(handle_requests.step, parts, chat_output)
            )
        if due:
            wanted["briefing"] = self._act("briefing", None, partial(briefing.step, parts, chat_output))
        if opened:
            wanted["homes"] = self._act("homes", None, partial(home_tab.step, parts, chat_output))
        if self._is_behind and not chat_output.wait_s():
            wanted["chat"] = self._act("chat", None, partial(message_projection.step, parts, chat_output))
        return wanted

    def _failed_before(self) -> tuple[set[JobId], set[JobId]]:
        """The jobs whose step failed: those that are to be tried again now, and those whose time has not come."""
        now, retried, delayed = self._parts.clock.monotonic(), set[JobId](), set[JobId]()
        for key, delay in self._delays.items():
            if delay.job_id is not None and key == _key(delay.job_id):
                (delayed if now < delay.until else retried).add(delay.job_id)
        return retried, delayed

    @property
    def is_low(self) -> bool:
        """Whether the disk was low when it was last looked at."""
        return bool(self._is_low)

    @property
    def is_idle(self) -> bool:
        """Whether no step is under way."""
        return self._background_steps.is_idle

    async def rest(self) -> None:
        """Wait until no step is under way."""
        await self._background_steps.rest()

    async def close(self) -> None:
        """Let what is under way come to an end, for a moment."""
        await self._background_steps.close()
        await self._parts.early_fetches.close()

    def next_delay_s(self) -> float | None:
        """How long until something that failed is due again; None when nothing waits. What is due is under way."""
        now, chat_output = self._parts.clock.monotonic(), self._parts.chat_output
        waits = [delay.until - now for delay in self._delays.values() if delay.until > now]
        if chat_output is not None and self._is_behind and chat_output.wait_s():
            waits.append(chat_output.wait_s())
        return min(waits, default=None)

    async def _step_later(self, job: Job) -> Progress:
        """A step that waited for the end of another of its job: the row may be another one by now."""
        now = await self._parts.database.read(lambda c: jobs.get(c, job.id))
        return await self._step(now) if now.is_open else Progress.IDLE

    async def _step(self, job: Job) -> Progress:
        if self._is_outlived(job):
            await self._parts.database.write(
                Failpoint.JOB_EXPIRED, partial(_expire, job_id=job.id, at=self._parts.clock.now())
            )
            return Progress.MOVED
        # A job in review moves by what a poll of its repository sees.
        step = STEPS.get(job.state) if job.call_number is None else call_step.step
        return await step(self._parts.still(), job) if step else Progress.IDLE

    def _is_outlived(self, job: Job) -> bool:
        """Whether a job's lifetime is over, and the wall clock has said so for a while: it may have been set wrong."""
        if self._parts.clock.now() < job.expires_at:
            self._outlived.pop(_key(job.id), None)
            return False
        now = self._parts.clock.monotonic()
        return now - self._outlived.setdefault(_key(job.id), now) >= OUTLIVED_FOR_S

    def _act(self, key: str, job_id: JobId | None, act: Act, **about: str) -> Act:
        """`about`: what else the step's log lines say whose they are by."""
        return partial(_with_log_context, key, job_id, about, partial(self._guarded, key, job_id, act))

    async def _guarded(self, key: str, job_id: JobId | None, act: Act) -> Progress:
        delay = self._delays.get(key)
        if delay is not None and self._parts.clock.monotonic() < delay.until:
            return Progress.IDLE
        try:
            moved = await act()
        except Fenced:
            raise  # this daemon is over: nothing of it is to be tried again
        except IllegalMove:
            return Progress.MOVED  # somebody else moved it since it was read; the next pass sees where it is
        except ExternalServiceError as error:
            return await self._retry_later(key, job_id, str(error), error)
        except (sqlite3.DatabaseError, OSError) as error:
            return await self._retry_later(
                key, job_id, f"Overlord's own state cannot be written: {error}", error
            )
        except Exception as error:
            log.exception("step_failed")
            return await self._retry_later(key, job_id, f"{type(error).__name__}: {error}", error)
        if key in self._delays and job_id is not None:
            left = self._other_trouble(key, job_id)
            recover = partial(_note_recovery, job_id=job_id, left=left)
            await self._parts.database.write(Failpoint.TROUBLE_NOTED, recover)
        if (over := self._delays.pop(key, None)) is not None:
            log.info("step_works_again", after=over.trouble, failures=over.failures)
        return moved

    def _other_trouble(self, key: str, job_id: JobId) -> str:
        """Why something else of the job is retried later."""
        others = (delay for other, delay in self._delays.items() if other != key and delay.job_id == job_id)
        return next((delay.trouble for delay in others), "")

    async def _retry_later(self, key: str, job_id: JobId | None, trouble: str, error: Exception) -> Progress:
        """Try again later, and write the trouble down when it is a new one.

        True: people are to be shown it, and how long the loop may sleep is another question now.
        """
        trouble = f"{self._shortage}: {trouble}" if self._shortage else trouble
        before = self._delays.get(key)
        failures = before.failures + 1 if before else 1
        until = self._parts.clock.monotonic() + retry.delay_s(error, failures)
        self._delays[key] = _Delay(job_id=job_id, until=until, failures=failures, trouble=trouble)
        if before is None or not is_alike(before.trouble, trouble):
            log.warning("step_put_off", trouble=trouble)
        if job_id is None or (before is not None and before.trouble == trouble):
            return Progress.MOVED
        at = self._parts.clock.now()
        note = partial(_note_trouble, job_id=job_id, trouble=trouble, failures=failures, at=at)
        try:
            await self._parts.database.write(Failpoint.TROUBLE_NOTED, note)
        except sqlite3.DatabaseError:
            log.exception("trouble_not_written")
        return Progress.MOVED


async def _with_log_context(key: str, job_id: JobId | None, about: Mapping[str, str], act: Act) -> Progress:
    """Every line that is logged in a step says which step it was, of which job and session."""
    whose = {} if job_id is None else {"job_id": job_id}
    with bound_contextvars(step=key, **whose, **about):
        return await act()


def _about(found: Due, job: Job) -> dict[str, str]:
    session = found.live.get(job.id)
    return {"space": job.space, **({"session_id": session} if session else {})}


def _key(number: JobId) -> str:
    return f"job {number}"


def _expire(connection: sqlite3.Connection, *, job_id: JobId, at: datetime) -> None:
    reason = "its lifetime is over"
    jobs.move(connection, job_id, EventName.LIFETIME_EXCEEDED, at=at, reason=reason)


def _note_trouble(
    connection: sqlite3.Connection, *, job_id: JobId, trouble: str, failures: int, at: datetime
) -> None:
    """`failures` in a row: 1 where what was done before went well."""
    data: dict[str, Json] = {"trouble": trouble, "failures": failures}
    job = jobs.get(connection, job_id)
    # What a job in people's hands waits for is more to them than that a label could not be set.
    is_ours = job.state in projection.UNDER_WAY
    changes: JobChanges = {"reason": f"{retry.RETRY_LATER}{trouble}"} if is_ours else {}
    jobs.note(connection, job_id, EventName.STEP_FAILED, at=at, data=data, **changes)


def _note_recovery(connection: sqlite3.Connection, *, job_id: JobId, left: str) -> None:
    """`left` is what the job still waits for."""
    if jobs.get(connection, job_id).reason.startswith(retry.RETRY_LATER):
        jobs.repair(connection, job_id, reason=f"{retry.RETRY_LATER}{left}" if left else "")
