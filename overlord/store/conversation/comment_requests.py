"""Changes that people asked for in the conversation of a pull request: kept from when the comment is processed, so that a round can be
made of them whatever the job is at then."""

import sqlite3
from dataclasses import dataclass

from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentRequest:
    """One comment by a writer, as it stood when it was processed."""

    space: str
    comment_id: int
    number: int
    """The pull request's."""
    author: str
    body: str


def add(connection: sqlite3.Connection, asked: CommentRequest) -> None:
    """Remember it, in the transaction that remembers the comment as processed."""
    columns = {name: getattr(asked, name) for name in asked.__dataclass_fields__}
    insert(connection, "comment_requests", columns)


def at_pull(connection: sqlite3.Connection, space: str, number: int) -> list[CommentRequest]:
    """All that was asked for at a pull request, oldest first."""
    query = "SELECT * FROM comment_requests WHERE space = ? AND number = ? ORDER BY comment_id"
    return select(connection, CommentRequest, query, space, number)
