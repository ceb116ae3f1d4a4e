"""Environments: what a repository's sessions run in, one row for each key, made by one setup session and shared."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.store.rows import insert, select, update


class EnvironmentState(StrEnum):
    MAKING = "making"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A row. `id` is the key: the hash of all that went into it."""

    id: str
    space: str
    state: EnvironmentState
    image: str
    packages: tuple[str, ...]
    session_id: str
    """The setup session that makes it, or made it."""
    at: datetime
    used_at: datetime
    size: int = 0
    trouble: str = ""
    """Why it could not be made: for people."""


def get(connection: sqlite3.Connection, key: str) -> Environment | None:
    return next(iter(select(connection, Environment, "SELECT * FROM environments WHERE id = ?", key)), None)


def put(connection: sqlite3.Connection, environment: Environment) -> None:
    """Write a row anew, whatever it was before."""
    connection.execute("DELETE FROM environments WHERE id = ?", (environment.id,))
    values = {name: getattr(environment, name) for name in environment.__dataclass_fields__}
    insert(connection, "environments", values)


def mark(connection: sqlite3.Connection, key: str, **changes: object) -> None:
    update(connection, "environments", key, changes)


def remove(connection: sqlite3.Connection, key: str) -> None:
    connection.execute("DELETE FROM environments WHERE id = ?", (key,))


def forget_failed(connection: sqlite3.Connection, space: str) -> None:
    """A person wants it tried again."""
    query = "DELETE FROM environments WHERE space = ? AND state = ?"
    connection.execute(query, (space, EnvironmentState.FAILED))


def everything(connection: sqlite3.Connection) -> list[Environment]:
    """The one used last first."""
    return select(connection, Environment, "SELECT * FROM environments ORDER BY used_at DESC, id")


def unused(connection: sqlite3.Connection) -> list[Environment]:
    """Those that no session makes or has now, the one used last first; also what was never finished."""
    query = """SELECT * FROM environments WHERE id NOT IN
               (SELECT layer FROM sessions WHERE state != 'ended') ORDER BY used_at DESC, id"""
    return select(connection, Environment, query)
