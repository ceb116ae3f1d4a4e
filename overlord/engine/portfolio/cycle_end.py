"""A cycle wants to end: the three checks of code over what it leaves, then the operator's programs. Work goes on by facts, not by a
cycle that stays: what is held against its end is in the log, and the next cycle, which comes with the next fact, looks again."""

import sqlite3

import structlog

from overlord.domain.event import Json
from overlord.domain.hooks import Hook, HookCall
from overlord.domain.portfolio.checklist import ShutdownFacts, shutdown_reasons
from overlord.domain.portfolio.task import TaskState
from overlord.engine.runtime.parts import Parts
from overlord.store import jobs
from overlord.store.portfolio import escalations, tasks

log = structlog.get_logger()


async def end(parts: Parts, *, acts: int, summary: str) -> tuple[str, ...]:
    """What is held against the end of a cycle that did something, in sentences."""
    reasons = shutdown_reasons(await parts.database.read(_left))
    data: dict[str, Json] = {"acts": acts, "summary": summary}
    reasons = reasons or (await parts.hooks.ask(HookCall(hook=Hook.SHUTDOWN, data=data))).refusals
    if reasons:
        log.warning("cycle_left_work", reasons=list(reasons))
    return reasons


def _left(connection: sqlite3.Connection) -> ShutdownFacts:
    """Results that nobody looked at are none by now: a cycle reads them all before it ends."""
    under_way = tasks.of_states(connection, (TaskState.IN_PROGRESS,))
    with_jobs = ((task.ref, task.job_id) for task in under_way if task.job_id is not None)
    return ShutdownFacts(
        drafts=[f"e{item.id}" for item in escalations.drafts(connection)],
        orphaned=[ref for ref, job in with_jobs if not jobs.get(connection, job).is_open],
    )
