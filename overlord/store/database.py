"""The database: one writer, whole transactions, run in the database's own thread.

A transaction is one synchronous function. With awaits inside, a cancelled coroutine's half transaction could be
committed by another; a function that runs to its end in one thread cannot be cut in two. A lock on a file can be lost
without a word; so each of a daemon's transactions looks whether it still is the last that was started.
"""

import asyncio
import contextlib
import fcntl
import os
import secrets
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import aiosqlite

from overlord.command_ref import CommandRef, hint
from overlord.errors import Fenced, StateReplaced, StoreError
from overlord.store.commit import Commits, Fence, Transaction, commit
from overlord.store.schema.migrations import LATEST, migrate, schema_version

Result = TypeVar("Result")
BUSY_TIMEOUT_S = 10.0
LOG_BYTES = 8 << 20
"""What the log of writes keeps of the disk; while somebody reads for long it takes as much as is written."""
LOCK_TRIES, LOCK_PAUSE_S = 20, 0.05
"""How long another daemon's lock is waited for: the daemon before may be just ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """A database that was an older program's, and the copy of it that was kept."""

    version: int
    copy: Path


def close_to_others(home: Path, *, uid: int) -> None:
    """Take every right of other users away from a home that was there before. Raises StoreError when it is not this user's, whom its
    owner could open it to again; root may work for whoever gave it the directory."""
    found = home.stat()
    if uid not in (found.st_uid, 0):
        raise StoreError(
            f"{home} belongs to uid {found.st_uid} and Overlord runs as uid {uid}. Give it to this user (`chown -R {uid} {home}`),"
            " or set OVERLORD_HOME to a directory of its own"
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        home.chmod(0o700)


class Database:
    """The daemon's hold on the database. `write` and `read` take functions of a plain sqlite3 connection."""

    def __init__(self, connection: aiosqlite.Connection, path: Path, lock: int | None) -> None:
        self._connection = connection
        self._path = path
        self._file = _identity(path)
        self.upgrade: Upgrade | None = None
        """What opening it has made of an older program's database."""
        self._lock = lock
        self._fence: Fence = _open_to_all
        self._commits = Commits(partial(_in_thread, connection))

    @classmethod
    async def open(cls, path: Path, *, exclusive: bool) -> Self:
        """Open, lock for one daemon when `exclusive`, and bring the schema up to date.

        Raises StoreError when another daemon holds it, the schema is newer than this program, or it is no database.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            close_to_others(path.parent, uid=os.geteuid())
        except OSError as error:
            raise StoreError(f"{path.parent} cannot be used: {error.strerror}") from error
        lock = await _take_lock(path) if exclusive else None
        connection = aiosqlite.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_S)
        try:
            # aiosqlite's thread of a connection that was never made outlives the loop it reports to.
            _connect(str(path)).close()
            upgrade = _kept_before_upgrade(path) if exclusive else None
            opened = await connection
            await _in_thread(opened, _prepare)
        except (sqlite3.DatabaseError, StoreError) as error:
            await connection.close()
            _release(lock)
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"{path} cannot be used: {error}") from error
        database = cls(opened, path, lock)
        database.upgrade = upgrade
        return database

    async def take_over(self, point: str, act: Callable[[sqlite3.Connection, int], None]) -> None:
        """Become the daemon of this database: from now on whoever was it before meets Fenced, and this one does once
        another took over. `act` is given the epoch, and is part of the same transaction."""
        token = secrets.token_hex(8)

        def take(connection: sqlite3.Connection) -> None:
            row = """INSERT INTO daemon (id, epoch, token) VALUES (1, 1, ?)
                     ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1, token = excluded.token"""
            connection.execute(row, (token,))
            act(connection, epoch(connection))

        with _sqlite_errors(self._path):
            await self.write(point, take)
        self._fence = partial(_check_held, path=self._path, file=self._file, token=token)

    async def check_held(self) -> None:
        """Raises Fenced once this daemon is not the last one that was started."""
        await self.read(_nothing)

    async def write(self, point: str, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `act` in one transaction; whatever it raises rolls everything back and is raised here.

        `point` names the commit, in the daemon one of `points.Point`.
        """
        return await self._commits.add(Transaction(point, act, self._fence))

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `act` on one consistent view of the data."""
        fence = self._fence
        return await _in_thread(self._connection, lambda connection: _view(connection, act, fence))

    async def close(self) -> None:
        await self._commits.close()
        await self._connection.close()
        _release(self._lock)


def epoch(connection: sqlite3.Connection) -> int:
    """How many daemons were started on this database."""
    row = connection.execute("SELECT epoch FROM daemon").fetchone()
    return int(row["epoch"]) if row else 0


def open_reader(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """A read-only connection for commands that run beside a daemon.

    Raises StoreError when there is no database yet or its schema is another program's.
    """
    if not path.exists():
        raise StoreError(
            f"there is no Overlord state at {path.parent}",
            hint=hint("set OVERLORD_HOME, or start ", CommandRef("serve")),
        )
    with _sqlite_errors(path):
        connection = _connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=check_same_thread
        )
        version = _version(connection)
    if version != LATEST:
        connection.close()
        raise StoreError(
            f"{path} has schema {version} and this Overlord reads {LATEST}; run the daemon's own version"
        )
    return connection


def copied(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment, also while somebody writes to it; the copy is one whole file, and lasts.

    Raises StoreError when either cannot be used.
    """
    address = f"{source.absolute().as_uri()}?mode=ro"
    with (
        _sqlite_errors(source),
        closing(_connect(address, uri=True)) as old,
        closing(_connect(str(target))) as new,
    ):
        old.backup(new)
        new.execute("PRAGMA journal_mode=DELETE")
        if (found := new.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise StoreError(f"{source} is damaged: {found}")
    handle = os.open(target, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_held(path: Path) -> bool:
    """Whether a daemon works with a database now."""
    try:
        lock = os.open(path.with_suffix(".lock"), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


@contextmanager
def exclusively(path: Path) -> Iterator[None]:
    """Be the one daemon of a database for a moment. Raises StoreError while there is another."""
    lock = asyncio.run(_take_lock(path))
    try:
        yield
    finally:
        _release(lock)


def write_from_command(path: Path, point: str, act: Callable[[sqlite3.Connection], Result]) -> Result:
    """One transaction from a command that runs beside a daemon. Raises StoreError as `open_reader` does."""
    open_reader(path).close()
    with _sqlite_errors(path), closing(_connect(str(path))) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        transaction = Transaction(point, act, _open_to_all)
        commit(connection, [transaction])
        return transaction.outcome()


@contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
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


def _connect(target: str, *, uri: bool = False, check_same_thread: bool = True) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target,
        uri=uri,
        isolation_level=None,
        timeout=BUSY_TIMEOUT_S,
        check_same_thread=check_same_thread,
    )
    connection.row_factory = sqlite3.Row
    return connection


async def _in_thread(opened: aiosqlite.Connection, act: Callable[[sqlite3.Connection], Result]) -> Result:
    # The one use of aiosqlite's private interface: it has no public way to run a function in its thread.
    result: Result = await opened._execute(act, opened._conn)  # type: ignore[no-untyped-call]
    return result


def _prepare(connection: sqlite3.Connection) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    migrate(connection)


def _view(
    connection: sqlite3.Connection, act: Callable[[sqlite3.Connection], Result], fence: Fence
) -> Result:
    connection.execute("BEGIN")
    try:
        fence(connection)
        return act(connection)
    finally:
        connection.execute("ROLLBACK")


def _schema_at(path: Path) -> int:
    with closing(_connect(str(path))) as connection:
        return schema_version(connection)


def _kept_before_upgrade(path: Path) -> Upgrade | None:
    """Copy a database that an older program wrote, before anything of it is changed. Raises StoreError when it cannot be."""
    version = _schema_at(path)
    if not 0 < version < LATEST:
        return None
    copy = path.with_name(f"{path.name}.before-{LATEST}")
    if copy.exists() and 0 < _schema_at(copy) < version:
        return Upgrade(version=version, copy=copy)  # an upgrade that was cut off between two steps
    making = copy.with_name(f"{copy.name}.part")
    try:
        making.unlink(missing_ok=True)
        copied(path, making)
        making.replace(copy)
    except (OSError, StoreError) as error:
        raise StoreError(
            f"{path} is to be upgraded from schema {version} to {LATEST}, and no copy of it can be kept first: {error}"
        ) from error
    return Upgrade(version=version, copy=copy)


def _open_to_all(_connection: sqlite3.Connection) -> None:
    """A database that nobody has taken over yet, or a command beside the daemon."""


def _nothing(_connection: sqlite3.Connection) -> None:
    """A look at nothing but the fence."""


def _check_held(connection: sqlite3.Connection, *, path: Path, file: tuple[int, int], token: str) -> None:
    if _identity(path) != file:
        raise StateReplaced(
            f"{path} was replaced or removed while this daemon ran; start it again to go on with what is there"
        )
    row = connection.execute("SELECT token FROM daemon").fetchone()
    if row is None or row["token"] != token:
        raise Fenced(
            f"another Overlord daemon has taken over {path.parent}; this one ends, its sessions go on"
        )


def _identity(path: Path) -> tuple[int, int]:
    """Which file is at a path; none that SQLite could have open when there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


async def _take_lock(path: Path) -> int:
    """Lock a database for one daemon. A program that one which was killed had just begun to start holds its lock for a moment."""
    file = path.with_suffix(".lock")
    try:
        lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(f"{file} cannot be used: {error.strerror}") from error
    try:
        for _ in range(LOCK_TRIES):
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            await asyncio.sleep(LOCK_PAUSE_S)
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    raise StoreError(
        f"another Overlord daemon is using {path.parent}; stop it, or set OVERLORD_HOME to another folder"
    )


def _release(lock: int | None) -> None:
    if lock is not None:
        fcntl.flock(lock, fcntl.LOCK_UN)  # a program that is just being started may have it too, until it is
        os.close(lock)
