"""Spaces: the flags of a repository in Overlord's care. Its settings live in the configuration."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A repository's flags. `trouble` says why it cannot be reached now, in a person's words."""

    name: str
    paused: bool = False
    trouble: str = ""
    polled_at: datetime | None = None


def get(connection: sqlite3.Connection, name: str) -> Space:
    """A space's flags; the defaults when nothing was ever noted about it."""
    row = connection.execute("SELECT * FROM spaces WHERE name = ?", (name,)).fetchone()
    if row is None:
        return Space(name=name)
    return Space(
        name=name,
        paused=bool(row["paused"]),
        trouble=row["trouble"],
        polled_at=datetime.fromisoformat(row["polled_at"]) if row["polled_at"] else None,
    )


def note_poll(connection: sqlite3.Connection, name: str, *, at: datetime, trouble: str = "") -> None:
    """Remember when a space was last asked for issues, and what was wrong if it could not be."""
    connection.execute(
        """INSERT INTO spaces (name, polled_at, trouble) VALUES (?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET polled_at = excluded.polled_at, trouble = excluded.trouble""",
        (name, at.isoformat(), trouble),
    )
