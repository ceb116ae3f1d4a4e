"""Verifying the ledger: one at a time whoever asks, what is said meanwhile, and what becomes of a database that cannot be read."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from overlord.domain.event import EventName, LedgerEvent
from overlord.entrypoints.web.reader import Reader
from overlord.entrypoints.web.verifying import LedgerVerifier, Verification
from overlord.store import ledger
from overlord.store.schema.migrations import migrate
from tests.records import NOW, later


class GatedReader(Reader):
    """Reads one database, once it is let."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection_of_all = connection
        self.gate = asyncio.Event()
        self.reads = 0

    async def read(self, act: Callable[[sqlite3.Connection], Any]) -> Any:
        await self.gate.wait()
        self.reads += 1
        return act(self._connection_of_all)


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        for _ in range(3):
            ledger.append(connection, LedgerEvent(name=EventName.PAUSED, at=NOW))
        yield connection


async def test_whoever_asks_while_it_goes_on_waits_for_the_same(store: sqlite3.Connection) -> None:
    reader, told = GatedReader(store), list[bool]()
    verifier = LedgerVerifier(reader, lambda: NOW, lambda: told.append(True))
    first, second = asyncio.create_task(verifier.ask()), asyncio.create_task(verifier.ask())
    await asyncio.sleep(0)
    reader.gate.set()
    assert (await first).is_whole and await first == await second
    assert (reader.reads, told) == (2, [True]), "the last number, and one piece"
    await verifier.close()


async def test_what_is_left_off_ends(store: sqlite3.Connection) -> None:
    verifier = LedgerVerifier(GatedReader(store), lambda: NOW, lambda: None)
    asking = asyncio.create_task(verifier.ask())
    await asyncio.sleep(0)
    await verifier.close()
    assert not (await asking).is_whole


async def test_a_database_that_cannot_be_read_is_said(store: sqlite3.Connection) -> None:
    reader = GatedReader(store)
    reader.gate.set()
    store.execute("DROP TABLE ledger")
    found = await LedgerVerifier(reader, lambda: NOW, lambda: None).ask()
    assert found.sentence == (
        "The ledger could not be read to its end: no such table: ledger. It is verified through event 0."
    )
    assert not found.is_whole


async def test_events_that_are_missing_at_the_end_are_seen(store: sqlite3.Connection) -> None:
    reader = GatedReader(store)
    reader.gate.set()
    store.execute("DROP TRIGGER ledger_is_never_shortened")
    before, verifier = ledger.last_number(store), LedgerVerifier(reader, lambda: NOW, lambda: None)
    reads = reader.read

    async def cut_off(act: Callable[[sqlite3.Connection], Any]) -> Any:
        found = await reads(act)
        store.execute("DELETE FROM ledger WHERE seq > 1")
        return found

    reader.read = cut_off  # type: ignore[method-assign]
    found = await verifier.ask()
    assert (found.through, found.last, found.broken) == (1, before, "the events after 1 are missing")


def test_what_is_said_meanwhile_and_at_the_end() -> None:
    begun = Verification(began_at=NOW, through=500, last=2000)
    assert begun.sentence == "The ledger is being verified: 500 of 2,000 events so far (25 %)."
    assert Verification(began_at=NOW).percent == 0
    done = Verification(began_at=NOW, through=2000, last=2000, ended_at=later(9))
    assert (done.is_whole, done.sentence) == (True, "The ledger is whole: verified through event 2,000.")
    assert done.percent == 99, "it is shown while it goes on alone"
