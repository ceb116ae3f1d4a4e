"""What people do at the forge with the issues of tasks and initiatives: states are kept alike both ways."""

import sqlite3
from datetime import datetime

from overlord.domain.identifiers import RepositoryName
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.repositories.forge import IssueState
from overlord.engine.runtime.parts import Parts
from overlord.errors import ForgeMissing
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.portfolio import facts, initiatives, tasks
from overlord.store.portfolio.endings import end_initiative, end_task

FORGE = "forge"
"""Who did it: somebody at the forge."""
_NOT_PLANNED = ("not_planned", "duplicate")


async def seen(parts: Parts, name: RepositoryName, state: IssueState) -> None:
    """An issue was read: what it says of a task or an initiative is taken over. What would change something is read anew, for a list
    may be older than what was done here since."""
    number = state.issue.number
    if not await parts.database.read(lambda c: _says_something(c, name, number, state)):
        return
    try:
        now = await parts.forge.issue(name, number)
    except ForgeMissing:
        return  # whoever looks after missing issues ends what is left of it
    at = parts.clock.now()
    await parts.database.write(Failpoint.ISSUE_STATE_NOTED, lambda c: _take_over(c, name, now, at=at))
    parts.notify()


def _take_over(connection: sqlite3.Connection, name: str, state: IssueState, *, at: datetime) -> None:
    if _says_something(connection, name, state.issue.number, state):
        note(connection, name, state, at=at)


def _says_something(connection: sqlite3.Connection, name: str, number: int, state: IssueState) -> bool:
    if jobs.live_for(connection, name, number) is not None:
        return False  # what closes its issue ends the job first
    row = tasks.of_issue(connection, name, number) or initiatives.of_issue(connection, name, number)
    return row is not None and (row.is_issue_closed is state.open or (not state.open and not row.has_ended))


def note(connection: sqlite3.Connection, name: str, state: IssueState, *, at: datetime) -> None:
    """Take it over, in the transaction that ends its job, where it has one."""
    task = tasks.of_issue(connection, name, state.issue.number)
    if task is not None:
        _note_task(connection, task, state, at=at)
        return
    initiative = initiatives.of_issue(connection, name, state.issue.number)
    if initiative is not None:
        _note_initiative(connection, initiative, state, at=at)


def _note_task(connection: sqlite3.Connection, task: Task, state: IssueState, *, at: datetime) -> None:
    if state.open:
        changed = tasks.change(connection, task.id, at=at, is_issue_closed=False)
        if task.has_ended and task.is_issue_closed:
            reason = "its issue was opened again"
            tasks.change(
                connection, task.id, at=at, actor=FORGE, reason=reason, state=TaskState.PENDING, addressed=()
            )
            _take_up_again(connection, changed, at=at)
        return
    tasks.change(connection, task.id, at=at, is_issue_closed=True)
    if task.has_ended or facts.is_merged(connection, task.space, task.issue_number):
        return  # closed by the merge, or by us
    facts.mark_processed(connection, task.space, task.issue_number)
    is_dropped = state.state_reason in _NOT_PLANNED
    ended = tasks.change(
        connection,
        task.id,
        at=at,
        actor=FORGE,
        reason="its issue was closed as not planned" if is_dropped else "its issue was closed as completed",
        state=TaskState.CANCELLED if is_dropped else TaskState.DONE,
        completion_notes=task.completion_notes or ("" if is_dropped else "Closed as completed at the forge."),
        waits="",
    )
    end_task(connection, ended, at=at)


def _take_up_again(connection: sqlite3.Connection, task: Task, *, at: datetime) -> None:
    initiative = initiatives.get(connection, task.initiative_id)
    if initiative.has_ended:
        reason = f"task {task.ref} was opened again"
        state = InitiativeState.ACTIVE
        initiatives.change(connection, initiative.id, at=at, actor=FORGE, reason=reason, state=state)


def _note_initiative(
    connection: sqlite3.Connection, initiative: Initiative, state: IssueState, *, at: datetime
) -> None:
    if state.open:
        initiatives.change(connection, initiative.id, at=at, is_issue_closed=False)
        if initiative.has_ended and initiative.is_issue_closed:
            reason = "its issue was opened again"
            initiatives.change(
                connection,
                initiative.id,
                at=at,
                actor=FORGE,
                reason=reason,
                state=InitiativeState.ACTIVE if initiative.plan_digest else InitiativeState.QUEUED,
                replan=reason if initiative.plan_digest else "",
            )
        return
    initiatives.change(connection, initiative.id, at=at, is_issue_closed=True)
    if initiative.has_ended:
        return
    is_dropped = state.state_reason in _NOT_PLANNED
    ended = initiatives.change(
        connection,
        initiative.id,
        at=at,
        actor=FORGE,
        reason="its issue was closed at the forge",
        state=InitiativeState.CANCELLED if is_dropped else InitiativeState.DONE,
        waits="",
    )
    end_initiative(connection, ended, at=at, actor=FORGE)
