"""Pauses: those that people made, one for each space and one for everything, and the disk's shortage. They outlive the daemon."""

import sqlite3

from overlord.domain.pause import EVERYTHING, Pause
from overlord.store.rows import insert, select
from overlord.store.spaces import shortages


def of(connection: sqlite3.Connection, space: str) -> Pause | None:
    """The pause of exactly this: a space, or EVERYTHING."""
    return next(iter(select(connection, Pause, "SELECT * FROM pauses WHERE space = ?", space)), None)


def over(connection: sqlite3.Connection, space: str) -> Pause | None:
    """What keeps a space from beginning anything: the disk, the pause of everything, else its own."""
    if (shortage := shortages.now(connection)) is not None:
        return shortage
    query = "SELECT * FROM pauses WHERE space IN (?, ?) ORDER BY space"
    return next(iter(select(connection, Pause, query, EVERYTHING, space)), None)


def every(connection: sqlite3.Connection) -> dict[str, Pause]:
    """All of them, by their space; that of everything first, which is the disk's while there is one."""
    found = {pause.space: pause for pause in select(connection, Pause, "SELECT * FROM pauses ORDER BY space")}
    shortage = shortages.now(connection)
    return found if shortage is None else {**found, EVERYTHING: shortage}


def shown(connection: sqlite3.Connection) -> tuple[Pause, ...]:
    """All of them, for people: also one of everything that somebody made beside the disk's."""
    shortage = shortages.now(connection)
    made = select(connection, Pause, "SELECT * FROM pauses ORDER BY space")
    return (*([shortage] if shortage else []), *made)


def add(connection: sqlite3.Connection, pause: Pause) -> None:
    """Begin one; there is none of its space."""
    insert(connection, "pauses", {name: getattr(pause, name) for name in pause.__dataclass_fields__})


def remove(connection: sqlite3.Connection, space: str) -> None:
    """End one."""
    connection.execute("DELETE FROM pauses WHERE space = ?", (space,))
