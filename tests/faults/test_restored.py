"""An old copy of the database is put back, and the forge is further than it: what is there is adopted, or a person is asked once.

What was spent after the copy was made is forgotten with it: nobody else keeps it.
"""

import contextlib
import signal
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.failpoints import Failpoint
from overlord.store import decisions
from tests.faults.campaign import Campaign, under_fire
from tests.faults.served import At, asked, served
from tests.world import REPO

S, P = JobState, Failpoint
ADOPTED = (P.CHECK_PREPARED, P.CHECK_STARTED, P.PUSH_NOTED, P.PULL_NOTED, P.CHECK_JUDGED, P.VERDICT_WRITTEN)
"""Its commit is known: what was pushed and opened of it is found."""
ASKED = (P.JOB_CLAIMED, P.BASE_CHOSEN, P.WORK_STARTED, P.REPORT_TAKEN)
"""The work is not known, and is not done again by itself."""


async def _rewound(told: Campaign, point: Failpoint) -> int:
    """A story to its pull request, and then the database as it was after that point."""
    issue = await told.issue("plain")
    copy, database = told.world.root / "copy.db", told.place.home / "overlord.db"
    async with served(told, At(point=point, signals=(signal.SIGKILL,))) as daemon:
        await daemon.code()
    _copy(database, copy)
    await told.settle()
    told.expect(issue, S.IN_REVIEW)
    for beside in ("-wal", "-shm"):
        Path(f"{database}{beside}").unlink(missing_ok=True)
    copy.replace(database)
    return issue


def _copy(source: Path, target: Path) -> None:
    with (
        contextlib.closing(sqlite3.connect(source)) as old,
        contextlib.closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


def _shown(told: Campaign, issue: int) -> tuple[int, int]:
    """How many pull requests and comments of ours there are for an issue."""
    world = told.world
    pulls = [pull for pull in world.forge.pulls(REPO) if pull.head_branch.startswith(f"minion/issue-{issue}")]
    return len(pulls), len(world.forge.comments(REPO, issue))


@pytest.mark.parametrize("points", [ADOPTED[:3], ADOPTED[3:]], ids=" ".join)
async def test_what_is_newer_at_the_forge_is_adopted(points: Sequence[Failpoint]) -> None:
    for point in points:
        async with under_fire() as told:
            issue = await _rewound(told, point)
            await told.settle()
            job = told.expect(issue, S.IN_REVIEW)
            assert (job.revision, job.losses, _shown(told, issue)) == (0, 0, (1, 1)), point
            await told.check(rewound=True)


@pytest.mark.parametrize("points", [ASKED[:2], ASKED[2:]], ids=" ".join)
async def test_work_that_the_database_does_not_know_is_a_persons_to_decide(
    points: Sequence[Failpoint],
) -> None:
    for point in points:
        async with under_fire() as told:
            issue = await _rewound(told, point)
            await told.settle()
            told.expect(issue, S.WAITING)
            [(number, subject)] = asked(told, _open, list[tuple[int, Subject]]())
            assert (subject, _shown(told, issue)) == (Subject.FOUND_WORK, (1, 1)), point
            await told.command("decisions", "answer", str(number), "retry")
            await told.settle()
            job = told.expect(issue, S.IN_REVIEW)
            assert (job.branch, _shown(told, issue)) == (f"minion/issue-{issue}-2", (2, 1)), point
            await told.check(rewound=True)


def _open(connection: sqlite3.Connection) -> list[tuple[int, Subject]]:
    return [(item.id, item.subject) for item in decisions.waiting(connection)]


async def test_a_daemon_whose_database_is_replaced_under_it_ends_and_the_next_one_goes_on() -> None:
    async with under_fire() as told:
        issue = await told.issue("holds")
        database, copy = told.place.home / "overlord.db", told.world.root / "copy.db"
        async with served(told) as daemon:
            await daemon.until(told.world.is_holding)
            _copy(database, copy)
            copy.replace(database)
            assert await daemon.code() == 6, told.log()
            assert "was replaced or removed while this daemon ran" in told.log()
        for beside in ("-wal", "-shm"):
            Path(f"{database}{beside}").unlink(missing_ok=True)
        (told.world.root / "go").touch()
        await told.settle()
        assert told.expect(issue, S.IN_REVIEW).losses == 0
        await told.check()
