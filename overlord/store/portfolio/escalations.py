"""Escalations: drafted by sessions, resolved once by code or by a person, each step with its ledger event in the same transaction."""

import json
import sqlite3
from dataclasses import replace
from datetime import datetime

from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.portfolio.escalation import Escalation, EscalationState
from overlord.domain.session import Session
from overlord.errors import NotFound
from overlord.store import decisions, ledger
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
    """Nobody needs its answer any more: whoever was asked is asked no longer."""
    before = get(connection, number)
    if before.is_open:
        update(connection, "escalations", number, {"state": EscalationState.WITHDRAWN, "resolved_at": at})
        if before.decision_id is not None:
            decisions.supersede(connection, decisions.get(connection, before.decision_id), at=at)
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
    """Those that block a task, or blocked it, oldest first."""
    return select(connection, Escalation, "SELECT * FROM escalations WHERE task_id = ? ORDER BY id", task_id)


def of_job(connection: sqlite3.Connection, job_id: int) -> list[Escalation]:
    """Those that a job's sessions wrote, oldest first."""
    return select(connection, Escalation, "SELECT * FROM escalations WHERE job_id = ? ORDER BY id", job_id)


def newest_resolved(connection: sqlite3.Connection, initiative_id: int, *, limit: int) -> list[Escalation]:
    """Those of an initiative that were resolved last, the oldest of them first."""
    query = """SELECT * FROM escalations WHERE initiative_id = ? AND state = 'resolved'
               ORDER BY resolved_at DESC, id DESC LIMIT ?"""
    return select(connection, Escalation, query, initiative_id, limit)[::-1]


def newest_over(connection: sqlite3.Connection, *, limit: int) -> list[Escalation]:
    """Those that need no answer any more, the newest first."""
    query = """SELECT * FROM escalations WHERE state IN ('resolved', 'withdrawn')
               ORDER BY resolved_at DESC, id DESC LIMIT ?"""
    return select(connection, Escalation, query, limit)


def resolved_since(connection: sqlite3.Connection, since: datetime) -> list[Escalation]:
    """Those that were resolved from a moment on, oldest first."""
    query = "SELECT * FROM escalations WHERE state = 'resolved' AND resolved_at >= ? ORDER BY resolved_at, id"
    return select(connection, Escalation, query, since.isoformat())


def needless(connection: sqlite3.Connection) -> list[Escalation]:
    """Unresolved ones that nobody needs any more: their task or initiative has ended, their job was cancelled, or is over and was of
    no initiative."""
    query = """SELECT escalations.* FROM escalations
               LEFT JOIN initiatives ON initiatives.id = escalations.initiative_id
               LEFT JOIN tasks ON tasks.id = escalations.task_id
               LEFT JOIN jobs ON jobs.id = escalations.job_id
               WHERE escalations.state IN ('draft', 'pending') AND (
                 initiatives.state IN ('done', 'cancelled') OR tasks.state IN ('done', 'cancelled')
                 OR jobs.state = 'cancelled' OR (escalations.initiative_id IS NULL AND NOT jobs.is_open))
               ORDER BY escalations.id"""
    return select(connection, Escalation, query)


def was_searched(connection: sqlite3.Connection, fingerprint: str) -> bool:
    """Whether a model was asked already whether these notes answer this question."""
    query = "SELECT 1 FROM escalations WHERE searched = ? LIMIT 1"
    return connection.execute(query, (fingerprint,)).fetchone() is not None


def note_briefed(connection: sqlite3.Connection, session: Session) -> None:
    """A session was prepared: the resolutions that its brief tells are delivered."""
    told = (json.loads(session.brief).get("portfolio") or {}).get("resolved") or ()
    refs = {str(item.get("ref", "")) for item in told}
    for escalation in undelivered(connection) if refs else ():
        if escalation.ref in refs:
            mark_delivered(connection, escalation.id)


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
