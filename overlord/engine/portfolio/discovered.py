"""What people answered about work that sessions came upon: it is done, or it is not."""

import sqlite3
from functools import partial

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.portfolio.task import Task, TaskState
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import NotFound
from overlord.failpoints import Failpoint
from overlord.store import decisions
from overlord.store.portfolio import initiatives, tasks


def is_due(connection: sqlite3.Connection) -> bool:
    """Whether somebody answered."""
    return bool(_answered(connection))


async def step(parts: Parts) -> Progress:
    """Carry out what was answered, each answer with its task in one transaction."""
    answered = await parts.database.read(_answered)
    for decision in answered:
        apply = partial(_apply, parts=parts, decision=decision)
        await parts.database.write(Failpoint.PORTFOLIO_ANSWERED, apply)
    if answered:
        parts.notify()
    return Progress.of(bool(answered))


def _answered(connection: sqlite3.Connection) -> list[Decision]:
    found = decisions.unapplied_about(connection, "i")
    return [item for item in found if item.subject is Subject.DISCOVERED_TASK]


def _apply(connection: sqlite3.Connection, parts: Parts, decision: Decision) -> None:
    if decisions.get(connection, decision.id).applied:
        return
    decisions.mark_applied(connection, decision)
    task, at, actor = _task(connection, decision), parts.clock.now(), decision.answered_by
    if task is None or task.state is not TaskState.PROPOSED:
        return
    if decision.verb is Verb.APPROVE and not initiatives.get(connection, task.initiative_id).has_ended:
        state, reason = TaskState.PENDING, "a person wants it"
    else:
        state, reason = TaskState.CANCELLED, "a person does not want it"
    tasks.change(connection, task.id, at=at, actor=actor, reason=reason, state=state)


def _task(connection: sqlite3.Connection, decision: Decision) -> Task | None:
    """None for one that is no more."""
    try:
        return tasks.named(connection, decision.about)
    except NotFound:
        return None
