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
from overlord.store.portfolio import escalations, facts, tasks

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
    """A task that a person is asked about is in their hands. One whose job's end was not taken note of waits for the next cycle."""
    asked = {about for _, about in facts.asked(connection)}
    unread = {job.id for job in facts.jobs_of_issues(connection).values() if job.is_over}
    under_way = tasks.of_states(connection, (TaskState.IN_PROGRESS,))
    over = [
        task
        for task in under_way
        if task.ref not in asked and task.job_id is not None and not jobs.get(connection, task.job_id).is_open
    ]
    return ShutdownFacts(
        drafts=[f"e{item.id}" for item in escalations.drafts(connection)],
        orphaned=[task.ref for task in over if task.job_id not in unread],
        unprocessed=[task.ref for task in over if task.job_id in unread],
    )
