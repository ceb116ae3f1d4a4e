"""Evidence and database on disks of their own: one is full while the other has room, or the log of what was written fills it since
somebody reads and does not end. The daemon says which it is, loses nothing, and goes on by itself.
"""

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest
from structlog.testing import capture_logs

from overlord.domain.job import JobState
from overlord.embedded.play import say
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.home import Home
from overlord.store.database import open_reader
from tests.faults.disks import SAID, Disk, mounted
from tests.faults.invariants import check_world
from tests.faults.player import OPENING, played
from tests.world import World, made_world

TRIES = 3
"""Passes in which everything that can be tried is tried in vain."""
KINDS = {"bytes": "size=8m", "names": "size=64m,nr_inodes=1000"}
TITLES = {"working": "holds", "checking": "check waits"}
"""Before its push, and after the last one: what a check leaves needs no other room than evidence and database."""
LARGE = ("evidence", "mirrors", "ready", "sessions", "processes", "run", "trash")
"""What of a home is elsewhere where the database is alone on its disk."""
CHURN = "UPDATE churn SET content = randomblob(200000)"


@contextlib.asynccontextmanager
async def _apart(options: str, *, evidence: bool) -> AsyncIterator[tuple[World, Disk]]:
    """A world with a small disk for its evidence alone; or for its database, and the evidence elsewhere."""
    async with made_world() as world:
        world.overrides["process"] = {"python": played(world.root)}
        world.model_will(*(say("Go on.") for _ in range(10)), when=OPENING)
        with mounted(options) as disk:
            home, roomy = world.root / "home", world.root / "roomy"
            if evidence:
                home.mkdir()
                (home / "evidence").symlink_to(disk.root)
            else:
                home.symlink_to(disk.root)
                for name in LARGE:
                    (roomy / name).mkdir(parents=True)
                    (disk.root / name).symlink_to(roomy / name)
            try:
                yield world, disk
            finally:
                disk.free()
                await world.stop()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", TITLES)
async def test_evidence_that_finds_no_room_is_kept_when_there_is_some(kind: str, moment: str) -> None:
    async with _apart(KINDS[kind], evidence=True) as (world, disk):
        await _until(world, moment)
        with capture_logs() as logs:
            disk.fill() if kind == "bytes" else disk.name()
            await _goes_on_in_vain(world, logs, f"{world.root}/home/evidence {SAID[kind]}")
        [job] = await world.jobs()
        if moment == "checking":  # the other's session tries to push until it may
            assert f"the disk of {world.root}/home/evidence {SAID[kind]}" in job.reason, (
                "the database has room"
            )
        disk.free()
        await _delivered(world)


@pytest.mark.parametrize("moment", TITLES)
async def test_a_database_that_finds_no_room_loses_nothing_though_evidence_does(moment: str) -> None:
    async with _apart("size=12m", evidence=False) as (world, disk):
        await _until(world, moment)
        with capture_logs() as logs:
            disk.fill()
            await _goes_on_in_vain(world, logs, f"{world.root}/home {SAID['bytes']}")
        disk.free()
        await _delivered(world)


@pytest.mark.parametrize("left", ["a little", "nothing"])
async def test_a_log_of_writes_that_fills_the_disk_is_written_over_when_nobody_reads_any_more(
    left: str,
) -> None:
    async with _apart("size=16m", evidence=False) as (world, _):
        await _until(world, "working")
        home = Home(world.root / "home")
        await _write(world, "CREATE TABLE churn AS SELECT randomblob(1000000) AS content")
        await _write(world, CHURN)  # the database itself has pages to spare
        with contextlib.closing(sqlite3.connect(home.database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with contextlib.closing(_reading(home)), capture_logs() as logs:
            with contextlib.suppress(sqlite3.OperationalError):
                while left == "nothing" or not home.shortage():
                    await _write(world, CHURN)
            await _goes_on_in_vain(world, logs, f"{world.root}/home {SAID['bytes']}")
        for _ in range(TRIES):
            await world.make_due()
            await world.until(lambda: True)
        assert home.shortage() == ""
        await _delivered(world)


def _reading(home: Home) -> sqlite3.Connection:
    """Somebody looks at the database and does not end."""
    connection = open_reader(home.database)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM jobs").fetchone()
    return connection


async def _write(world: World, statement: str) -> None:
    await world.overlord.parts.database.write("by hand", lambda c: c.execute(statement).rowcount)


async def _until(world: World, moment: str) -> None:
    await world.issue(TITLES[moment])
    if moment == "working":
        await world.until_holding()
    else:
        await world.make_due()
        await world.until(lambda: world.has_started("j1-check-1"))


async def _goes_on_in_vain(
    world: World, logs: Sequence[Mapping[str, object]], said: str, *, tries: int = TRIES
) -> None:
    """The session ends, another issue waits, and the log says what is wrong."""
    (world.root / "go").touch()
    world.clock.move(interval_s(world.settings()) + 1)
    await world.until(lambda: any(said in str(line.get("trouble", "")) for line in logs))
    for _ in range(tries):
        await world.overlord.turn()
        await world.something_happens()


async def _delivered(world: World) -> None:
    await world.settle()
    await world.settle()
    [job] = await world.jobs()
    assert (job.state, job.revision, job.losses, job.reason) == (JobState.IN_REVIEW, 0, 0, ""), job.reason
    assert "session_lost" not in await world.events()
    await check_world(world)
