"""The one place that moves jobs. Events are hints: a tick reads what is true and takes every open job one step.

A far end that does not answer delays its own job and no other; whatever else goes wrong in a step is written down,
and the job is tried again later.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import structlog

from overlord.domain.event import EventName
from overlord.domain.job import Job, JobId, JobState
from overlord.engine import collect, deliver, dispatch, evaluate, follow, inbox, intake, project, reap
from overlord.engine.parts import Parts
from overlord.errors import FarEndError, IllegalMove
from overlord.store import jobs

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

FIRST_DELAY_S = 2.0
LONGEST_DELAY_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delay:
    until: float
    failures: int
    trouble: str


class Tick:
    """Holds only what may be forgotten: when to try again what failed."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._delays: dict[tuple[JobId, Step], _Delay] = {}

    async def run(self) -> bool:
        """One pass over everything. True when something moved, so that another pass is worth it at once."""
        parts = self._parts
        claimed = await intake.poll(parts)
        await inbox.expire(parts)
        open_jobs = await parts.database.read(jobs.open_jobs)
        remains = await parts.database.read(jobs.with_remains)
        unprojected = await parts.database.read(jobs.unprojected_closed)
        moved = await asyncio.gather(
            *(self._guarded(job, self._step) for job in open_jobs),
            *(self._guarded(job, reap.step) for job in remains),
            *(self._guarded(job, project.step) for job in unprojected),
        )
        return claimed or any(moved)

    def next_delay_s(self) -> float | None:
        """How long until something that failed is due again; None when nothing waits."""
        if not self._delays:
            return None
        return max(0.0, min(delay.until for delay in self._delays.values()) - self._parts.clock.monotonic())

    async def _step(self, parts: Parts, job: Job) -> bool:
        if parts.clock.now() >= job.expires_at:
            reason = "its lifetime is over"
            await parts.database.write(
                lambda c: jobs.move(
                    c, job.id, EventName.LIFETIME_EXCEEDED, at=parts.clock.now(), reason=reason
                )
            )
            return True
        moved = await STEPS[job.state](parts, job)
        await self._guarded(job, project.step)
        return moved

    async def _guarded(self, job: Job, step: Step) -> bool:
        key = (job.id, step)
        delay = self._delays.get(key)
        if delay is not None and self._parts.clock.monotonic() < delay.until:
            return False
        try:
            moved = await step(self._parts, job)
        except IllegalMove:
            return True  # somebody else moved it since it was read; the next pass sees where it is
        except FarEndError as error:
            await self._put_off(key, str(error), getattr(error, "retry_after_s", None))
            return False
        except (sqlite3.DatabaseError, OSError) as error:
            await self._put_off(key, f"Overlord's own state cannot be written: {error}", None)
            return False
        except Exception as error:
            log.exception("step_failed", job=job.id, state=job.state)
            await self._put_off(key, f"{type(error).__name__}: {error}", None)
            return False
        self._delays.pop(key, None)
        return moved

    async def _put_off(self, key: tuple[JobId, Step], trouble: str, retry_after_s: float | None) -> None:
        """Try again later, twice as late each time, and write the trouble down when it is a new one."""
        before = self._delays.get(key)
        failures = before.failures + 1 if before else 1
        wait = min(FIRST_DELAY_S * 2 ** (failures - 1), LONGEST_DELAY_S)
        until = self._parts.clock.monotonic() + max(wait, retry_after_s or 0.0)
        self._delays[key] = _Delay(until=until, failures=failures, trouble=trouble)
        log.warning("step_put_off", job=key[0], trouble=trouble, failures=failures)
        if before is not None and before.trouble == trouble:
            return
        try:
            await self._parts.database.write(
                lambda c: jobs.note(
                    c,
                    key[0],
                    EventName.STEP_FAILED,
                    at=self._parts.clock.now(),
                    data={"trouble": trouble},
                    reason=f"waiting to try again: {trouble}",
                )
            )
        except sqlite3.DatabaseError:
            log.exception("trouble_not_written", job=key[0])
