"""Retention: what is kept no longer goes, by itself; what is, and the ledger, stays; and so the disk stays as it is."""

from datetime import timedelta
from pathlib import Path

import pytest

from overlord.adapters.git import upkeep
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import JobState
from overlord.embedded.play import say
from overlord.engine.retention import clear_up as keep
from overlord.engine.runtime.parts import Caretaker
from overlord.errors import StoreError
from overlord.store import evidence, ledger, retention
from overlord.store import evidence as evidence_files
from tests.faults.player import OPENING, played
from tests.world import REPO, World, made_world

S = JobState
A_YEAR = 366 * 86400.0


@pytest.fixture(autouse=True)
def without_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files have the machine's time: what was just written counts as old."""
    monkeypatch.setitem(vars(evidence_files), "GRACE_S", -1.0)
    monkeypatch.setitem(vars(upkeep), "GRACE", "now")
    monkeypatch.setitem(vars(upkeep), "MOST_LOOSE", 0)


async def begin(world: World) -> None:
    world.overrides["process"] = {"python": played(world.root)}
    await world.start()


async def worked(world: World, *, merged: bool = True) -> int:
    """An issue, worked on to its pull request, and merged."""
    world.model_will(*(say("Go on.") for _ in range(6)), when=OPENING)
    issue = await world.issue("plain")
    await world.settle()
    job = (await world.jobs())[-1]
    if merged:
        await world.forge.merge(REPO, job.pull_number or 0)
        await world.settle()
        await world.push(
            {"calc.py": "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n"}
        )
    return issue


async def rested(world: World) -> None:
    """Until nothing is under way."""
    await world.overlord.turn()
    await world.overlord.tick.rest()


async def test_evidence_of_a_job_that_ended_long_ago_goes_and_that_of_an_open_one_stays() -> None:
    async with made_world() as world:
        await begin(world)
        await worked(world)
        await worked(world, merged=False)
        before = list(await world.read(lambda c: list(ledger.entries(c))))
        world.clock.move(keep.EVERY_S)
        await rested(world)
        assert all(item.removed_at is None for item in await world.read(evidence.exhibits)), (
            "it was not time yet"
        )
        world.clock.move(A_YEAR)
        await rested(world)
        ended, still_open = await world.read(evidence.exhibits, 1), await world.read(evidence.exhibits, 2)
        assert ended and all(item.removed_at for item in ended)
        assert still_open and not any(item.removed_at for item in still_open)
        kept = {item.sha256 for item in still_open}
        store = world.overlord.parts.evidence
        for item in ended:
            if item.sha256 not in kept:
                with pytest.raises(StoreError, match="is missing"):
                    store.get(item.sha256)
        assert all(store.get(digest) is not None for digest in kept)
        after = list(await world.read(lambda c: list(ledger.entries(c))))
        assert after[: len(before)] == before
        assert [entry.name for entry in after if entry.name == "evidence_removed"] == ["evidence_removed"]
        assert list(await world.read(lambda c: list(ledger.problems(c)))) == []
        assert (await world.job(2)).state is S.IN_REVIEW


async def test_a_look_removes_nothing_and_says_what_would_go() -> None:
    async with made_world(keep={"evidence_days": 1, "transcripts_days": 1}) as world:
        await begin(world)
        await worked(world)
        caretaker = Caretaker.of(world.overlord.parts)
        assert [item for item in await keep.look(caretaker) if item.kind == "evidence"] == []
        world.clock.move(2 * 86400)
        [found] = [item for item in await keep.look(caretaker) if item.kind == "evidence"]
        assert (found.name, found.why) == ("job 1", "kept long enough")
        assert found.size == await world.read(retention.evidence_bytes) > 0
        gone = await keep.clear(caretaker)
        assert found in gone
        assert [
            item for item in await keep.look(caretaker) if item.kind in {"evidence", "stray evidence"}
        ] == []


async def test_while_a_backup_is_written_nothing_is_taken_away() -> None:
    async with made_world(keep={"evidence_days": 1}) as world:
        await begin(world)
        await worked(world)
        world.clock.move(2 * 86400)
        caretaker = Caretaker.of(world.overlord.parts)
        with world.overlord.parts.home.housekeeping(exclusive=False):
            assert [item for item in await keep.clear(caretaker) if item.kind == "evidence"] == []
        assert [item.name for item in await keep.clear(caretaker) if item.kind == "evidence"] == ["job 1"]


async def test_a_mirror_goes_only_when_nobody_names_its_repository_any_more() -> None:
    async with made_world() as world:
        await begin(world)
        await worked(world)
        home = world.overlord.parts.home
        (gone := home.mirror("acme/gone")).mkdir(parents=True)
        world.clock.jump(timedelta(days=3650).total_seconds())
        await keep.clear(Caretaker.of(world.overlord.parts))
        assert (gone.exists(), home.mirror(REPO).exists()) == (False, True)


async def test_a_commit_that_an_open_job_stands_on_outlives_every_tidying() -> None:
    async with made_world() as world:
        await begin(world)
        await worked(world)
        await worked(world, merged=False)
        ended, waiting = [str(job.head_sha) for job in await world.jobs()]
        world.clock.move(A_YEAR)
        await keep.tidy(Caretaker.of(world.overlord.parts))
        refs = await world.overlord.parts.git.listing(RepositoryName(REPO), waiting)  # type: ignore[arg-type]
        assert "calc.py" in refs
        mirror = world.overlord.parts.home.mirror(REPO)
        packed = (mirror / "packed-refs").read_text()
        assert f"refs/overlord/canonical/{waiting}" in packed
        assert f"refs/overlord/canonical/{ended}" not in packed


async def test_a_daemon_that_is_asked_to_tidies_its_mirrors_before_the_day_is_over() -> None:
    async with made_world() as world:
        await begin(world)
        await worked(world)
        [job] = await world.jobs()
        home = world.overlord.parts.home
        (packed := home.mirror(REPO) / "packed-refs").unlink(missing_ok=True)
        world.clock.move(60)
        await rested(world)
        assert not packed.exists()
        home.keep_asked.touch()
        await rested(world)
        assert not home.keep_asked.exists()
        assert f"refs/overlord/canonical/{job.head_sha}" in packed.read_text()


JOBS, HOURS = 12, 2
HISTORY = 2000
"""The bytes that a merged job adds to its repository's own history; one that leaves its evidence adds five times as much."""


async def test_a_day_of_work_leaves_the_disk_as_it_is() -> None:
    """A job every two hours, and evidence that is kept for a few of them."""
    hours = HOURS * 3600.0
    async with made_world(keep={"evidence_days": 1, "transcripts_days": 1, "evidence_gb": 0.00002}) as world:
        await begin(world)
        sizes = []
        for _ in range(JOBS):
            await worked(world)
            world.clock.move(hours)
            await keep.step(world.overlord.parts)
            await rested(world)
            sizes.append(_held(world.root / "home"))
        grown = (sizes[-1] - sizes[JOBS // 3]) / (JOBS - JOBS // 3 - 1)
        assert grown < HISTORY, sizes
        assert all(job.state is S.COMPLETED for job in await world.jobs())


def _held(home: Path) -> int:
    """The bytes below a home but for the database (rows and ledger are for ever) and ready copies, of which there are few."""
    files = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
    skipped = (home / "ready", home / "overlord.db", home / "overlord.db-wal", home / "overlord.db-shm")
    counted = [path for path in files if not any(path.is_relative_to(place) for place in skipped)]
    return sum(path.stat().st_size for path in counted)
