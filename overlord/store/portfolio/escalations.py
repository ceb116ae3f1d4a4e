"""Escalations: drafted by sessions, resolved once by code or by a person, each step with its ledger event in the same transaction."""

import sqlite3
from dataclasses import replace
from datetime import datetime

from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.portfolio.escalation import Escalation, EscalationState
from overlord.errors import NotFound
from overlord.store import ledger
from overlord.store.rows import insert, select, update

_OPEN = "state IN ('draft', 'pending')"


def draft(connection: sqlite3.Connection, escalation: Escalation) -> Escalation:
    """Keep a new one, before anybody has looked at it."""
    columns = {name: getattr(escalation, name) for name in escalation.__dataclass_fields__ if name != "id"}
    made = get(connection, insert(connection, "escalations", columns))
    data: dict[str, Json] = {"kind": made.kind, "type": made.type, "question": made.question[:300]}
    _append(connection, EventName.ESCALATION_DRAFTED, made, data, actor=made.escalated_by, at=made.created_at)
    return made


def get(connection: sqlite3.Connection, number: int) -> Escalation:
    """Raises NotFound."""
    found = select(connection, Escalation, "SELECT * FROM escalations WHERE id = ?", number)
    if not found:
        raise NotFound(f"there is no escalation e{number}")
    return found[0]


def raise_to_person(
    connection: sqlite3.Connection, number: int, *, decision_id: int, path: tuple[str, ...], at: datetime
) -> Escalation:
    """A person is asked, by this decision."""
    changes = {"state": EscalationState.PENDING, "decision_id": decision_id, "path": path}
    update(connection, "escalations", number, changes)
    made = get(connection, number)
    data: dict[str, Json] = {"decision": decision_id, "path": list(path)}
    _append(connection, EventName.ESCALATION_RAISED, made, data, actor=OVERLORD, at=at)
    return made


def resolve(
    connection: sqlite3.Connection,
    number: int,
    resolution: str,
    *,
    by: str,
    cites: str = "",
    at: datetime,
) -> Escalation:
    """It has its answer: from a person, or from the rule or note that `cites` names. One that has one keeps it."""
    before = get(connection, number)
    if not before.is_open:
        return before
    changes = {
        "state": EscalationState.RESOLVED,
        "resolution": resolution,
        "resolved_by": by,
        "cites": cites,
        "resolved_at": at,
    }
    update(connection, "escalations", number, changes)
    made = get(connection, number)
    data: dict[str, Json] = {"resolution": resolution[:300], "cites": cites}
    _append(connection, EventName.ESCALATION_CLEARED, made, data, actor=by, at=at)
    return made


def withdraw(connection: sqlite3.Connection, number: int, *, reason: str, at: datetime) -> None:
    """Nobody needs its answer any more."""
    before = get(connection, number)
    if before.is_open:
        update(connection, "escalations", number, {"state": EscalationState.WITHDRAWN, "resolved_at": at})
        withdrawn = replace(before, state=EscalationState.WITHDRAWN)
        _append(
            connection,
            EventName.ESCALATION_WITHDRAWN,
            withdrawn,
            {"reason": reason},
            actor=OVERLORD,
            at=at,
        )


def mark_searched(connection: sqlite3.Connection, number: int, fingerprint: str) -> None:
    """Its answer was looked for in what is known; the same is not looked through again."""
    update(connection, "escalations", number, {"searched": fingerprint})


def mark_delivered(connection: sqlite3.Connection, number: int) -> None:
    """A session was told of the resolution."""
    update(connection, "escalations", number, {"is_delivered": True})


def drafts(connection: sqlite3.Connection) -> list[Escalation]:
    """Those that nobody has looked at, oldest first."""
    return select(connection, Escalation, "SELECT * FROM escalations WHERE state = 'draft' ORDER BY id")


def unresolved(connection: sqlite3.Connection) -> list[Escalation]:
    """Drafts, and those that a person is asked about; oldest first."""
    return select(connection, Escalation, f"SELECT * FROM escalations WHERE {_OPEN} ORDER BY id")  # noqa: S608


def undelivered(connection: sqlite3.Connection) -> list[Escalation]:
    """Resolved ones that no session was told of, oldest first."""
    query = "SELECT * FROM escalations WHERE state = 'resolved' AND NOT is_delivered ORDER BY id"
    return select(connection, Escalation, query)


def of_initiative(connection: sqlite3.Connection, initiative_id: int) -> list[Escalation]:
    """Those of an initiative, oldest first."""
    query = "SELECT * FROM escalations WHERE initiative_id = ? ORDER BY id"
    return select(connection, Escalation, query, initiative_id)


def of_task(connection: sqlite3.Connection, task_id: int) -> list[Escalation]:
    """Those that block a task, oldest first."""
    return select(connection, Escalation, "SELECT * FROM escalations WHERE task_id = ? ORDER BY id", task_id)


def of_job(connection: sqlite3.Connection, job_id: int) -> list[Escalation]:
    """Those that a job's sessions wrote, oldest first."""
    return select(connection, Escalation, "SELECT * FROM escalations WHERE job_id = ? ORDER BY id", job_id)


def of_decision(connection: sqlite3.Connection, decision_id: int) -> Escalation | None:
    """The one that a decision is about."""
    query = "SELECT * FROM escalations WHERE decision_id = ?"
    return next(iter(select(connection, Escalation, query, decision_id)), None)


def every(connection: sqlite3.Connection) -> list[Escalation]:
    """All of them, oldest first."""
    return select(connection, Escalation, "SELECT * FROM escalations ORDER BY id")


def _append(
    connection: sqlite3.Connection,
    name: EventName,
    escalation: Escalation,
    data: dict[str, Json],
    *,
    actor: str,
    at: datetime,
) -> None:
    whole: dict[str, Json] = {"escalation": escalation.ref, "space": escalation.space, **data}
    event = LedgerEvent(name=name, at=at, actor=actor, job_id=escalation.job_id, data=whole)
    ledger.append(connection, event)
