"""How things stand and what they came to, in a few numbers: what a scrape reads. Its cost does not grow with what is over."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

Key = tuple[str, ...]
_ASKED = "FROM decisions WHERE state = 'open' AND proposal_id IS NULL AND draft_id IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """One consistent look. Keys are in the order the names say."""

    jobs: Mapping[Key, int]
    """Open ones, by space and state."""
    oldest: Mapping[str, datetime]
    """By state: since when the one stands there that has stood there longest."""
    sessions: Mapping[Key, int]
    """Those that have not ended, by kind."""
    decisions: Mapping[Key, int]
    """Open ones about work, by kind: a proposal may rest for weeks."""
    decision_since: datetime | None
    """When the oldest of them was asked."""
    paused: frozenset[str]
    """Spaces that begin nothing; an empty name is all of them."""
    totals: Mapping[str, Mapping[Key, int]]
    """By the sum's name."""
    bytes: int
    """Of the database."""


def take(connection: sqlite3.Connection) -> Census:
    """Raises what SQLite raises."""
    since = connection.execute(f"SELECT min(created_at) {_ASKED}").fetchone()[0]
    return Census(
        jobs=_counts(connection, "SELECT space, state, count(*) FROM jobs WHERE is_open GROUP BY 1, 2"),
        oldest={
            state: datetime.fromisoformat(at)
            for state, at in connection.execute("SELECT state, min(since) FROM standing GROUP BY state")
        },
        sessions=_counts(connection, "SELECT kind, count(*) FROM sessions WHERE state != 'ended' GROUP BY 1"),
        decisions=_counts(connection, f"SELECT kind, count(*) {_ASKED} GROUP BY 1"),
        decision_since=datetime.fromisoformat(since) if since else None,
        paused=frozenset(
            row[0]
            for row in connection.execute(
                "SELECT space FROM pauses UNION SELECT name FROM spaces WHERE paused"
            )
        ),
        totals=_totals(connection),
        bytes=_pragma(connection, "page_count") * _pragma(connection, "page_size"),
    )


def _counts(connection: sqlite3.Connection, query: str) -> dict[Key, int]:
    return {tuple(row)[:-1]: row[-1] for row in connection.execute(query)}


def _totals(connection: sqlite3.Connection) -> dict[str, dict[Key, int]]:
    found: dict[str, dict[Key, int]] = {}
    for name, first, second, third, value in connection.execute("SELECT * FROM totals"):
        found.setdefault(name, {})[first, second, third] = value
    return found


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
