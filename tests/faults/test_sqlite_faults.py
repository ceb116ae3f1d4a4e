"""The database fails the daemon: a commit, once or for good; a lock that somebody else holds; a disk that is full."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from overlord.errors import StoreError
from overlord.home import Home
from overlord.store import database
from overlord.store.database import Database
from overlord.store.schema import migrations
from tests.faults.faulty import Call, Faulty, Mode, Plan, told
from tests.faults.invariants import check_world, must_hold, noted
from tests.faults.spaces import all_through, is_through, lost, made_spaces, name_of, start, trouble_of
from tests.world import World

pytestmark = pytest.mark.timeout(1200)
AT_ONCE = 5
SPACE = name_of(1)
TRIES = 3
_commits: list[Call] = []


@pytest.mark.parametrize("mode", Mode)
async def test_whichever_commit_fails_the_story_ends_as_it_does_without_a_fault(mode: Mode) -> None:
    async def tell(chains: list[list[Call]]) -> list[Plan]:
        plans, found = [_plan(mode, chain) for chain in chains], list[str]()
        for first in range(0, len(plans), AT_ONCE):
            some = await asyncio.gather(*(_told(plan) for plan in plans[first : first + AT_ONCE]))
            found += [wrong for wrongs in some for wrong in wrongs]
        assert not found, "\n".join(found)
        return plans

    await told(await _commits_of_a_story(), tell, apart=mode is Mode.AFTER)


def _plan(mode: Mode, chain: list[Call]) -> Plan:
    return Plan(left=chain, mode=mode, error=lambda said: sqlite3.OperationalError(f"disk I/O error: {said}"))


async def _commits_of_a_story() -> list[Call]:
    """Every commit that a story makes where none fails."""
    if not _commits:
        plan = _plan(Mode.BEFORE, [])
        assert await _told(plan) == []
        _commits.extend(plan.seen)
    return _commits


async def _told(plan: Plan) -> list[str]:
    """A story in which these commits fail; what is otherwise then."""
    async with made_spaces(1) as world:
        await start(world, {"database": lambda real: _faulty(real, plan)})
        try:
            if plan.mode is Mode.FOR_GOOD:
                await _mended(world, plan)
            await all_through(world, [SPACE])
            plan.end()
            await world.settle()
        except TimeoutError:
            return [f"database: {plan}: {await trouble_of(world, SPACE)}"]
        found = list(noted(await lost(world, SPACE, losses=True)))
        try:
            await check_world(world)
        except AssertionError as error:
            found.append(str(error))
        return [f"database: {plan}: {wrong}" for wrong in found]


def _faulty(real: object, plan: Plan) -> Faulty:
    return Faulty(real, {"": plan}, lambda _: None, only={"write"}, by_argument=True)


async def _mended(world: World, plan: Plan) -> None:
    """Let the story go as far as it gets, fix the database, and so on until it is through."""
    is_down = True
    while is_down:
        await world.make_due()
        await world.until(lambda: _is_stuck(world, plan))
        is_down = bool(plan.failures)
        plan.lift()


async def _is_stuck(world: World, plan: Plan) -> bool:
    return len(plan.failures) >= TRIES or await is_through(world, SPACE)


async def test_a_lock_that_somebody_else_holds_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(database), "BUSY_TIMEOUT_S", 0.05)
    async with made_spaces(1) as world:
        await start(world, {})
        with closing(sqlite3.connect(Home(world.root / "home").database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(TRIES):
                await world.overlord.turn()
            other.execute("ROLLBACK")
        await world.settle()
        await world.settle()
        must_hold(await lost(world, SPACE, losses=True))
        await check_world(world)


class _Counted:
    """A database that counts the writes it could not do."""

    def __init__(self, real: Database) -> None:
        self._real = real
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def write(self, *given: Any) -> Any:
        try:
            return await self._real.write(*given)
        except sqlite3.OperationalError:
            self.refused += 1
            raise


async def test_a_full_disk_is_waited_out() -> None:
    async with made_spaces(1) as world:
        await start(world, {"database": _Counted})
        store = world.overlord.parts.database
        assert isinstance(store, _Counted)
        pages = await store.read(lambda c: int(c.execute("PRAGMA page_count").fetchone()[0]))
        await store.read(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchall())
        world.clock.move(60)
        # Which write is the first that finds no room is a matter of what is free in the last pages: of a step, or of a session's door.
        await world.until(lambda: store.refused >= TRIES)
        await store.read(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchall())
        await world.settle()
        await world.settle()
        must_hold(await lost(world, SPACE, losses=True))
        await check_world(world)


@pytest.mark.parametrize("damage", ["no database at all", "a newer schema"])
async def test_a_database_that_cannot_be_used_is_refused_at_the_start_and_left_alone(
    damage: str, tmp_path: Path
) -> None:
    path = tmp_path / "overlord.db"
    await (await Database.open(path, exclusive=True)).close()
    if damage == "a newer schema":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {migrations.LATEST + 1}")
    else:
        path.write_bytes(b"This was a database once. " * 400)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"overlord\.db|newer|schema"):
        await Database.open(path, exclusive=True)
    assert path.read_bytes() == before


async def test_nobody_writes_between_what_a_transaction_reads_and_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "overlord.db"
    opened = await Database.open(path, exclusive=True)

    def act(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM spaces").fetchone()
        with (
            closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("INSERT INTO spaces (name) VALUES ('acme/other')")
        connection.execute("INSERT INTO spaces (name) VALUES ('acme/ours')")

    try:
        await opened.write("by hand", act)
    finally:
        await opened.close()
