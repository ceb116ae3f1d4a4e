"""The portfolio's files as they were last read or written, so that a look tells what changed."""

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from overlord.store.rows import select, to_column


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """A row."""

    path: str
    """From the top of OVERLORD_HOME."""
    digest: str
    """Of what it held; empty where it was not there."""
    mark: str = ""
    """What changes whenever somebody writes to it; of an export, what it was made of."""
    text: str = ""
    """What it said to us, without secrets."""
    trouble: str = ""
    """What in it cannot be read, in words for people."""
    read_at: datetime


def get(connection: sqlite3.Connection, path: str) -> KnownFile | None:
    """A file that was read or written before."""
    return next(
        iter(select(connection, KnownFile, "SELECT * FROM portfolio_files WHERE path = ?", path)), None
    )


def marks(connection: sqlite3.Connection) -> dict[str, str]:
    """The mark of each, by its path."""
    return {row["path"]: row["mark"] for row in connection.execute("SELECT path, mark FROM portfolio_files")}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """Of a file, what tells whether it changed."""

    digest: str
    mark: str
    trouble: str


def states(connection: sqlite3.Connection) -> dict[str, FileState]:
    """Of each file, by its path: without the texts, which may be long."""
    query = "SELECT path, digest, mark, trouble FROM portfolio_files"
    return {
        row["path"]: FileState(digest=row["digest"], mark=row["mark"], trouble=row["trouble"])
        for row in connection.execute(query)
    }


def troubled(connection: sqlite3.Connection) -> list[KnownFile]:
    """Those that people have to look at."""
    return select(connection, KnownFile, "SELECT * FROM portfolio_files WHERE trouble <> '' ORDER BY path")


def put(connection: sqlite3.Connection, file: KnownFile) -> None:
    """Note a file as it is now."""
    names = tuple(file.__dataclass_fields__)
    marks = ", ".join("?" * len(names))
    query = f"INSERT OR REPLACE INTO portfolio_files ({', '.join(names)}) VALUES ({marks})"  # noqa: S608 - constants
    connection.execute(query, tuple(to_column(getattr(file, name)) for name in names))


def forget(connection: sqlite3.Connection, paths: Collection[str]) -> None:
    """These are gone."""
    connection.executemany("DELETE FROM portfolio_files WHERE path = ?", [(path,) for path in paths])


def signatures(connection: sqlite3.Connection) -> dict[int, str]:
    """Of each initiative, what changes with it, its tasks and what they wait for."""
    hashes = {
        row["id"]: sha256(f"{row['state']} {row['updated_at']} {row['last_task']} {row['waits']}".encode())
        for row in connection.execute("SELECT id, state, updated_at, last_task, waits FROM initiatives")
    }
    tasks = "SELECT id, initiative_id, state, updated_at, waits FROM tasks ORDER BY id"
    owner = dict[int, int]()
    for row in connection.execute(tasks):
        owner[row["id"]] = row["initiative_id"]
        hashes[row["initiative_id"]].update(
            f"|{row['id']} {row['state']} {row['updated_at']} {row['waits']}".encode()
        )
    for row in connection.execute(
        "SELECT blocker_id, blocked_id FROM task_links ORDER BY blocker_id, blocked_id"
    ):
        for end in {owner[row["blocker_id"]], owner[row["blocked_id"]]}:
            hashes[end].update(f"|{row['blocker_id']}>{row['blocked_id']}".encode())
    return {number: found.hexdigest()[:16] for number, found in hashes.items()}
