"""`overlord build` and `fix` in a user's own repository, killed where a gate is passed, where work is delivered, and where a fix begins."""

import contextlib
import signal
import sqlite3
from pathlib import Path

import pytest

from overlord.domain.job import JobState
from overlord.failpoints import Failpoint as P
from overlord.failpoints import Moment
from overlord.store import jobs
from overlord.store.bootstrap import issue_requests
from overlord.store.contracts import plan_files
from overlord.store.database import open_reader
from tests.faults import cut as processes
from tests.faults.campaign import Campaign, under_fire
from tests.faults.contract_stories import OWN, TEXT
from tests.faults.cut import Cut
from tests.local import made
from tests.world import CALC

pytestmark = pytest.mark.timeout(600)
POINTS = (
    P.ANSWER_APPLIED,
    P.PHASE_BEGUN,
    P.WORK_PREPARED,
    P.PUSH_ORDERED,
    P.PUSH,
    P.OPEN_PULL,
    P.JOB_DELIVERED,
)


def checkout(told: Campaign) -> str:
    """A user's repository with a contract of roles, and their settings."""
    place = made(told.world.root / "mine", {**CALC, OWN: TEXT, "NOTES.md": "None.\n"})
    told.place.home.mkdir(exist_ok=True)
    python = told.world.overrides["process"]["python"]
    (told.place.home / "overlord.yaml").write_text(f"process: {{python: '{python}'}}\nrunner: process\n")
    told.play()
    told.play()
    return str(place)


def database(told: Campaign) -> Path:
    [found] = told.place.home.glob("local/*/overlord.db")
    return found


@pytest.mark.parametrize("moment", Moment)
async def test_a_build_that_is_killed_after_its_gate_and_in_its_delivery_comes_to_the_same_end(
    moment: Moment,
) -> None:
    async with under_fire() as told:
        place = checkout(told)
        await told.command("build", "plain", "--no-merge", "--repo", place, done=(1,))
        await told.command("decisions", "answer", "1", "approve", "--repo", place)
        told.chain = [Cut(point=point, moment=moment) for point in POINTS]
        await told.command("resume", "--repo", place)
        assert not told.chain, f"never reached: {', '.join(map(str, told.chain))}"
        with contextlib.closing(open_reader(database(told))) as connection:
            [job] = jobs.all_jobs(connection)
            asked = connection.execute("SELECT count(*) FROM decisions WHERE subject = 'gate'").fetchone()[0]
        assert (job.state, asked) == (JobState.IN_REVIEW, 1), told.log()


@pytest.mark.parametrize("moment", Moment)
@pytest.mark.parametrize("point", [P.ISSUE_REQUESTED, P.JOB_CLAIMED, P.CONTRACT_TAKEN])
async def test_a_fix_that_is_killed_as_it_begins_mends_the_same_job_from_the_same_phase(
    point: P, moment: Moment
) -> None:
    async with under_fire() as told:
        place = checkout(told)
        await told.command("build", "plain", "--no-merge", "--repo", place, done=(1,))
        await told.command("decisions", "answer", "1", "approve", "--repo", place)
        await told.command("job", "stop", "1", "--repo", place)
        with contextlib.closing(sqlite3.connect(database(told))) as connection:
            connection.execute("UPDATE jobs SET phase = 'build' WHERE id = 1")
            connection.commit()
        told.cuts = [Cut(point=point, moment=moment)]
        first = await told._end_of(processes.command, "fix", "1", "--no-merge", "--repo", place)
        told.cuts = []
        assert first == -signal.SIGKILL, told.log()
        await told.command("resume", "--repo", place)
        with contextlib.closing(open_reader(database(told))) as connection:
            [mended, *_] = jobs.all_jobs(connection)
            asked = issue_requests.of_issue(connection, mended.space, mended.issue.number)
            plan = plan_files.of_job(connection, mended.id)
        assert (mended.id, mended.state) == (2, JobState.IN_REVIEW), told.log()
        assert asked is not None and asked.options.from_job == 1
        assert plan, "what was planned is kept"
