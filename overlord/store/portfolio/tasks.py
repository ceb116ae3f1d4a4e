"""Tasks: numbered within their initiative, linked without circles, changed with their ledger event in the same transaction."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.portfolio.graph import circle_with, graph_of
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import MOST_LINKS, AddressedCriterion, Task, TaskLink, TaskState
from overlord.domain.portfolio.told_change import told_change
from overlord.errors import NotFound, Refused
from overlord.store import ledger
from overlord.store.portfolio import initiatives
from overlord.store.rows import insert, select, update

_QUIET = {
    *("waits", "issue_request_id", "issue_number", "job_id", "updated_at", "is_linked", "is_issue_closed"),
    *("addressed", "completion_notes", "attempts"),
}
"""What changes without a fact of its own: another one says it."""
_MOVES = {
    TaskState.IN_PROGRESS: EventName.TASK_ASSIGNED,
    TaskState.PENDING: EventName.TASK_RETURNED,
    TaskState.DONE: EventName.TASK_COMPLETED,
    TaskState.CANCELLED: EventName.TASK_CANCELLED,
}


def add(connection: sqlite3.Connection, task: Task, *, job_id: int | None = None) -> Task:
    """Keep a new one under the next number of its initiative, which is never given again. `job_id`: the job whose session came
    upon it."""
    initiative = initiatives.get(connection, task.initiative_id)
    number = initiative.last_task + 1
    initiatives.change(connection, initiative.id, at=task.created_at, last_task=number)
    columns = {name: getattr(task, name) for name in task.__dataclass_fields__ if name != "id"}
    made = get(connection, insert(connection, "tasks", {**columns, "number": number}))
    data: dict[str, Json] = {"subject": made.subject, "state": made.state}
    _append(
        connection, EventName.TASK_ADDED, made, data, actor=made.created_by, at=made.created_at, job_id=job_id
    )
    return made


def get(connection: sqlite3.Connection, row: int) -> Task:
    """One by its row. Raises NotFound."""
    found = select(connection, Task, "SELECT * FROM tasks WHERE id = ?", row)
    if not found:
        raise NotFound(f"there is no task in row {row}")
    return found[0]


def named(connection: sqlite3.Connection, text: str, *, initiative_id: int | None = None) -> Task:
    """The one that is meant: `i3.4`, or within a known initiative `4`. Raises NotFound."""
    first, _, last = text.strip().casefold().removeprefix("i").rpartition(".")
    owner, number = _digits(first) if first else initiative_id, _digits(last.removeprefix("#"))
    if owner is None or number is None:
        raise NotFound("a task is named by its initiative and its number, as in i3.4")
    query = "SELECT * FROM tasks WHERE initiative_id = ? AND number = ?"
    found = select(connection, Task, query, owner, number)
    if not found:
        shows = hint(CommandRef("initiative", (f"i{owner}",)), " shows those there are")
        raise NotFound(f"there is no task i{owner}.{number}", hint=shows)
    return found[0]


def _digits(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else None


def change(
    connection: sqlite3.Connection,
    row: int,
    *,
    at: datetime,
    actor: str = OVERLORD,
    reason: str = "",
    **changes: object,
) -> Task:
    """Change columns of one, with a fact for what people know it by. What changes nothing is no fact."""
    before = get(connection, row)
    new = {name: value for name, value in changes.items() if getattr(before, name) != value}
    if not new:
        return before
    after = replace(before, **new, updated_at=at)  # type: ignore[arg-type]
    if after.has_ended is not before.has_ended:
        ended_at = at if after.has_ended else None
        after, new = replace(after, completed_at=ended_at), {**new, "completed_at": ended_at}
    update(connection, "tasks", row, {**new, "updated_at": at})
    told = sorted(set(new) - _QUIET - {"completed_at"})
    if told:
        moved = _MOVES.get(after.state) if "state" in new else None
        if before.state is TaskState.PROPOSED and after.state is TaskState.PENDING:
            moved = None  # it was never worked on
        data: dict[str, Json] = {"what": [told_change(name, getattr(after, name)) for name in told]}
        data |= {"subject": after.subject, "reason": reason}
        _append(connection, moved or EventName.TASK_CHANGED, after, data, actor=actor, at=at)
    return after


def say_waits(connection: sqlite3.Connection, row: int, waits: str) -> None:
    """Why it is not begun; that is no change of the task itself, and does not make it newer."""
    update(connection, "tasks", row, {"waits": waits})


def touch(connection: sqlite3.Connection, row: int, *, at: datetime) -> None:
    """A person still wants it: it counts as new again."""
    update(connection, "tasks", row, {"updated_at": at})


def note(
    connection: sqlite3.Connection,
    name: EventName,
    task: Task,
    data: dict[str, Json],
    *,
    actor: str = OVERLORD,
    at: datetime,
    job_id: int | None = None,
) -> None:
    """Write down a fact about one that changes no column of its own."""
    _append(connection, name, task, data, actor=actor, at=at, job_id=job_id)


def _append(
    connection: sqlite3.Connection,
    name: EventName,
    task: Task,
    data: dict[str, Json],
    *,
    actor: str,
    at: datetime,
    job_id: int | None = None,
) -> None:
    whole: dict[str, Json] = {"task": task.ref, "space": task.space, **data}
    event = LedgerEvent(name=name, at=at, actor=actor, job_id=job_id or task.job_id, data=whole)
    ledger.append(connection, event)


def of_initiative(connection: sqlite3.Connection, initiative_id: int) -> list[Task]:
    """Those of an initiative, by their numbers."""
    query = "SELECT * FROM tasks WHERE initiative_id = ? ORDER BY number"
    return select(connection, Task, query, initiative_id)


def of_states(connection: sqlite3.Connection, states: Collection[TaskState]) -> list[Task]:
    """Those in one of these states, oldest first."""
    marks = ", ".join("?" * len(states))
    query = f"SELECT * FROM tasks WHERE state IN ({marks}) ORDER BY id"  # noqa: S608 - marks
    return [_task(row) for row in connection.execute(query, tuple(map(str, states)))]


def _task(row: sqlite3.Row) -> Task:
    """A row of ten thousand that are read at once: the general way, which holds each value against its type, takes ten times as long."""
    values = dict(row)
    for name in ("acceptance_criteria", "labels", "paths"):
        values[name] = tuple(json.loads(values[name])) if values[name] != "[]" else ()
    said = json.loads(values["addressed"]) if values["addressed"] != "[]" else ()
    values["addressed"] = tuple(AddressedCriterion(**item) for item in said)
    for name in ("created_at", "updated_at", "completed_at"):
        values[name] = datetime.fromisoformat(values[name]) if values[name] else None
    values["state"], values["priority"] = _STATES[values["state"]], _PRIORITIES[values["priority"]]
    values["is_linked"], values["is_issue_closed"] = (
        bool(values["is_linked"]),
        bool(values["is_issue_closed"]),
    )
    return Task(**values)


_STATES = {state.value: state for state in TaskState}
_PRIORITIES = {priority.value: priority for priority in Priority}


def ended_of_unfinished(connection: sqlite3.Connection) -> dict[int, frozenset[TaskState]]:
    """By initiative that has not ended, how its ended tasks have: whether all of them have is asked of it."""
    query = """SELECT DISTINCT initiative_id, tasks.state FROM initiatives CROSS JOIN tasks ON initiative_id = initiatives.id
               WHERE initiatives.state NOT IN ('done', 'cancelled') AND tasks.state IN ('done', 'cancelled')"""
    found = dict[int, frozenset[TaskState]]()
    for initiative, state in connection.execute(query):
        found[initiative] = found.get(initiative, frozenset()) | {TaskState(state)}
    return found


def completed_since(connection: sqlite3.Connection, since: datetime) -> list[Task]:
    """Those that were done from a moment on, the first of them first."""
    query = "SELECT * FROM tasks WHERE state = 'done' AND completed_at >= ? ORDER BY completed_at, id"
    return select(connection, Task, query, since.isoformat())


def of_issue(connection: sqlite3.Connection, space: str, number: int) -> Task | None:
    """The one that an issue was opened for."""
    query = "SELECT * FROM tasks WHERE space = ? AND issue_number = ?"
    return next(iter(select(connection, Task, query, space, number)), None)


def of_job(connection: sqlite3.Connection, job_id: int) -> Task | None:
    """The one that a job works on, or worked on."""
    query = """SELECT tasks.* FROM tasks JOIN jobs ON jobs.space = tasks.space AND jobs.issue_number = tasks.issue_number
               WHERE jobs.id = ?"""
    return next(iter(select(connection, Task, query, job_id)), None)


def counts(connection: sqlite3.Connection) -> Mapping[int, Mapping[TaskState, int]]:
    """By initiative, how many tasks are in each state."""
    found = dict[int, dict[TaskState, int]]()
    query = "SELECT initiative_id, state, count(*) AS many FROM tasks GROUP BY initiative_id, state"
    for row in connection.execute(query):
        found.setdefault(row["initiative_id"], {})[TaskState(row["state"])] = row["many"]
    return found


def links(connection: sqlite3.Connection, initiative_id: int | None = None) -> list[TaskLink]:
    """What waits for what: all of it, or where a task of an initiative waits."""
    if initiative_id is None:
        return select(connection, TaskLink, "SELECT * FROM task_links ORDER BY blocker_id, blocked_id")
    query = """SELECT task_links.* FROM task_links JOIN tasks ON tasks.id = blocked_id
               WHERE initiative_id = ? ORDER BY blocker_id, blocked_id"""
    return select(connection, TaskLink, query, initiative_id)


def live_links(connection: sqlite3.Connection) -> list[TaskLink]:
    """What unfinished tasks wait for, finished or not."""
    query = """SELECT task_links.* FROM tasks JOIN task_links ON blocked_id = tasks.id
               WHERE state IN ('pending', 'in_progress', 'proposed')"""
    return select(connection, TaskLink, query)


def _unlink(connection: sqlite3.Connection, blocker_id: int, blocked_id: int) -> None:
    """One waits for the other no longer; where the forge knows of it, it is still to be told."""
    pair = (blocker_id, blocked_id)
    query = """INSERT OR IGNORE INTO unlinked_tasks (blocker_id, blocked_id)
               SELECT blocker_id, blocked_id FROM task_links
               WHERE blocker_id = ? AND blocked_id = ? AND is_at_forge"""
    connection.execute(query, pair)
    connection.execute("DELETE FROM task_links WHERE blocker_id = ? AND blocked_id = ?", pair)


def unlink_all(connection: sqlite3.Connection, task_id: int) -> None:
    """Nobody waits for this one any more."""
    query = "SELECT blocked_id FROM task_links WHERE blocker_id = ?"
    for row in connection.execute(query, (task_id,)).fetchall():
        _unlink(connection, task_id, row["blocked_id"])


def link(
    connection: sqlite3.Connection,
    task: Task,
    blockers: Iterable[Task],
    *,
    at: datetime,
    actor: str = OVERLORD,
) -> None:
    """Let a task wait for exactly these. Raises Refused with the circle, where there would be one: the check and the rows are of one
    transaction, so two edits at once make none together."""
    wanted = {item.id: item for item in blockers}
    if len(wanted) > MOST_LINKS:
        raise Refused(f"a task waits for at most {MOST_LINKS} others")
    known = [(row.blocker_id, row.blocked_id) for row in links(connection)]
    present = {blocker for blocker, blocked in known if blocked == task.id}
    if present == set(wanted):
        return
    others = graph_of(pair for pair in known if pair[1] != task.id)
    if found := circle_with(others, task.id, wanted):
        shown = ", which waits for ".join(get(connection, row).ref for row in found).replace(", which", "", 1)
        raise Refused(f"the tasks would wait for each other in a circle: {shown}; take one of these out")
    for row in sorted(present - wanted.keys()):
        _unlink(connection, row, task.id)
    for row in sorted(wanted.keys() - present):
        columns = {"blocker_id": row, "blocked_id": task.id}
        insert(connection, "task_links", columns)
    update(connection, "tasks", task.id, {"updated_at": at})
    refs = ", ".join(wanted[row].ref for row in sorted(wanted))
    data: dict[str, Json] = {"what": [told_change("blocked_by", refs or "no other task")]}
    data |= {"subject": task.subject, "reason": ""}
    _append(connection, EventName.TASK_CHANGED, task, data, actor=actor, at=at)
