"""Group commit: transactions that wait while one is stored share the next one's wait for the disk.

Each stands in a savepoint of its own: what one raises takes back that one alone. None is answered before all are stored;
when they cannot be, none of them was.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from overlord.failpoints import Moment, reached

Result = TypeVar("Result")
Fence = Callable[[sqlite3.Connection], None]
"""Raises when whoever asks may not touch the database any more."""
MOST = 64
"""Transactions in one commit; the first of them waits for the work of the last."""


class Transaction(Generic[Result]):
    """One function that is stored as a whole or not at all, and then what it returned or raised."""

    def __init__(self, point: str, act: Callable[[sqlite3.Connection], Result], fence: Fence) -> None:
        self._point = point
        self._act = act
        self._fence = fence
        self._result: list[Result] = []
        self.error: BaseException | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        """Do everything but store it. Raises only when the whole commit was rolled back by it."""
        connection.execute("SAVEPOINT one")
        try:
            self._fence(connection)
            self._result.append(self._act(connection))
            reached(self._point, Moment.BEFORE)
        except BaseException as error:
            self.error = error
            if not connection.in_transaction:  # a full disk, among others, has rolled back already
                raise
            connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")

    def stored(self) -> None:
        """It is there to stay."""
        if self.error is None:
            try:
                reached(self._point, Moment.AFTER)
            except BaseException as error:
                self.error = error

    def outcome(self) -> Result:
        """What the function returned; raises what it raised, or why it could not be stored."""
        if self.error is not None:
            raise self.error
        return self._result[0]


def commit(connection: sqlite3.Connection, transactions: Sequence[Transaction[Any]]) -> None:
    """Run them one after the other and store them together. Each has its own outcome; raises only when what was done by
    halves cannot be rolled back."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for transaction in transactions:
            transaction.run(connection)
        connection.execute("COMMIT")
    except BaseException as error:
        for transaction in transactions:
            transaction.error = transaction.error or error
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            _begin_log_again(connection)
        return
    for transaction in transactions:
        transaction.stored()


def _begin_log_again(connection: sqlite3.Connection) -> None:
    """Let what comes next be written over what is in the database by now. SQLite does it after a commit: none comes where its log
    has filled the disk."""
    with contextlib.suppress(sqlite3.DatabaseError):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


class Commits:
    """The line of those that wait for their turn, and the one task that stores them. `run` works in the database's thread."""

    def __init__(self, run: Callable[[Callable[[sqlite3.Connection], None]], Awaitable[None]]) -> None:
        self._run = run
        self._line: list[tuple[Transaction[Any], asyncio.Future[None]]] = []
        self._storing: asyncio.Task[None] | None = None
        self._is_closed = False

    async def add(self, transaction: Transaction[Result]) -> Result:
        """Wait until it is stored, in company or alone. It is, also when whoever waits for it is cancelled.

        Raises ValueError once this is closed.
        """
        if self._is_closed:
            raise ValueError("Connection closed")
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((transaction, over))
        if self._storing is None:
            self._storing = asyncio.create_task(self._store())
        await over
        return transaction.outcome()

    async def close(self) -> None:
        """Wait until nothing waits, and take nothing from then on."""
        while self._storing is not None:
            await asyncio.wait([self._storing])
        self._is_closed = True

    async def _store(self) -> None:
        try:
            while self._line:
                taken, self._line = self._line[:MOST], self._line[MOST:]
                await self._store_together(taken)
        finally:
            self._storing = None

    async def _store_together(self, taken: Sequence[tuple[Transaction[Any], asyncio.Future[None]]]) -> None:
        transactions = [transaction for transaction, _ in taken]
        try:
            await self._run(lambda connection: commit(connection, transactions))
        except BaseException as error:
            for transaction in transactions:
                transaction.error = transaction.error or error
            if not isinstance(error, Exception):
                raise
        finally:
            for _, over in taken:  # whatever happens, nobody waits for ever
                if not over.done():
                    over.set_result(None)
