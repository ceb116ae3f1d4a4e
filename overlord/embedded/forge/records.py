"""Where the embedded forge keeps its records: in memory to read, in one SQLite file to survive a restart.

Every `put` is on disk when it returns, so a killed process loses nothing it had answered for.
"""

import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from overlord.embedded.forge.record import KINDS, Record

R = TypeVar("R", bound=Record)


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    return {kind.__name__: TypeAdapter(kind) for kind in KINDS}


class RecordStore:
    """Records by kind and key, in the order they were first put."""

    def __init__(self, path: Path) -> None:
        self._adapters = _adapters()
        self._records: dict[str, dict[str, Record]] = {name: {} for name in self._adapters}
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS record ("
            "position INTEGER PRIMARY KEY, kind TEXT, key TEXT, body TEXT, UNIQUE (kind, key))"
        )
        for kind, key, body in self._database.execute("SELECT kind, key, body FROM record ORDER BY position"):
            self._records[kind][key] = self._adapters[kind].validate_json(body)
        ids = (record.id for records in self._records.values() for record in records.values())
        self._last_id = max(ids, default=1000)

    def put(self, record: R) -> R:
        """Keep a record, in place of an older one with its key."""
        kind = type(record).__name__
        body = self._adapters[kind].dump_json(record).decode()
        self._database.execute(
            "INSERT INTO record (kind, key, body) VALUES (?, ?, ?) "
            "ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
            (kind, record.key, body),
        )
        self._records[kind][record.key] = record
        return record

    def remove(self, record: Record) -> None:
        kind = type(record).__name__
        self._database.execute("DELETE FROM record WHERE kind = ? AND key = ?", (kind, record.key))
        del self._records[kind][record.key]

    def get(self, kind: type[R], key: str) -> R | None:
        found = self._records[kind.__name__].get(key.casefold())
        return found if isinstance(found, kind) else None

    def all(self, kind: type[R]) -> Iterator[R]:
        """Every record of exactly this kind, oldest first."""
        return (record for record in list(self._records[kind.__name__].values()) if isinstance(record, kind))

    def next_id(self) -> int:
        """A number no record has yet; one sequence for all kinds."""
        self._last_id += 1
        return self._last_id

    def close(self) -> None:
        self._database.close()
