"""Spaces: the flags of a repository managed by Overlord. Its settings live in the configuration."""

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
    heard_at: datetime | None = None
    """Comments that were changed before that have been processed."""
    seen_at: datetime | None = None
    """What was changed before that among the issues has been seen."""
    begun_at: datetime | None = None
    """When it was last given a session."""
    forge_id: int | None = None
    """What the repository keeps at the forge when it is renamed; None while it was never looked at."""


def get(connection: sqlite3.Connection, name: str) -> Space:
    """A space's flags; the defaults when nothing was ever noted about it."""
    row = connection.execute("SELECT * FROM spaces WHERE name = ?", (name,)).fetchone()
    return Space(name=name) if row is None else _space(row)


def noted(connection: sqlite3.Connection) -> dict[str, Space]:
    """The flags of every space of which something was ever noted."""
    return {row["name"]: _space(row) for row in connection.execute("SELECT * FROM spaces")}


def _space(row: sqlite3.Row) -> Space:
    return Space(
        name=row["name"],
        paused=bool(row["paused"]),
        trouble=row["trouble"],
        forge_id=row["forge_id"],
        **{name: datetime.fromisoformat(row[name]) for name in _TIMES if row[name]},
    )


_TIMES = ("polled_at", "heard_at", "seen_at", "begun_at")


def note_poll(connection: sqlite3.Connection, name: str, *, at: datetime, trouble: str = "") -> None:
    """Remember when a space was last asked for issues, and what was wrong if it could not be."""
    connection.execute(
        """INSERT INTO spaces (name, polled_at, trouble) VALUES (?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET polled_at = excluded.polled_at, trouble = excluded.trouble""",
        (name, at.isoformat(), trouble),
    )


def pause(connection: sqlite3.Connection, name: str, *, paused: bool) -> None:
    """Let a space rest: it is not asked for anything and nothing of it begins; or let it go on."""
    connection.execute(
        """INSERT INTO spaces (name, paused) VALUES (?, ?)
           ON CONFLICT (name) DO UPDATE SET paused = excluded.paused""",
        (name, paused),
    )


def note_heard(connection: sqlite3.Connection, name: str, *, at: datetime) -> None:
    """Comments that were changed before this have been processed."""
    _set_time(connection, name, "heard_at", at)


def note_seen(connection: sqlite3.Connection, name: str, *, at: datetime) -> None:
    """Issues that were changed before this have been looked at."""
    _set_time(connection, name, "seen_at", at)


def note_begun(connection: sqlite3.Connection, name: str, *, at: datetime) -> None:
    """It was given a session: others have their turn before it has the next."""
    _set_time(connection, name, "begun_at", at)


def note_identity(connection: sqlite3.Connection, name: str, forge_id: int | None) -> None:
    """Which repository it is at the forge; None: that is to be looked at anew."""
    connection.execute(
        """INSERT INTO spaces (name, forge_id) VALUES (?, ?)
           ON CONFLICT (name) DO UPDATE SET forge_id = excluded.forge_id""",
        (name, forge_id),
    )


def _set_time(connection: sqlite3.Connection, name: str, column: str, at: datetime) -> None:
    statement = f"""INSERT INTO spaces (name, {column}) VALUES (?, ?)
                    ON CONFLICT (name) DO UPDATE SET {column} = excluded.{column}"""  # noqa: S608
    connection.execute(statement, (name, at.isoformat()))
