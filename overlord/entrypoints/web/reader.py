"""Reading the database for the page, beside the daemon's own connection: a page that takes long keeps no job waiting."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from overlord.store.database import open_reader

Result = TypeVar("Result")
THREADS = 2


class Reader:
    """A few connections that only read, each in a thread of its own."""

    def __init__(self, path: Path, *, threads: int = THREADS) -> None:
        self._path = path
        self._own = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="page")

    async def read(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `act` on one consistent view of the data. Raises what it raises, and what SQLite raises."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._view, act)

    def close(self) -> None:
        """Once nobody reads any more."""
        self._pool.shutdown()
        for connection in self._opened:
            connection.close()

    def _view(self, act: Callable[[sqlite3.Connection], Result]) -> Result:
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            return act(connection)
        finally:
            connection.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection:
        if not hasattr(self._own, "connection"):
            self._own.connection = open_reader(self._path, check_same_thread=False)  # closed by another
            self._opened.append(self._own.connection)
        connection: sqlite3.Connection = self._own.connection
        return connection
