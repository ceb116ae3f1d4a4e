"""Home tabs: who opened theirs in the chat, and what it shows. It is shown anew when it is opened, and for a while after that
whenever something has happened."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from overlord.domain.event import EventName
from overlord.store.rows import select

FRESH = timedelta(hours=1)
"""How long after somebody opened it a tab follows what happens."""
KEPT = timedelta(days=30)
"""How long it is remembered that somebody opened it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHome:
    """A row."""

    user: str
    team: str
    opened_at: datetime
    is_due: bool
    """It was opened since it was last shown."""
    stamp: str = ""
    """How far the ledger was when it was last shown."""
    shown: str = ""
    """The fingerprint of what it shows."""


def opened(connection: sqlite3.Connection, *, user: str, team: str, at: datetime) -> None:
    """Somebody opened theirs."""
    connection.execute("DELETE FROM homes WHERE opened_at < ?", ((at - KEPT).isoformat(),))
    query = """INSERT INTO homes (user, team, opened_at, is_due, stamp, shown) VALUES (?, ?, ?, 1, '', '')
               ON CONFLICT (user) DO UPDATE SET team = excluded.team, opened_at = excluded.opened_at, is_due = 1"""
    connection.execute(query, (user, team, at.isoformat()))


def behind(connection: sqlite3.Connection, *, at: datetime) -> list[ChatHome]:
    """Tabs that are to be shown, or may show something old; who waits longest comes first."""
    query = """SELECT * FROM homes WHERE is_due OR (opened_at > ? AND stamp != ?) ORDER BY is_due DESC, opened_at"""
    return select(connection, ChatHome, query, (at - FRESH).isoformat(), now(connection))


def now(connection: sqlite3.Connection) -> str:
    """What a tab shows may change when this does; that a daemon starts changes nothing there."""
    query = "SELECT seq FROM ledger WHERE name != ? ORDER BY seq DESC LIMIT 1"
    found = connection.execute(query, (EventName.DAEMON_STARTED.value,)).fetchone()
    return str(found[0] if found else 0)


def note(connection: sqlite3.Connection, home: ChatHome, *, stamp: str, shown: str) -> None:
    """It shows this; where it was opened meanwhile, it is due all the same."""
    query = """UPDATE homes SET stamp = ?, shown = ?, is_due = (is_due AND opened_at != ?) WHERE user = ?"""
    connection.execute(query, (stamp, shown, home.opened_at.isoformat(), home.user))
