"""What people do with an issue or a pull request of a job: a merge completes it, an end ends it, an edit is noted."""

from collections.abc import AsyncIterator

import pytest

from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.engine.delivery import deliver, follow_pulls
from overlord.engine.issues import projection
from overlord.engine.runtime.poll_errors import PollErrors
from overlord.store import jobs
from tests.engine.stage import NAME, Stage, made_stage
from tests.world import REPO


async def delivered(stage: Stage, title: str = "add() subtracts") -> Job:
    """IN_REVIEW."""
    job = await stage.passed(await stage.submitted(job=await stage.claimed(title)))
    return await stage.step(deliver.step, job.id)


async def pulls(stage: Stage) -> str:
    """The pull requests are followed; what was in the way."""
    poll_errors = PollErrors()
    await follow_pulls.pulls(stage.parts, NAME, poll_errors)
    return str(poll_errors)


async def issues(stage: Stage) -> str:
    stage.world.clock.move(1)
    poll_errors = PollErrors()
    await follow_pulls.issues(stage.parts, NAME, poll_errors)
    return str(poll_errors)


@pytest.fixture
async def tidy_stage() -> AsyncIterator[Stage]:
    """Where branches are deleted after a merge."""
    async with made_stage(delivery={"delete_branch": True}) as stage:
        yield stage


async def test_a_merge_completes_a_job_closes_its_issue_and_deletes_its_branch(tidy_stage: Stage) -> None:
    stage = tidy_stage
    job = await delivered(stage)
    await stage.world.forge.merge(REPO, job.pull_number or 0)
    await stage.world.forge.reopen_issue(REPO, job.issue.number)
    assert await pulls(stage) == ""
    assert (await stage.job()).state is JobState.COMPLETED
    assert not stage.world.forge.issue(REPO, job.issue.number).open
    assert job.branch not in await stage.world.forge.heads(REPO)


async def test_what_the_forge_does_not_let_us_tidy_is_told_and_holds_up_nothing(tidy_stage: Stage) -> None:
    stage = tidy_stage
    job = await delivered(stage)
    await stage.world.forge.merge(REPO, job.pull_number or 0)
    await stage.world.forge.reopen_issue(REPO, job.issue.number)
    for operation in ("issues/update", "git/delete-ref"):
        stage.world.forge.fail(operation, kind="403", times=1)
    await pulls(stage)
    job = await stage.job()
    assert job.state is JobState.COMPLETED
    assert "its issue could not be closed" in job.reason
    assert "its branch could not be deleted" in job.reason


async def test_a_pull_request_that_is_closed_ends_its_job(stage: Stage) -> None:
    job = await delivered(stage)
    await stage.world.forge.close_pull(REPO, job.pull_number or 0)
    await pulls(stage)
    job = await stage.job()
    assert (job.state, job.reason) == (
        JobState.CANCELLED,
        "its pull request was closed without a merge",
    )


async def test_one_that_cannot_be_read_keeps_no_other_waiting(stage: Stage) -> None:
    first, second = await delivered(stage), await delivered(stage, "Another")
    for job in (first, second):
        await stage.world.forge.close_pull(REPO, job.pull_number or 0)
    stage.world.forge.fail("pulls/get", kind="500", times=1)
    assert "pulls/{pull_number}" in await pulls(stage)
    states = [(await stage.job(number)).state for number in (1, 2)]
    assert states == [JobState.IN_REVIEW, JobState.CANCELLED]


async def test_an_issue_that_is_closed_ends_its_job(stage: Stage) -> None:
    job = await stage.claimed()
    await stage.world.forge.close_issue(REPO, job.issue.number)
    assert await issues(stage) == ""
    job = await stage.job()
    assert (job.state, job.reason) == (JobState.CANCELLED, "the issue was closed")


async def test_an_issue_that_its_merge_closed_is_done_and_not_stopped(stage: Stage) -> None:
    job = await delivered(stage)
    await stage.world.forge.merge(REPO, job.pull_number or 0)
    assert not stage.world.forge.issue(REPO, job.issue.number).open
    await issues(stage)
    assert (await stage.job()).state is JobState.COMPLETED


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_label_that_was_taken_off_ends_a_job_only_once_it_was_put_on(
    stage: Stage, is_known: bool
) -> None:
    await stage.running()
    job = await stage.job()
    label = stage.parts.settings.space(REPO).labels.in_progress
    await stage.world.forge.label(REPO, job.issue.number, label)
    await stage.world.forge.unlabel(REPO, job.issue.number, label)
    if is_known:
        await stage.write(jobs.repair, job.id, projected=projection.projection_key(job))
    await issues(stage)
    state = JobState.CANCELLED if is_known else JobState.RUNNING
    assert (await stage.job()).state is state
    assert ("unlabelled" in await stage.events()) is is_known


async def test_an_edit_is_noted_and_the_text_that_was_taken_up_stays(stage: Stage) -> None:
    job = await stage.claimed()
    stage.world.clock.move(60)
    await stage.world.forge.edit_issue(REPO, job.issue.number, body="Otherwise.")
    await issues(stage)
    edited = await stage.job()
    assert (edited.issue.body, edited.edited_issue and edited.edited_issue.body) == ("", "Otherwise.")
    assert EventName.ISSUE_EDITED in await stage.events()
    await issues(stage)
    assert (await stage.events()).count(EventName.ISSUE_EDITED) == 1
