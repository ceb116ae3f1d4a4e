"""The disk under the home is full, has no names left, or is read-only: the daemon says so, loses nothing, and goes on when it can."""

import contextlib
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from overlord.domain.job import JobState
from overlord.embedded.play import say
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.errors import StoreError
from overlord.home import Home
from overlord.store.database import Database
from tests.faults.disks import SAID, Disk, mounted
from tests.faults.invariants import check_world
from tests.faults.player import OPENING, played
from tests.required import missing
from tests.world import World, made_world

S = JobState
TRIES = 3
"""Passes in which everything that can be tried is tried in vain."""


@contextlib.asynccontextmanager
async def _on(options: str) -> AsyncIterator[tuple[World, Disk]]:
    async with made_world() as world:
        world.overrides["process"] = {"python": played(world.root)}
        world.model_will(*(say("Go on.") for _ in range(10)), when=OPENING)
        with mounted(options) as disk:
            (world.root / "home").symlink_to(disk.root)
            try:
                yield world, disk
            finally:
                disk.free()
                await world.stop()


KINDS = {"bytes": "size=24m", "names": "size=64m,nr_inodes=3000"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", ["queued", "working", "in review"])
async def test_a_disk_that_is_full_is_waited_out_and_told_of(kind: str, moment: str) -> None:
    async with _on(KINDS[kind]) as (world, disk):
        await _until(world, moment)
        with capture_logs() as logs:
            disk.fill() if kind == "bytes" else disk.name()
            (world.root / "go").touch()
            if moment == "in review":
                await world.issue("plain")
                world.clock.move(interval_s(world.settings()) + 1)
            await world.until(lambda: _told_of(logs, kind))
            for _ in range(TRIES):
                await world.overlord.turn()
                await world.something_happens()
        disk.free()
        await world.settle()
        await world.settle()
        for job in await world.jobs():
            assert (job.state, job.revision, job.reason) == (S.IN_REVIEW, 0, ""), job.reason
        await check_world(world)


async def _until(world: World, moment: str) -> None:
    if moment == "queued":
        await world.start()
        await world.issue("plain")
        world.clock.move(interval_s(world.settings()) + 1)
        return
    await world.issue("holds" if moment == "working" else "plain")
    if moment == "working":
        await world.until_holding()
    else:
        await world.settle()


def _told_of(logs: Sequence[Mapping[str, object]], kind: str) -> bool:
    """Whether the log has said in plain words what is wrong."""
    return any(SAID[kind] in str(line.get("trouble", "")) for line in logs)


async def test_a_home_that_is_read_only_is_refused_in_a_sentence_and_used_again_when_it_is_not() -> None:
    async with _on("size=64m") as (world, disk):
        await world.issue("plain")
        await world.settle()
        await world.stop()
        disk.remount("ro")
        with pytest.raises(StoreError, match=r"overlord\.\w+ cannot be used: .*[Rr]ead-?only"):
            await world.start()
        disk.remount("rw")
        await world.issue("plain")
        await world.settle()
        assert [job.state for job in await world.jobs()] == [S.IN_REVIEW, S.IN_REVIEW]
        await check_world(world)


@dataclass
class Failing:
    """A disk that the kernel stops writing to, as it does when one fails."""

    image: Path
    root: Path

    def mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", str(self.image), str(self.root)], check=True)

    def fail(self) -> None:
        subprocess.run(["mount", "-o", "remount,abort", str(self.root)], check=True)

    def repair(self) -> None:
        """Go on with a copy: a container that starts meanwhile may keep the failed one mounted for itself."""
        subprocess.run(["umount", "--lazy", str(self.root)], check=True)
        self.image = Path(shutil.copy(self.image, self.image.with_name("repaired")))
        subprocess.run(["e2fsck", "-p", "-f", str(self.image)], capture_output=True, check=False)
        self.mount()


@contextlib.contextmanager
def failing() -> Iterator[Failing]:
    """A small ext4 in a file; it goes with everything on it."""
    with tempfile.TemporaryDirectory(prefix="disk-", dir="/tmp") as directory:
        disk = Failing(Path(directory, "image"), Path(directory, "root"))
        disk.root.mkdir()
        with disk.image.open("wb") as file:
            file.truncate(96 * 1024 * 1024)
        try:
            subprocess.run(["mkfs.ext4", "-q", str(disk.image)], capture_output=True, check=True)
            disk.mount()
        except (OSError, subprocess.CalledProcessError):
            missing(
                "tmpfs",
                "no file system can be made and mounted here: this needs root, e2fsprogs and a loop device",
            )
        try:
            yield disk
        finally:
            subprocess.run(["umount", "--lazy", str(disk.root)], check=True)


async def test_a_disk_that_turns_read_only_under_a_daemon_costs_nothing_once_it_is_repaired() -> None:
    async with made_world() as world:
        world.overrides["process"] = {"python": played(world.root)}
        world.model_will(*(say("Go on.") for _ in range(10)), when=OPENING)
        with failing() as disk:
            (world.root / "home").symlink_to(disk.root)
            await _until(world, "in review")
            with capture_logs() as logs:
                disk.fail()
                await world.issue("plain")
                world.clock.move(interval_s(world.settings()) + 1)
                await world.until(lambda: any("trouble" in line for line in logs))
                for _ in range(TRIES):
                    await world.overlord.turn()
                    await world.something_happens()
            assert await world.read(lambda c: c.execute("SELECT 1").fetchone()[0]) == 1, (
                "what is there can be read"
            )
            await world.stop()
            disk.repair()
            await world.settle()
            await world.settle()
            for job in await world.jobs():
                assert (job.state, job.revision, job.reason) == (S.IN_REVIEW, 0, ""), job.reason
            assert len(await world.jobs()) == 2
            await check_world(world)
            await world.stop()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_full_disk_at_the_start_is_told_in_a_sentence(kind: str) -> None:
    async with _on(KINDS[kind]) as (world, disk):
        await world.start()
        await world.stop()
        disk.fill() if kind == "bytes" else disk.name()
        path = Home(world.root / "home").database
        with pytest.raises(StoreError, match=r"overlord\.\w+ cannot be used: "):
            await _taken_over(path)
        disk.free()
        await world.start()


async def _taken_over(path: Path) -> None:
    """What a daemon does first, writing more than there may be room for in what the database has reserved."""

    def grow(connection: sqlite3.Connection, _: int) -> None:
        connection.execute("CREATE TABLE big AS SELECT randomblob(9000000)")

    store = await Database.open(path, exclusive=True)
    try:
        await store.take_over("by hand", grow)
    finally:
        await store.close()
