"""What a plan makes of its initiative's tasks: their fields, what they wait for, and what becomes of them once it is approved."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from minion.protocol import PlannedTask
from overlord.domain.portfolio.graph import graph_of
from overlord.domain.portfolio.plan_draft import KeptTask, PlanDraft, blockers_of, is_a_persons, is_left_out
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task, TaskState
from overlord.errors import Refused
from overlord.store.portfolio import endings, initiatives, tasks
from overlord.store.portfolio.elsewhere import ask_elsewhere


def fields_of(planned: PlannedTask, own: str) -> dict[str, Any]:
    """The columns of a planned task; `own` is the repository of one that names none."""
    return {
        "subject": planned.subject,
        "description": planned.description,
        "acceptance_criteria": planned.acceptance_criteria,
        "priority": Priority(planned.priority),
        "labels": planned.labels,
        "paths": planned.paths,
        "space": planned.repository or own,
    }


def link_new(connection: sqlite3.Connection, draft: PlanDraft, *, at: datetime) -> None:
    """Let the plan's new tasks wait for what it says."""
    present = _present(connection, draft)
    new = [item for item in draft.tasks if item.is_new]
    for item in new:
        _link(connection, present, item, (), at=at)
    for item in new:
        _link(connection, present, item, blockers_of(draft, item), at=at)


def _present(connection: sqlite3.Connection, draft: PlanDraft) -> dict[int, Task]:
    return {item.number: item for item in tasks.of_initiative(connection, draft.initiative_id)}


def _link(
    connection: sqlite3.Connection,
    present: Mapping[int, Task],
    item: KeptTask,
    numbers: Iterable[int],
    *,
    at: datetime,
) -> None:
    """Let one wait for these, and for what it waits for in other initiatives: of that no plan speaks."""
    task, own = present[item.number], {row.id for row in present.values()}
    waits = tasks.links(connection, task.initiative_id)
    others = [row.blocker_id for row in waits if row.blocked_id == task.id and row.blocker_id not in own]
    blockers = [present[number] for number in numbers if number in present]
    tasks.link(connection, task, [*blockers, *(tasks.get(connection, row) for row in others)], at=at)


def accept(
    connection: sqlite3.Connection,
    draft: PlanDraft,
    elsewhere: Collection[str],
    *,
    actor: str,
    at: datetime,
) -> str:
    """Take the tasks of an approved plan over; what could not be, in words."""
    kept, theirs = {item.number: item for item in draft.tasks}, _theirs(connection, draft)
    initiative = initiatives.get(connection, draft.initiative_id)
    for task in tasks.of_initiative(connection, draft.initiative_id):
        item = kept.get(task.number)
        fields: dict[str, Any] = {}
        if item is not None and not item.is_new and task.number not in theirs:
            fields = fields_of(item.planned, "") | {"space": task.space}
        if item is not None and task.space in elsewhere:
            ask_elsewhere(connection, initiative, task, fields, actor=actor, at=at)
        elif task.state is TaskState.PROPOSED and item is not None:
            changes = {**fields, "state": TaskState.PENDING}
            tasks.change(connection, task.id, at=at, actor=actor, reason="the plan was approved", **changes)
            endings.close_questions(connection, task.ref, at=at)
        elif task.state is not TaskState.PENDING:
            continue
        elif item is None and is_left_out(draft, task):
            _cancel(connection, task, actor=actor, at=at)
        else:
            tasks.change(connection, task.id, at=at, actor=actor, **fields)
    return _link_changed(connection, draft, theirs, at=at)


def _theirs(connection: sqlite3.Connection, draft: PlanDraft) -> frozenset[int]:
    """The numbers of those tasks that a person changed since: they stay as they are, with what they wait for."""
    present = _present(connection, draft)
    waits = graph_of((row.blocker_id, row.blocked_id) for row in tasks.links(connection, draft.initiative_id))
    return frozenset(
        item.number
        for item in draft.tasks
        if not item.is_new and (task := present.get(item.number)) is not None
        if is_a_persons(item, task, waits.get(task.id, ()))
    )


def _cancel(connection: sqlite3.Connection, task: Task, *, actor: str, at: datetime) -> None:
    reason, state = "the approved plan leaves it out", TaskState.CANCELLED
    ended = tasks.change(connection, task.id, at=at, actor=actor, reason=reason, state=state, waits="")
    endings.end_task(connection, ended, at=at)
    tasks.unlink_all(connection, task.id)


def _link_changed(
    connection: sqlite3.Connection, draft: PlanDraft, theirs: Collection[int], *, at: datetime
) -> str:
    """Let tasks that were there before wait for what the plan says."""
    present, troubles = _present(connection, draft), list[str]()
    for item in draft.tasks:
        task = present.get(item.number)
        if task is None or item.is_new or item.number in theirs or task.state is not TaskState.PENDING:
            continue
        try:
            _link(connection, present, item, blockers_of(draft, item), at=at)
        except Refused as error:
            troubles.append(str(error))
    return "; ".join(troubles)
