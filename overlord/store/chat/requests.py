"""Requests: what people said to Overlord in the chat. Each is written down before it is acknowledged, carried out once, answered once."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from overlord.store.rows import insert, select, update

KEPT = timedelta(days=7)
"""How long an answered one is remembered, so that it is known when it comes again."""


AT_HOME = "home"
"""Where a button of a Home tab is pressed; channels have other names."""


class RequestKind(StrEnum):
    COMMAND = "command"
    MENTION = "mention"
    REPLY = "reply"
    """Words in a thread of ours."""
    PRESS = "press"
    FORM = "form"
    """A form that was sent."""


class RequestState(StrEnum):
    HEARD = "heard"
    READING = "reading"
    """No command: a model is asked what it means."""
    AWAITED = "awaited"
    """Carried out, and the outcome is not known yet."""
    CARRIED_OUT = "obeyed"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A row."""

    id: int = 0
    key: str
    """What the chat tells it apart by: the same one for a redelivery."""
    kind: RequestKind
    user: str
    team: str
    channel: str
    at: datetime
    ts: str = ""
    """The message it stands at: the one whose button was pressed, or the person's own."""
    thread: str = ""
    text: str = ""
    value: str = ""
    """The button's."""
    address: str = ""
    """Where it can be answered for its giver's eyes."""
    state: RequestState = RequestState.HEARD
    said: str = ""
    """What it is answered with."""
    wish_id: int | None = None
    """What it asked of the forge, where that is still to be looked at."""
    understood: str | None = None
    """The command that a model read in it; empty for none, None where no model was asked."""
    message_id: int | None = None
    """What it said to a job, where it is not known yet whether that was read."""
    issue_request_id: int | None = None
    """The issue it asked for: that one is opened is said at once, and what became of it once that is known."""

    @property
    def actor(self) -> str:
        return f"slack:{self.user}"


def receive(connection: sqlite3.Connection, request: Request) -> bool:
    """Write one down, and let go of what was answered long ago; False for one that was received before."""
    _forget(connection, before=request.at - KEPT)
    if connection.execute("SELECT 1 FROM requests WHERE key = ?", (request.key,)).fetchone():
        return False
    columns = {name: getattr(request, name) for name in request.__dataclass_fields__ if name != "id"}
    insert(connection, "requests", columns)
    return True


def unanswered(connection: sqlite3.Connection) -> list[Request]:
    """Those that are still to be carried out or answered, oldest first."""
    return select(connection, Request, "SELECT * FROM requests WHERE state != 'answered' ORDER BY id")


def get(connection: sqlite3.Connection, number: int) -> Request:
    [found] = select(connection, Request, "SELECT * FROM requests WHERE id = ?", number)
    return found


def read_since(connection: sqlite3.Connection, user: str, since: datetime) -> int:
    """How many of somebody's a model was asked about, or is being asked."""
    query = """SELECT count(*) FROM requests
               WHERE user = ? AND (understood IS NOT NULL OR state = 'reading') AND at >= ?"""
    return int(connection.execute(query, (user, since.isoformat())).fetchone()[0])


def note(connection: sqlite3.Connection, request: Request, state: RequestState, **changes: object) -> None:
    update(connection, "requests", request.id, {"state": state, **changes})


def _forget(connection: sqlite3.Connection, *, before: datetime) -> None:
    query = "DELETE FROM requests WHERE state = 'answered' AND at < ?"
    connection.execute(query, (before.isoformat(),))
