"""Jobs that no session has worked on: their commit, pull request and row are put there by hand."""

import sqlite3
from typing import Any

from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobState
from overlord.store import jobs
from overlord.store.rows import update
from tests.records import an_issue, contract
from tests.world import CALC, REPO, World

SPACE = RepositoryName(REPO)


async def work_at_forge(world: World, branch: str = "minion/issue-1") -> str:
    """Somebody's commit on a branch, which the mirror has as well; returns it."""
    head = await world.forge.push_files(REPO, branch, {"calc.py": CALC["calc.py"] + "\n"}, "Fix")
    parts = world.overlord.parts
    await parts.git.refresh_mirror(SPACE, await parts.forge.remote(SPACE))
    return head


async def job_by_hand(world: World, state: JobState, **about: Any) -> Job:
    """A job in this state on an issue of its own."""
    number, at = await world.issue("add() subtracts", label=""), world.clock.now()

    def put(connection: sqlite3.Connection) -> Job:
        issue = an_issue(number=number, title="add() subtracts", body="")
        job = jobs.claim(connection, space=REPO, issue=issue, base_branch="main", contract=contract(), at=at)
        assert job is not None
        update(connection, "jobs", job.id, {"state": state, **about})
        return jobs.get(connection, job.id)

    made: Job = await world.overlord.parts.database.write("by hand", put)
    return made


async def job_in_review(world: World) -> Job:
    """A job whose pull request waits for its reviewers."""
    head = await work_at_forge(world)
    pull = await world.overlord.parts.forge.open_pull(
        SPACE, branch="minion/issue-1", base="main", title="Fix", body="Fix", draft=False
    )
    about = {"head_sha": head, "pushed_sha": head, "pushing_sha": head, "pull_number": pull.number}
    return await job_by_hand(world, JobState.IN_REVIEW, **about)
