"""The database: one writer, whole transactions, run in the database's own thread.

A transaction is one synchronous function. With awaits inside, a cancelled coroutine's half transaction could be
committed by another; a function that runs to its end in one thread cannot be cut in two.
"""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self, TypeVar

import aiosqlite

from overlord.errors import StoreError
from overlord.store.migrations import LATEST, migrate, schema_version

Result = TypeVar("Result")
BUSY_TIMEOUT_S = 10.0


class Database:
    """The daemon's hold on the database. `write` and `read` take functions of a plain sqlite3 connection."""

    def __init__(self, connection: aiosqlite.Connection, lock: int | None) -> None:
        self._connection = connection
        self._lock = lock

    @classmethod
    async def open(cls, path: Path, *, exclusive: bool) -> Self:
        """Open, lock for one daemon when `exclusive`, and bring the schema up to date.

        Raises StoreError when another daemon holds it, the schema is newer than this program, or it is no database.
        """
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = _take_lock(path) if exclusive else None
        connection = aiosqlite.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_S)
        try:
            # aiosqlite's thread of a connection that was never made outlives the loop it reports to.
            _connect(str(path)).close()
            opened = await connection
            await _in_thread(opened, _prepare)
        except (sqlite3.DatabaseError, StoreError) as error:
            await connection.close()
            _release(lock)
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"{path} cannot be used: {error}") from error
        return cls(opened, lock)

    async def write(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `act` in one transaction; whatever it raises rolls everything back and is raised here."""
        return await _in_thread(self._connection, lambda connection: _transact(connection, act))

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `act` on one consistent view of the data."""
        return await _in_thread(self._connection, lambda connection: _view(connection, act))

    async def close(self) -> None:
        await self._connection.close()
        _release(self._lock)


def open_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection for commands that run beside a daemon.

    Raises StoreError when there is no database yet or its schema is another program's.
    """
    if not path.exists():
        raise StoreError(
            f"there is no Overlord state at {path.parent}; set OVERLORD_HOME, or start `overlord serve`"
        )
    with _told(path):
        connection = _connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        version = _version(connection)
    if version != LATEST:
        connection.close()
        raise StoreError(
            f"{path} has schema {version} and this Overlord reads {LATEST}; run the daemon's own version"
        )
    return connection


def write_beside(path: Path, act: Callable[[sqlite3.Connection], Result]) -> Result:
    """One transaction from a command that runs beside a daemon. Raises StoreError as `open_reader` does."""
    open_reader(path).close()
    with _told(path), closing(_connect(str(path))) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        return _transact(connection, act)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What SQLite says of a file it cannot open, read or lock, as a sentence that names the file."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} cannot be used: {error}") from error


def _version(connection: sqlite3.Connection) -> int:
    try:
        return schema_version(connection)
    except sqlite3.DatabaseError:
        connection.close()
        raise


def _connect(target: str, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(target, uri=uri, isolation_level=None, timeout=BUSY_TIMEOUT_S)
    connection.row_factory = sqlite3.Row
    return connection


async def _in_thread(opened: aiosqlite.Connection, act: Callable[[sqlite3.Connection], Result]) -> Result:
    # The one use of aiosqlite's private interface: it has no public way to run a function in its thread.
    result: Result = await opened._execute(act, opened._conn)  # type: ignore[no-untyped-call]
    return result


def _prepare(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    migrate(connection)


def _transact(connection: sqlite3.Connection, act: Callable[[sqlite3.Connection], Result]) -> Result:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = act(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk, among others, has rolled back already
            connection.execute("ROLLBACK")
        raise
    return result


def _view(connection: sqlite3.Connection, act: Callable[[sqlite3.Connection], Result]) -> Result:
    connection.execute("BEGIN")
    try:
        return act(connection)
    finally:
        connection.execute("ROLLBACK")


def _take_lock(path: Path) -> int:
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise StoreError(
            f"another Overlord daemon is using {path.parent}; stop it, or set OVERLORD_HOME to another folder"
        ) from None
    return lock


def _release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
