"""The disk's shortage: while there is one, nothing new is begun. It outlives the daemon, as people's pauses do."""

import sqlite3
from datetime import datetime

from overlord.domain.pause import EVERYTHING, Pause

ACTOR = "overlord"


def now(connection: sqlite3.Connection) -> Pause | None:
    """The shortage there is, as the pause that it is."""
    row = connection.execute("SELECT at, reason FROM shortages").fetchone()
    if row is None:
        return None
    return Pause(space=EVERYTHING, actor=ACTOR, at=datetime.fromisoformat(row["at"]), reason=row["reason"])


def begin(connection: sqlite3.Connection, *, at: datetime, reason: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO shortages (id, at, reason) VALUES (1, ?, ?)", (at.isoformat(), reason)
    )


def end(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM shortages")
