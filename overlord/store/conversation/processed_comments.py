"""Comments that Overlord has processed: each counts once, and what is owed to whoever wrote it is kept until it is given."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from overlord.errors import NotFound
from overlord.store.rows import insert, select

MOST_REFUSALS = 5
"""So many times in 24 hours somebody who may not give commands is told so in a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedComment:
    """A comment that spoke to Overlord, and its acknowledgement: a reaction, and words where a reaction is too little."""

    space: str
    comment_id: int
    number: int
    """The issue or pull request it stands at."""
    author: str
    at: datetime
    reaction: str = ""
    """Nothing for somebody whose word does not count here."""
    reply: str = ""
    is_owed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    number: int
    at: datetime


def is_known(connection: sqlite3.Connection, space: str, comment_id: int) -> bool:
    """Whether a comment was processed before."""
    query = "SELECT 1 FROM hearings WHERE space = ? AND comment_id = ?"
    return connection.execute(query, (space, comment_id)).fetchone() is not None


def may_be_refused(connection: sqlite3.Connection, like: ProcessedComment) -> bool:
    """Whether its author is to be told why not: at an issue once, and a few times in a day, for nobody is to have Overlord write
    without end."""
    query = "SELECT number, at FROM hearings WHERE space = ? AND author = ? AND reply <> ''"
    told = select(connection, _Reply, query, like.space, like.author)
    lately = [item for item in told if item.at > like.at - timedelta(days=1)]
    return all(item.number != like.number for item in told) and len(lately) < MOST_REFUSALS


def place_of(connection: sqlite3.Connection, space: str, comment_id: int) -> int:
    """The issue or pull request that a processed comment was written at. Raises NotFound."""
    query = "SELECT number FROM hearings WHERE space = ? AND comment_id = ?"
    row = connection.execute(query, (space, comment_id)).fetchone()
    if row is None:
        raise NotFound(f"no comment {comment_id} of {space} was processed")
    return int(row["number"])


def add(connection: sqlite3.Connection, hearing: ProcessedComment) -> None:
    """Remember a comment, in the transaction of what it does."""
    insert(connection, "hearings", {name: getattr(hearing, name) for name in hearing.__dataclass_fields__})


def of_issue(connection: sqlite3.Connection, space: str, number: int) -> frozenset[int]:
    """The comments at an issue that spoke to Overlord."""
    query = "SELECT comment_id FROM hearings WHERE space = ? AND number = ?"
    return frozenset(row["comment_id"] for row in connection.execute(query, (space, number)))


def owed(connection: sqlite3.Connection, space: str) -> list[ProcessedComment]:
    """Those that were not acknowledged yet, oldest first."""
    query = "SELECT * FROM hearings WHERE space = ? AND is_owed ORDER BY comment_id"
    return select(connection, ProcessedComment, query, space)


def settle(connection: sqlite3.Connection, hearing: ProcessedComment) -> None:
    """It is acknowledged."""
    query = "UPDATE hearings SET is_owed = 0 WHERE space = ? AND comment_id = ?"
    connection.execute(query, (hearing.space, hearing.comment_id))
