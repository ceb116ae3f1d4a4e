"""Repositories that people put into Overlord's care by command, and took out again. Each word is a row; the last one counts."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What somebody said of a repository."""

    id: int
    name: str
    is_removed: bool
    given: str
    """Its section of the settings, as JSON."""
    actor: str
    at: datetime


def note(
    connection: sqlite3.Connection,
    name: str,
    *,
    given: Mapping[str, Any] | None,
    actor: str,
    at: datetime,
) -> None:
    """Put a repository into Overlord's care with a section of settings of its own, or with None take it out."""
    row = {
        "name": name,
        "is_removed": given is None,
        "given": json.dumps(given or {}),
        "actor": actor,
        "at": at,
    }
    insert(connection, "care", row)


def current(connection: sqlite3.Connection) -> dict[str, Word]:
    """What counts now of every repository that was ever said anything of."""
    query = "SELECT * FROM care WHERE id IN (SELECT max(id) FROM care GROUP BY lower(name)) ORDER BY id"
    return {word.name: word for word in select(connection, Word, query)}


def added(connection: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """The repositories managed by Overlord by command, and what was said of each."""
    words = current(connection)
    return {name: json.loads(word.given) for name, word in words.items() if not word.is_removed}


def last(connection: sqlite3.Connection) -> int:
    """The number of the last word; 0 when there never was any."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM care").fetchone()[0])
