"""Decisions about notes that two repositories have: whether they count in all."""

import sqlite3

from overlord.domain.decision import Decision, Subject
from overlord.store.rows import select

_SUBJECT = str(Subject.NOTE_PROMOTION)


def answered(connection: sqlite3.Connection) -> list[Decision]:
    """Those that a person answered and nobody has carried out."""
    query = "SELECT * FROM decisions WHERE subject = ? AND about <> '' AND state = 'answered' AND NOT applied ORDER BY id"
    return select(connection, Decision, query, _SUBJECT)


def waiting(connection: sqlite3.Connection) -> list[Decision]:
    """Those that wait for a person."""
    query = "SELECT * FROM decisions WHERE subject = ? AND about <> '' AND state = 'open' ORDER BY id"
    return select(connection, Decision, query, _SUBJECT)


def was_asked(connection: sqlite3.Connection, bound_to: str) -> bool:
    """Whether a person was asked about just these two texts, or is."""
    query = """SELECT 1 FROM decisions WHERE subject = ? AND about <> '' AND bound_to = ?
               AND state IN ('open', 'answered') LIMIT 1"""
    return connection.execute(query, (_SUBJECT, bound_to)).fetchone() is not None


def mark(connection: sqlite3.Connection) -> str:
    """What changes whenever there is something to compare: notes that count, decisions that wait."""
    query = """SELECT count(*) AS many, coalesce(max(updated_at), '') AS at FROM notes WHERE state = 'active' AND space <> ''"""
    row = connection.execute(query).fetchone()
    return f"{row['many']} {row['at']} {len(waiting(connection))}"
