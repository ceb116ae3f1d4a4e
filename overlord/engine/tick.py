"""The one place that moves jobs. Events are hints: a tick reads what is true and takes every open job one step.

A far end that does not answer delays its own job and no other; whatever else goes wrong in a step is written down,
and the job is tried again later.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from overlord.domain.event import EventName, Json
from overlord.domain.job import Job, JobId, JobState
from overlord.engine import (
    collect,
    deliver,
    dispatch,
    ending,
    evaluate,
    follow,
    inbox,
    intake,
    project,
    prune,
    reap,
)
from overlord.engine.errands import Errands
from overlord.engine.parts import Parts
from overlord.errors import FarEndError, IllegalMove
from overlord.ports import RepositoryName
from overlord.store import jobs, sessions

log = structlog.get_logger()

Step = Callable[[Parts, Job], Awaitable[bool]]

STEPS: Mapping[JobState, Step] = {
    JobState.QUEUED: dispatch.step,
    JobState.RUNNING: collect.step,
    JobState.EVALUATING: evaluate.step,
    JobState.DELIVERING: deliver.step,
    JobState.IN_REVIEW: follow.step,
    JobState.WAITING: inbox.step,
}

Act = Callable[[], Awaitable[bool]]
PROJECTION = " projection"
FIRST_DELAY_S = 2.0
LONGEST_DELAY_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delay:
    until: float
    failures: int
    trouble: str


class Tick:
    """Holds only what may be forgotten: which steps are under way, and when to try again what failed."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._delays: dict[str, _Delay] = {}
        self._errands = Errands(parts.ring)
        self._pruned_at = -prune.EVERY_S

    async def run(self) -> bool:
        """One pass over everything. True when something moved, so that another pass is worth it at once.

        A step that takes its time, because a far end does, goes on beside the next passes.
        """
        parts = self._parts
        await inbox.expire(parts)
        wanted: dict[str, Act] = {}
        for name in parts.settings.repositories:
            wanted[f"poll {name}"] = self._act(
                f"poll {name}", None, partial(intake.poll, parts, RepositoryName(name))
            )
        for job in await parts.database.read(jobs.open_jobs):
            wanted[_key(job)] = self._act(_key(job), job.id, partial(self._step, job))
        for job in await parts.database.read(jobs.with_remains):
            wanted[_key(job)] = self._act(_key(job), job.id, partial(reap.step, parts, job))
        for job in await parts.database.read(jobs.unprojected_closed):
            key = _key(job) + PROJECTION
            wanted[key] = self._act(key, job.id, partial(project.step, parts, job))
        for session in await parts.database.read(sessions.uncleared):
            key = f"clear {session.id}"
            wanted[key] = self._act(key, session.job_id, partial(ending.clear, parts, session))
        if parts.clock.monotonic() - self._pruned_at >= prune.EVERY_S:
            self._pruned_at = parts.clock.monotonic()
            wanted["prune"] = self._act("prune", None, partial(prune.step, parts))
        for key, act in wanted.items():
            self._errands.start(key, act)
        kept = {
            key: delay
            for key, delay in self._delays.items()
            if key.removesuffix(PROJECTION) in wanted or key in wanted
        }
        self._delays = kept
        return await self._errands.news()

    @property
    def is_idle(self) -> bool:
        """Whether no step is under way."""
        return self._errands.is_idle

    async def close(self) -> None:
        """Let what is under way come to an end, for a moment."""
        await self._errands.close()

    def next_delay_s(self) -> float | None:
        """How long until something that failed is due again; None when nothing waits. What is due is under way."""
        now = self._parts.clock.monotonic()
        return min((delay.until - now for delay in self._delays.values() if delay.until > now), default=None)

    async def _step(self, job: Job) -> bool:
        if self._parts.clock.now() >= job.expires_at:
            await self._parts.database.write(partial(_expire, job_id=job.id, at=self._parts.clock.now()))
            return True
        moved = await STEPS[job.state](self._parts, job)
        await self._guarded(_key(job) + PROJECTION, job.id, partial(project.step, self._parts, job))
        return moved

    def _act(self, key: str, job_id: JobId | None, act: Act) -> Act:
        return partial(self._guarded, key, job_id, act)

    async def _guarded(self, key: str, job_id: JobId | None, act: Act) -> bool:
        delay = self._delays.get(key)
        if delay is not None and self._parts.clock.monotonic() < delay.until:
            return False
        try:
            moved = await act()
        except IllegalMove:
            return True  # somebody else moved it since it was read; the next pass sees where it is
        except FarEndError as error:
            await self._put_off(key, job_id, str(error), getattr(error, "retry_after_s", None))
            return False
        except (sqlite3.DatabaseError, OSError) as error:
            await self._put_off(key, job_id, f"Overlord's own state cannot be written: {error}", None)
            return False
        except Exception as error:
            log.exception("step_failed", step=key)
            await self._put_off(key, job_id, f"{type(error).__name__}: {error}", None)
            return False
        self._delays.pop(key, None)
        return moved

    async def _put_off(
        self, key: str, job_id: JobId | None, trouble: str, retry_after_s: float | None
    ) -> None:
        """Try again later, twice as late each time, and write the trouble down when it is a new one."""
        before = self._delays.get(key)
        failures = before.failures + 1 if before else 1
        wait = min(FIRST_DELAY_S * 2.0 ** min(failures - 1, 16), LONGEST_DELAY_S)
        until = self._parts.clock.monotonic() + max(wait, retry_after_s or 0.0)
        self._delays[key] = _Delay(until=until, failures=failures, trouble=trouble)
        log.warning("step_put_off", step=key, trouble=trouble, failures=failures)
        if job_id is None or (before is not None and before.trouble == trouble):
            return
        note = partial(_note_trouble, job_id=job_id, trouble=trouble, at=self._parts.clock.now())
        try:
            await self._parts.database.write(note)
        except sqlite3.DatabaseError:
            log.exception("trouble_not_written", step=key)


def _key(job: Job) -> str:
    return f"job {job.id}"


def _expire(connection: sqlite3.Connection, *, job_id: JobId, at: datetime) -> None:
    reason = "its lifetime is over"
    jobs.move(connection, job_id, EventName.LIFETIME_EXCEEDED, at=at, reason=reason)


def _note_trouble(connection: sqlite3.Connection, *, job_id: JobId, trouble: str, at: datetime) -> None:
    reason = f"waiting to try again: {trouble}"
    data: dict[str, Json] = {"trouble": trouble}
    jobs.note(connection, job_id, EventName.STEP_FAILED, at=at, data=data, reason=reason)
