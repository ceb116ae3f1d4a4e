"""Messages to jobs: written with who said them, given to the session that works until it says it has them, told in later briefs."""

import json
import sqlite3
from collections.abc import Collection
from datetime import datetime

from minion.protocol import Message
from overlord.domain.conversation.steering import MOST_BRIEFED, SteeringMessage
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.session import Session
from overlord.errors import NotFound
from overlord.store import ledger
from overlord.store.rows import insert, select, update


def add(connection: sqlite3.Connection, message: SteeringMessage) -> SteeringMessage:
    """Keep one, with its fact. Its number is given here."""
    columns = {name: getattr(message, name) for name in message.__dataclass_fields__ if name != "id"}
    number = insert(connection, "steering", columns)
    data: dict[str, Json] = {"message": number, "text": message.text, "session": message.session_id}
    _append_message_event(
        connection, EventName.MESSAGE_POSTED, message, at=message.at, actor=message.actor, data=data
    )
    return get(connection, number)


def get(connection: sqlite3.Connection, number: int) -> SteeringMessage:
    """Raises NotFound."""
    found = select(connection, SteeringMessage, "SELECT * FROM steering WHERE id = ?", number)
    if not found:
        raise NotFound(f"there is no message {number}")
    return found[0]


def of_job(connection: sqlite3.Connection, job_id: int) -> list[SteeringMessage]:
    """Every message of a job, oldest first."""
    return select(connection, SteeringMessage, "SELECT * FROM steering WHERE job_id = ? ORDER BY id", job_id)


def unread(connection: sqlite3.Connection, job_id: int) -> list[SteeringMessage]:
    """Those of a job that no session has read, oldest first."""
    return [message for message in of_job(connection, job_id) if not message.is_read]


def unread_in_open_jobs(connection: sqlite3.Connection) -> dict[int, int]:
    """How many messages no session has read, of each open job that has any."""
    query = """SELECT job_id, count(*) AS many FROM steering
               WHERE job_id IN (SELECT id FROM jobs WHERE is_open) AND NOT is_read GROUP BY job_id"""
    return {row["job_id"]: row["many"] for row in connection.execute(query)}


def for_brief(connection: sqlite3.Connection, job_id: int) -> tuple[Message, ...]:
    """What the job's next session is told: all that nobody has read, and the newest of what earlier ones have."""
    known = of_job(connection, job_id)
    newest = {message.id for message in known[-MOST_BRIEFED:]}
    return tuple(as_message(item) for item in known if not item.is_read or item.id in newest)


def as_message(message: SteeringMessage) -> Message:
    """A message as sessions are told it."""
    at = f"{message.at:%Y-%m-%d %H:%M} UTC"
    return Message(id=message.id, text=message.text, by=message.actor, at=at)


def mark_read(
    connection: sqlite3.Connection, session: Session, numbers: Collection[int], *, turn: int, at: datetime
) -> None:
    """A session has these of its job: since a turn it is about to take, or from its brief (turn 0). Each is read once."""
    for message in unread(connection, session.job_id):
        if message.id in numbers:
            changes = {"session_id": session.id, "is_read": True, "turn": turn}
            update(connection, "steering", message.id, changes)
            data: dict[str, Json] = {"message": message.id, "session": session.id, "turn": turn}
            _append_message_event(connection, EventName.MESSAGE_DELIVERED, message, at=at, data=data)


def note_briefed(connection: sqlite3.Connection, session: Session) -> None:
    """A session was prepared: what its brief tells is read."""
    lines = [int(message["id"]) for message in json.loads(session.brief).get("messages") or ()]
    mark_read(connection, session, lines, turn=0, at=session.prepared_at)


def defer(connection: sqlite3.Connection, session: Session, *, at: datetime) -> None:
    """A session has ended: what it was to read and has not goes into the next brief."""
    for message in unread(connection, session.job_id):
        if message.session_id == session.id:
            update(connection, "steering", message.id, {"session_id": None, "missed_by": session.id})
            data: dict[str, Json] = {"message": message.id, "session": session.id}
            _append_message_event(connection, EventName.MESSAGE_DEFERRED, message, at=at, data=data)


def to_acknowledge(connection: sqlite3.Connection) -> list[SteeringMessage]:
    """Those whose author waits at the forge to be told what became of them, and it is known."""
    query = """SELECT steering.* FROM steering JOIN jobs ON jobs.id = job_id
               WHERE steering.comment_id IS NOT NULL AND NOT steering.is_told AND (
                 steering.is_read OR steering.session_id IS NULL OR jobs.state IN ('completed', 'cancelled', 'failed'))
               ORDER BY steering.id"""
    return select(connection, SteeringMessage, query)


def mark_acknowledged(connection: sqlite3.Connection, number: int) -> None:
    """Whoever said it knows what became of it."""
    update(connection, "steering", number, {"is_told": True})


def _append_message_event(
    connection: sqlite3.Connection,
    name: EventName,
    message: SteeringMessage,
    *,
    at: datetime,
    data: dict[str, Json],
    actor: str = OVERLORD,
) -> None:
    ledger.append(connection, LedgerEvent(name=name, at=at, actor=actor, job_id=message.job_id, data=data))
