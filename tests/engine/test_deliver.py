"""Delivery: what passed is pushed and becomes a ready pull request, once, whatever stood there before; a refusal is a person's."""

import pytest

from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.engine.delivery import deliver
from overlord.errors import ForgeUnavailable
from overlord.store import jobs
from tests.engine.between import heard
from tests.engine.stage import NAME, Stage
from tests.world import REPO


async def test_what_passed_becomes_a_ready_pull_request_and_its_commit_says_so(stage: Stage) -> None:
    await stage.passed()
    job = await stage.step(deliver.step)
    pull = stage.world.forge.pull(REPO, job.pull_number or 0)
    assert (job.state, job.pushed_sha) == (JobState.IN_REVIEW, job.head_sha)
    assert (pull.head_sha, pull.draft, pull.base_branch) == (job.head_sha, False, "main")
    assert f"Closes #{job.issue.number}" in pull.body
    assert [status.state for status in stage.world.forge.statuses(REPO, pull.head_sha)] == ["success"]


async def test_a_draft_that_was_shown_is_the_one_that_becomes_ready(stage: Stage) -> None:
    job = await stage.submitted()
    assert await deliver.push_draft(stage.parts, job)
    shown = await stage.job()
    assert stage.world.forge.pull(REPO, shown.pull_number or 0).draft
    assert not await deliver.push_draft(stage.parts, shown), "it is shown once"
    await stage.passed(shown)
    job = await stage.step(deliver.step)
    assert job.pull_number == shown.pull_number
    assert not stage.world.forge.pull(REPO, job.pull_number or 0).draft


async def test_a_push_and_a_pull_request_that_were_not_noted_are_found_and_not_made_again(
    stage: Stage,
) -> None:
    job = await stage.passed()
    head, remote = job.head, await stage.parts.forge.remote(NAME)
    await stage.write(jobs.repair, job.id, pushing_sha=head)
    await stage.parts.git.push(NAME, remote, sha=head, branch=job.branch, expected=None)
    opened = await stage.parts.forge.open_pull(
        NAME, branch=job.branch, base="main", title="x", body="x", draft=True
    )
    job = await stage.step(deliver.step)
    assert (job.state, job.pull_number) == (JobState.IN_REVIEW, opened.number)
    created = [seen for seen in stage.world.forge.requests if seen.operation == "pulls/create"]
    assert (len(stage.world.forge.pulls(REPO)), len(created)) == (1, 1)


async def test_a_branch_that_somebody_moved_is_left_alone_and_a_person_is_asked(stage: Stage) -> None:
    job = await stage.passed()
    theirs = await stage.world.forge.push_files(REPO, job.branch, {"x": "theirs"}, "Mine")
    job = await stage.step(deliver.step)
    assert (job.state, (await stage.asked()).subject) == (JobState.WAITING, Subject.DELIVERY_REFUSED)
    assert (await stage.world.forge.heads(REPO))[job.branch] == theirs
    assert stage.world.forge.pulls(REPO) == []


async def test_a_refused_pull_request_is_a_persons_and_what_is_unavailable_is_nobodys(stage: Stage) -> None:
    await stage.passed()
    stage.world.forge.fail("pulls/create", kind="500", times=1)
    with pytest.raises(ForgeUnavailable):
        await stage.step(deliver.step)
    assert (await stage.job()).state is JobState.DELIVERING
    stage.world.forge.fail("pulls/create", kind="403", times=1)
    await stage.step(deliver.step)
    assert (await stage.asked()).subject is Subject.DELIVERY_REFUSED


async def test_a_draft_that_is_refused_is_not_tried_again_until_there_is_another_head(stage: Stage) -> None:
    job = await stage.submitted()
    await stage.world.forge.push_files(REPO, job.branch, {"x": "theirs"}, "Mine")
    assert not await deliver.push_draft(stage.parts, job)
    with heard() as reached:
        assert not await deliver.push_draft(stage.parts, await stage.job())
    assert reached == []
    assert stage.parts.drafts_refused == {job.id: job.head_sha}


async def test_a_status_that_is_refused_holds_up_no_delivery(stage: Stage) -> None:
    await stage.passed()
    stage.world.forge.fail("repos/create-commit-status", kind="403", times=1)
    assert (await stage.step(deliver.step)).state is JobState.IN_REVIEW


async def test_a_second_head_moves_the_branch_from_where_it_was(stage: Stage) -> None:
    job = await stage.submitted()
    await deliver.push_draft(stage.parts, job)
    first = await stage.job()
    second = await stage.commit(first, {"other.py": "x = 1\n"})
    job = await stage.write(jobs.repair, job.id, head_sha=second)
    await stage.passed(job)
    job = await stage.step(deliver.step)
    assert stage.world.forge.pull(REPO, job.pull_number or 0).head_sha == second
