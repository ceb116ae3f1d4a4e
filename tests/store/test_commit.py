"""Transactions that wait at the same time are stored together, and each is still whole or not there by itself."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from overlord import failpoints
from overlord.failpoints import Moment
from overlord.store.database import Database, open_reader
from overlord.store.spaces import spaces
from tests.records import NOW

Act = Callable[[sqlite3.Connection], object]
DEADLINE_S = 180.0


def note(name: str) -> Act:
    return lambda connection: spaces.note_poll(connection, name, at=NOW)


def half(name: str) -> Act:
    def act(connection: sqlite3.Connection) -> None:
        note(name)(connection)
        raise LookupError(name)

    return act


def noted(connection: sqlite3.Connection) -> list[str]:
    return sorted(spaces.noted(connection))


@asynccontextmanager
async def busy(database: Database) -> AsyncIterator[None]:
    """The database's thread works at a transaction of its own; what is written inside has to wait, together."""
    begun, go = threading.Event(), threading.Event()

    def hold(_connection: sqlite3.Connection) -> None:
        begun.set()
        assert go.wait(30)

    holding = asyncio.create_task(database.write("held", hold))
    assert await asyncio.to_thread(begun.wait, 30)
    yield
    await asyncio.sleep(0)
    go.set()
    await holding


async def together(database: Database, *acts: Act) -> list[object]:
    """What becomes of these when they wait at the same time."""
    async with busy(database):
        writes = [asyncio.create_task(database.write(f"write {n}", act)) for n, act in enumerate(acts)]
    return await asyncio.gather(*writes, return_exceptions=True)


async def test_those_that_wait_at_the_same_time_share_one_commit(database: Database) -> None:
    heard: list[str] = []
    failpoints.listen(lambda point, moment: heard.append(f"{moment} {point}"))
    try:
        await together(database, note("a"), note("b"))
    finally:
        failpoints.listen(None)
    assert heard[2:] == ["before write 0", "before write 1", "after write 0", "after write 1"]


async def test_nobody_is_answered_before_everything_is_stored(path: Path, database: Database) -> None:
    seen: list[list[str]] = []

    def watch(_point: str, moment: Moment) -> None:
        with closing(open_reader(path)) as beside:
            seen.append(noted(beside) if moment is Moment.AFTER else [])

    async with busy(database):
        failpoints.listen(watch)
        writes = [asyncio.create_task(database.write("by hand", note(name))) for name in "ab"]
    await asyncio.gather(*writes)
    failpoints.listen(None)
    assert seen[-2:] == [["a", "b"], ["a", "b"]]


async def test_what_one_raises_takes_back_that_one_alone(database: Database) -> None:
    first, second, third = await together(database, note("a"), half("b"), note("c"))
    assert (first, third) == (None, None)
    assert isinstance(second, LookupError)
    assert await database.read(noted) == ["a", "c"]


async def test_each_has_its_own_result(database: Database) -> None:
    assert await together(database, lambda _: 1, lambda _: 2, lambda _: 3) == [1, 2, 3]


async def test_one_that_ends_the_whole_transaction_tells_everybody_and_leaves_nothing(
    database: Database,
) -> None:
    def abort(connection: sqlite3.Connection) -> None:
        note("b")(connection)
        connection.execute("INSERT OR ROLLBACK INTO spaces (name) VALUES ('b')")

    outcomes = await together(database, note("a"), abort, note("c"))
    assert [type(outcome) for outcome in outcomes] == [sqlite3.IntegrityError] * 3
    assert await database.read(noted) == []
    await database.write("by hand", note("d"))
    assert await database.read(noted) == ["d"]


async def test_a_commit_that_fails_tells_everybody_and_leaves_nothing(database: Database) -> None:
    def dangling(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute(
            "INSERT INTO grants (job_id, kind, value, granted_by, at) VALUES (99, 'tokens', '1', 'x', 'y')"
        )

    outcomes = await together(database, note("a"), dangling)
    assert [type(outcome) for outcome in outcomes] == [sqlite3.IntegrityError] * 2
    assert await database.read(noted) == []


@pytest.mark.parametrize("moment", list(Moment))
async def test_what_is_met_at_a_point_is_met_by_its_own_writer(database: Database, moment: Moment) -> None:
    def watch(point: str, now: Moment) -> None:
        if (point, now) == ("write 1", moment):
            raise LookupError("cut off here")

    failpoints.listen(watch)
    try:
        first, second, third = await together(database, note("a"), note("b"), note("c"))
    finally:
        failpoints.listen(None)
    assert (first, third) == (None, None)
    assert isinstance(second, LookupError)
    assert await database.read(noted) == (["a", "c"] if moment is Moment.BEFORE else ["a", "b", "c"])


async def test_whoever_is_cancelled_while_waiting_halves_nobody(database: Database) -> None:
    async with busy(database):
        cancelled = asyncio.create_task(database.write("by hand", note("a")))
        other = asyncio.create_task(database.write("by hand", note("b")))
        await asyncio.sleep(0)
        cancelled.cancel()
    await other
    assert cancelled.cancelled()
    assert await database.read(noted) == ["a", "b"]


async def test_more_than_one_commit_takes_are_all_stored(database: Database) -> None:
    names = [f"{number:03}" for number in range(200)]
    await together(database, *(note(name) for name in names))
    assert await database.read(noted) == names


async def test_what_waits_is_stored_before_the_database_is_closed(path: Path) -> None:
    database = await Database.open(path, exclusive=True)
    async with busy(database):
        writing = asyncio.create_task(database.write("by hand", note("a")))
    await database.close()
    await writing
    with closing(open_reader(path)) as beside:
        assert noted(beside) == ["a"]


async def test_a_closed_database_says_so(path: Path) -> None:
    database = await Database.open(path, exclusive=True)
    await database.close()
    with pytest.raises(ValueError, match=r"[Cc]onnection"):
        await database.write("by hand", note("a"))


async def test_a_commit_that_cannot_even_be_taken_back_keeps_nobody_waiting(database: Database) -> None:
    denied: list[str] = []

    def deny_once(action: int, verb: str | None, *_rest: str | None) -> int:
        if action == sqlite3.SQLITE_TRANSACTION and verb == "ROLLBACK" and not denied:
            denied.append(verb)
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def break_off(connection: sqlite3.Connection) -> None:
        connection.set_authorizer(deny_once)
        note("b")(connection)
        connection.execute("PRAGMA defer_foreign_keys=ON")
        connection.execute(
            "INSERT INTO grants (job_id, kind, value, granted_by, at) VALUES (99, 'tokens', '1', 'x', 'y')"
        )

    async with asyncio.timeout(DEADLINE_S):
        outcomes = await together(database, note("a"), break_off)
    assert [type(outcome) for outcome in outcomes] == [sqlite3.IntegrityError] * 2
    assert denied == ["ROLLBACK"]
    with pytest.raises(sqlite3.OperationalError, match="transaction"):
        await database.write("by hand", note("c"))  # it finds what was left, and clears it away
    await database.write("by hand", note("d"))
    assert await database.read(noted) == ["d"]


async def test_what_comes_while_the_database_is_being_closed_is_refused(path: Path) -> None:
    database = await Database.open(path, exclusive=True)
    closing = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(ValueError, match="Connection closed"):
            await database.write("by hand", note("a"))
    await closing
