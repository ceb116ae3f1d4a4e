"""What the API answered to a request with a key, kept for a day: the same request sent again is answered with it, and does nothing."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was answered."""

    request: str
    """The digest of what was asked."""
    text: str


def find(connection: sqlite3.Connection, actor: str, key: str, *, at: datetime) -> Reply | None:
    """What was answered to somebody's request with this key; None for a key that is new, or was used longer ago than a day."""
    query = "SELECT request, reply FROM api_replies WHERE actor = ? AND key = ? AND at > ?"
    row = connection.execute(query, (actor, key, (at - KEPT).isoformat())).fetchone()
    return Reply(request=row["request"], text=row["reply"]) if row is not None else None


def keep(
    connection: sqlite3.Connection, actor: str, key: str, *, request: str, text: str, at: datetime
) -> None:
    """Remember what is answered, in the transaction that carried it out; what is older than a day is forgotten."""
    connection.execute("DELETE FROM api_replies WHERE at <= ?", ((at - KEPT).isoformat(),))
    statement = "INSERT INTO api_replies (actor, key, request, reply, at) VALUES (?, ?, ?, ?, ?)"
    connection.execute(statement, (actor, key, request, text, at.isoformat()))
