"""Ledger events a second, through the daemon's own database: one writer after the other, and many at once.

Beside it what SQLite itself commits a second with the same durability: the disk's part of the figure.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from statistics import median

from bench.table import Figure
from overlord.adapters.clock import SystemClock
from overlord.domain.event import EventName, LedgerEvent
from overlord.store import ledger
from overlord.store.database import Database

EVENTS = 2_000
WRITERS = 32
ROUNDS = 3
GOAL = 1_000.0


async def figures(root: Path) -> list[Figure]:
    """The daemon's rows about its ledger."""
    database = await Database.open(root / "overlord.db", exclusive=True)
    try:
        await _events(database, 1)
        pairs = [(await _rate(database, 1), bare_commits(root / f"{number}.db")) for number in range(ROUNDS)]
        together = median([await _rate(database, WRITERS) for _ in range(ROUNDS)])
    finally:
        await database.close()
    alone, bare = (median(values) for values in zip(*pairs, strict=True))
    beside = {"yardstick": "bare SQLite commits (FULL)", "beside": bare}
    return [
        _figure("ledger events, one at a time", alone, **beside),
        _figure(f"ledger events, {WRITERS} writers at once", together, **beside),
    ]


def _figure(name: str, measured: float, *, yardstick: str, beside: float) -> Figure:
    return Figure(
        part="daemon",
        name=name,
        unit="/s",
        measured=measured,
        goal=GOAL,
        at_least=True,
        yardstick=yardstick,
        beside=beside,
    )


async def _rate(database: Database, writers: int) -> float:
    """Events a second when so many write at once, each its next one when the last is stored."""
    return await _per_second(
        lambda: asyncio.gather(*(_events(database, EVENTS // writers) for _ in range(writers)))
    )


async def _per_second(act: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await act()
    return EVENTS / (time.perf_counter() - began)


async def _events(database: Database, count: int) -> None:
    event = LedgerEvent(
        name=EventName.CHECK_STARTED,
        at=SystemClock().now(),
        data={"session": "j1-check-1", "note": "x" * 100},
    )
    for _ in range(count):
        await database.write("by hand", lambda c: ledger.append(c, event))


def bare_commits(path: Path) -> float:
    """What SQLite commits a second here: WAL, FULL, one row of an event's size each."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, data TEXT)")
        began = time.perf_counter()
        for _ in range(EVENTS):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO events (data) VALUES (?)", ("x" * 300,))
            connection.execute("COMMIT")
        return EVENTS / (time.perf_counter() - began)
