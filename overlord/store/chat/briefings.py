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
    """The last one that was due; with `sent`, that people were told."""
    query = "SELECT * FROM briefings WHERE is_told OR NOT ? ORDER BY id DESC LIMIT 1"
    return next(iter(select(connection, BriefingRow, query, sent)), None)


def last_before(connection: sqlite3.Connection, moment: datetime) -> BriefingRow | None:
    """The latest of those made until a moment, whatever the clock said since."""
    query = "SELECT * FROM briefings WHERE at <= ? ORDER BY at DESC, id DESC LIMIT 1"
    return next(iter(select(connection, BriefingRow, query, moment)), None)


def has_any(connection: sqlite3.Connection, since: datetime, until: datetime) -> bool:
    """Whether one was made in this time, `until` itself left out."""
    query = "SELECT * FROM briefings WHERE at >= ? AND at < ? LIMIT 1"
    return bool(select(connection, BriefingRow, query, since, until))


def add(
    connection: sqlite3.Connection, *, since: datetime, at: datetime, fingerprint: str, is_told: bool
) -> int:
    columns = {"since": since, "at": at, "fingerprint": fingerprint, "is_told": is_told}
    return insert(connection, "briefings", columns)
