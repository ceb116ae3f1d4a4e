"""How the settings were last taken by the daemon that runs: what keeps newer ones from being taken, and what waits for a restart."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsNote:
    """A row; there is one at most."""

    trouble: str
    """Why the last good ones are kept, in a sentence; empty when those of now are gone by."""
    restart: tuple[str, ...]
    """The keys that say something else by now, and count only after a restart."""
    at: datetime

    @property
    def lines(self) -> tuple[str, ...]:
        """What people are told."""
        kept = (f"The settings do not load, and the last good ones are kept: {self.trouble}",)
        waits = (f"Changed in the settings, and counts after a restart: {', '.join(self.restart)}",)
        return (*(kept if self.trouble else ()), *(waits if self.restart else ()))


def get(connection: sqlite3.Connection) -> SettingsNote | None:
    return next(iter(select(connection, SettingsNote, "SELECT * FROM settings_notes")), None)


def put(connection: sqlite3.Connection, note: SettingsNote | None) -> None:
    """Remember this in place of what was remembered before."""
    connection.execute("DELETE FROM settings_notes")
    if note is not None:
        insert(
            connection, "settings_notes", {name: getattr(note, name) for name in note.__dataclass_fields__}
        )
