"""The day's briefings as they were written down, one for each day."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.event import EventName, LedgerEvent
from overlord.store import ledger
from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyNote:
    """A row."""

    day: str
    """As `2026-11-26`, by the briefing's own time zone."""
    written_at: datetime
    text: str
    """What Overlord wrote, in Markdown; what people added is in the file alone."""


def of_day(connection: sqlite3.Connection, day: str) -> DailyNote | None:
    """That of a day."""
    return next(iter(select(connection, DailyNote, "SELECT * FROM daily_notes WHERE day = ?", day)), None)


def last(connection: sqlite3.Connection) -> DailyNote | None:
    """That of the newest day."""
    query = "SELECT * FROM daily_notes ORDER BY day DESC LIMIT 1"
    return next(iter(select(connection, DailyNote, query)), None)


def add(connection: sqlite3.Connection, day: str, text: str, *, at: datetime) -> None:
    """Keep one, with its fact. A day that has one keeps it."""
    if of_day(connection, day) is not None:
        return
    insert(connection, "daily_notes", {"day": day, "written_at": at, "text": text})
    ledger.append(connection, LedgerEvent(name=EventName.DAY_BRIEFED, at=at, data={"day": day}))


def has_anything(connection: sqlite3.Connection) -> bool:
    """Whether there is a portfolio to tell of: an initiative, something a session asked, or something that was learned."""
    query = """SELECT EXISTS (SELECT 1 FROM initiatives) OR EXISTS (SELECT 1 FROM escalations)
               OR EXISTS (SELECT 1 FROM notes)"""
    return bool(connection.execute(query).fetchone()[0])
