"""Briefings: when one was due, and what it said. One that had nothing new to say is a row too: its time is over."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingRow:
    """A row."""

    id: int
    since: datetime
    at: datetime
    fingerprint: str
    is_told: bool


def get(connection: sqlite3.Connection, briefing_id: int) -> BriefingRow:
    [found] = select(connection, BriefingRow, "SELECT * FROM briefings WHERE id = ?", briefing_id)
    return found


def last(connection: sqlite3.Connection, *, sent: bool = False) -> BriefingRow | None:
    """The last one that was due; with `told`, that people were told."""
    query = "SELECT * FROM briefings WHERE is_told OR NOT ? ORDER BY id DESC LIMIT 1"
    return next(iter(select(connection, BriefingRow, query, sent)), None)


def add(
    connection: sqlite3.Connection, *, since: datetime, at: datetime, fingerprint: str, is_told: bool
) -> int:
    columns = {"since": since, "at": at, "fingerprint": fingerprint, "is_told": is_told}
    return insert(connection, "briefings", columns)
