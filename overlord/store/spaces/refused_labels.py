"""Labels that started nothing, and why: each is told once, and not looked at again until its issue changes."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from overlord.store.rows import select, to_column


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A work label that counts for nothing."""

    space: str
    issue_number: int
    labelled_at: datetime
    seen_at: datetime
    """When the issue was last changed, as it was seen."""
    reason: str
    is_owed: bool = True
    """Whether it is still to be told at the issue."""


def of(connection: sqlite3.Connection, space: str, issue_number: int) -> Refusal | None:
    """The last one of an issue."""
    query = "SELECT * FROM refusals WHERE space = ? AND issue_number = ?"
    return next(iter(select(connection, Refusal, query, space, issue_number)), None)


def put(connection: sqlite3.Connection, refusal: Refusal) -> None:
    """Remember one, in place of an older one of its issue."""
    names = refusal.__dataclass_fields__
    statement = f"INSERT OR REPLACE INTO refusals ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608
    connection.execute(statement, [to_column(getattr(refusal, name)) for name in names])
