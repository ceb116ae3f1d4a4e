"""Work requests: issues that a person wants worked on, label or not. Only the forge can show an issue, so the tick answers them."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.errors import NotFound
from overlord.store.rows import insert, select, update


class WorkRequestState(StrEnum):
    OPEN = "open"
    GRANTED = "granted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRequest:
    """A row: which issue, who asked, and what was said once it was looked at."""

    id: int
    space: str
    number: int
    """Of the issue."""
    actor: str
    at: datetime
    state: WorkRequestState = WorkRequestState.OPEN
    answer: str = ""
    """A sentence for whoever asked."""
    job_id: int | None = None
    """The job that works on it, where it was granted."""
    answered_at: datetime | None = None


def add(connection: sqlite3.Connection, *, space: str, number: int, actor: str, at: datetime) -> WorkRequest:
    """Write one down. The same person's for the same issue that still waits is that one."""
    query = "SELECT * FROM wishes WHERE state = 'open' AND space = ? AND number = ? AND actor = ?"
    if known := select(connection, WorkRequest, query, space, number, actor):
        return known[0]
    columns = {"space": space, "number": number, "actor": actor, "at": at, "state": WorkRequestState.OPEN}
    return get(connection, insert(connection, "wishes", columns))


def get(connection: sqlite3.Connection, wish_id: int) -> WorkRequest:
    """Raises NotFound."""
    found = select(connection, WorkRequest, "SELECT * FROM wishes WHERE id = ?", wish_id)
    if not found:
        raise NotFound(f"nobody asked for anything under {wish_id}")
    return found[0]


def waiting(connection: sqlite3.Connection) -> list[WorkRequest]:
    """Those that nobody has looked at yet, oldest first."""
    return select(connection, WorkRequest, "SELECT * FROM wishes WHERE state = 'open' ORDER BY id")


def of_space(connection: sqlite3.Connection, space: str) -> list[WorkRequest]:
    """As `waiting`, of one space."""
    query = "SELECT * FROM wishes WHERE state = 'open' AND space = ? ORDER BY id"
    return select(connection, WorkRequest, query, space)


def withdraw(connection: sqlite3.Connection, space: str, number: int, *, why: str, at: datetime) -> None:
    """What was asked of an issue and nobody has looked at is wanted no more."""
    for asked in of_space(connection, space):
        if asked.number == number:
            answer(connection, asked.id, WorkRequestState.REFUSED, why, at=at)


def answer(
    connection: sqlite3.Connection,
    wish_id: int,
    state: WorkRequestState,
    text: str,
    *,
    at: datetime,
    job_id: int | None = None,
) -> None:
    """Say what became of one, in the transaction of what was done for it."""
    changes = {"state": state, "answer": text, "answered_at": at, "job_id": job_id}
    update(connection, "wishes", wish_id, changes)
