"""An issue that somebody wishes worked on is taken up as it stands, goes on, or is answered with why not: once, by who asked."""

from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.engine.intake import work_requests as work_request
from overlord.engine.runtime.poll_errors import PollErrors
from overlord.store import jobs
from overlord.store.spaces import spaces, work_requests
from overlord.store.spaces.work_requests import WorkRequest, WorkRequestState
from overlord.verbs.commands import work_on
from tests.engine.stage import NAME, Stage
from tests.world import REPO


async def wished(stage: Stage, number: int) -> WorkRequest:
    """Alice asks for work on an issue."""
    at = stage.parts.clock.now()
    asked: WorkRequest = await stage.write(work_on, REPO, number, actor="cli:alice", at=at)
    return asked


async def answered(stage: Stage, asked: WorkRequest) -> tuple[WorkRequestState, str]:
    await work_request.grant(stage.parts, NAME, PollErrors())
    found = await stage.read(work_requests.get, asked.id)
    return found.state, found.answer


async def issue(stage: Stage, title: str = "add() subtracts", body: str = "Mend it.") -> int:
    return await stage.world.forge.open_issue(REPO, title, body)


async def test_it_is_taken_up_with_its_text_and_comments_in_the_name_of_who_asked(stage: Stage) -> None:
    number = await issue(stage)
    await stage.world.forge.comment(REPO, number, "And soon.")
    state, said = await answered(stage, await wished(stage, number))
    job = await stage.job()
    assert (state, said) == (WorkRequestState.GRANTED, f"Job 1 takes up {job.issue_ref}.")
    assert (job.issue.body, [item.body for item in job.issue.comments]) == ("Mend it.", ["And soon."])
    [claimed] = await stage.read(
        lambda c: c.execute("SELECT actor FROM ledger WHERE name = 'claimed'").fetchall()
    )
    assert claimed["actor"] == "cli:alice"


async def test_a_job_that_waits_for_people_goes_on_and_one_at_work_is_left(stage: Stage) -> None:
    number = await issue(stage)
    asked = await wished(stage, number)
    await stage.claimed_issue(number)
    state, said = await answered(stage, asked)
    assert (state, said) == (WorkRequestState.REFUSED, f"Job 1 works on {REPO}#1 already: it is queued.")
    await stage.move(await stage.job(), EventName.DISPATCH_REFUSED)
    state, _ = await answered(stage, await wished(stage, number))
    assert (state, (await stage.job()).state) == (WorkRequestState.GRANTED, JobState.QUEUED)


async def test_what_is_no_open_issue_is_told_and_begins_nothing(stage: Stage) -> None:
    closed = await issue(stage)
    await stage.world.forge.close_issue(REPO, closed)
    await stage.world.forge.push_files(REPO, "topic", {"x": "1"}, "x")
    pull = await stage.parts.forge.open_pull(
        NAME, branch="topic", base="main", title="x", body="", draft=False
    )
    for number, why in ((closed, "is closed"), (pull.number, "is a pull request"), (99, "there is no issue")):
        state, said = await answered(stage, await wished(stage, number))
        assert (state, why in said.casefold() or why in said) == (WorkRequestState.REFUSED, True)
    assert await stage.read(jobs.all_jobs) == []


async def test_a_text_that_was_changed_behind_the_wish_is_not_begun(stage: Stage) -> None:
    number = await issue(stage)
    asked = await wished(stage, number)
    await stage.world.forge.edit_issue(REPO, number, body="Do something else.")
    state, said = await answered(stage, asked)
    assert (state, "was edited after that was asked" in said) == (WorkRequestState.REFUSED, True)
    assert await stage.read(jobs.all_jobs) == []


async def test_a_forge_that_does_not_answer_is_asked_for_an_hour_and_a_refusal_is_told_at_once(
    stage: Stage,
) -> None:
    asked = await wished(stage, await issue(stage))
    stage.world.forge.fail("issues/get", kind="500", times=2)
    assert (await answered(stage, asked))[0] is WorkRequestState.OPEN
    stage.world.clock.move(work_request.PATIENCE.total_seconds() + 1)
    state, said = await answered(stage, asked)
    assert (state, said) == (WorkRequestState.REFUSED, "The forge does not answer; ask again later.")
    refused = await wished(stage, await issue(stage, "Another"))
    stage.world.forge.fail("issues/get", kind="403", times=1)
    state, said = await answered(stage, refused)
    assert (state, said.startswith("The forge says no: ")) == (WorkRequestState.REFUSED, True)


async def test_a_repository_that_cannot_be_found_takes_up_nothing(stage: Stage) -> None:
    asked = await wished(stage, await issue(stage))
    await stage.write(spaces.pause, REPO, paused=True)
    state, _ = await answered(stage, asked)
    assert (state, await stage.read(jobs.all_jobs)) == (WorkRequestState.REFUSED, [])
