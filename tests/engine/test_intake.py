"""What a poll takes up: one thing that cannot be read keeps no other waiting, and an old listing is not believed."""

from functools import partial
from typing import Any

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.errors import ExternalServiceError, ForgeMissing, ForgeUnavailable
from overlord.store import jobs
from overlord.store.spaces import spaces
from tests.engine.between import Between, Instead, forge_world, listens
from tests.world import CALC, FIX, REPO, World

UNREADABLE = {**CALC, ".nebulus/environment.yaml": "setups: x\n"}
"""A repository every job of which waits for a person at once."""
WORK = "nebulus-ready"
HOUR_S = 3600.0


async def polled(world: World) -> None:
    """A poll is made, and what follows from it by itself."""
    await world.settle()


async def trouble(world: World) -> str:
    return str((await world.read(lambda c: spaces.get(c, REPO))).trouble)


@pytest.mark.parametrize(
    "error", [ForgeUnavailable("502 for these comments"), ForgeMissing("404 for these comments")]
)
async def test_an_issue_that_cannot_be_read_keeps_no_other_waiting(error: ExternalServiceError) -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        bad, good = await world.issue("one"), await world.issue("two")
        forge.fails("comments", error, about=bad)
        await polled(world)
        assert [job.issue.number for job in await world.jobs()] == [good]
        assert await trouble(world) == str(error)
        forge.is_well()
        await polled(world)
        assert [job.issue.number for job in await world.jobs()] == [good, bad]
        assert await trouble(world) == ""


async def test_a_pull_request_that_cannot_be_read_keeps_no_other_waiting() -> None:
    async with forge_world(vet_skills=False) as (world, forge):  # which reads it too
        for number in (1, 2):
            await world.issue(f"add() subtracts ({number})")
            world.model_will(edit(*FIX), submit(), when=f"({number})")
        await world.settle()
        first, second = [job.pull_number or 0 for job in await world.jobs()]
        forge.fails("pull", ForgeUnavailable("502 for this one"), about=first)
        await world.forge.merge(REPO, second)
        await polled(world)
        assert [job.state for job in await world.jobs()] == [JobState.IN_REVIEW, JobState.COMPLETED]
        assert await trouble(world) == "502 for this one"


async def test_of_many_troubles_the_first_is_told_and_how_many_there_are() -> None:
    async with forge_world() as (world, forge):
        for number in (1, 2, 3):
            await world.issue(f"add() subtracts ({number})")
        forge.fails("comments", ForgeUnavailable("502"))
        await polled(world)
        assert await trouble(world) == "502 (and 2 more)"


async def test_a_forge_that_asks_to_wait_is_left_alone_for_as_long() -> None:
    async with forge_world() as (world, forge):
        for number in (1, 2):
            await world.issue(f"add() subtracts ({number})")
        world.model_will(submit())
        limit = ForgeUnavailable("rate limit; asked to wait", retry_after_s=HOUR_S / 2)
        forge.fails("comments", limit)
        await world.make_due()
        await world.until(lambda: True)
        assert (await world.jobs(), await trouble(world)) == ([], str(limit))
        forge.is_well()
        asked, listings = listens(forge, "comments"), listens(forge, "issues_labelled")
        for _ in range(3):
            world.clock.move(interval_s(world.overlord.parts.settings) + 1)
            await world.until(lambda: True)
        assert (asked, listings) == ([], [])
        world.clock.move(HOUR_S / 2)
        await world.until(lambda: True)
        assert len(listings) == 1
        assert len(await world.jobs()) == 2


async def test_a_poll_asks_for_the_repository_once_however_many_issues_are_claimed() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        asked = listens(forge, "repository")
        for number in (1, 2, 3):
            await world.issue(f"add() subtracts ({number})")
        await polled(world)
        assert (len(await world.jobs()), len(asked)) == (3, 2), "once to know it, once for its base branch"
        await polled(world)
        assert len(asked) == 2, "nothing was there to be claimed"


def remembers(forge: Between) -> None:
    """From now on a listing shows the issues as they were when some were labelled first: GitHub's may be old."""
    first: list[Any] = []

    async def listing(real: Instead, *arguments: Any) -> Any:
        first[:] = first or await real(*arguments)
        return first

    forge.instead["issues_labelled"] = listing


async def test_a_question_outlives_a_listing_that_still_shows_the_label_it_was_taken_up_with() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        issue = await world.issue("add() subtracts")
        remembers(forge)
        await polled(world)
        [asked] = await world.decisions()
        await polled(world)
        assert await world.decisions() == [asked]
        assert "work_resumed" not in await world.events()
        await world.forge.label(REPO, issue, WORK)
        await polled(world)
        assert (await world.events()).count("work_resumed") == 1
        [again] = await world.decisions()
        assert again.id != asked.id
        await polled(world)
        assert await world.decisions() == [again], "the label was taken off"


async def test_a_job_that_is_over_is_not_begun_anew_by_an_old_listing() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        issue = await world.issue("add() subtracts")
        remembers(forge)
        await polled(world)
        await world.stop_job()
        await polled(world)
        assert [job.state for job in await world.jobs()] == [JobState.CANCELLED]
        await world.forge.label(REPO, issue, WORK)
        await polled(world)
        assert [job.state for job in await world.jobs()] == [JobState.CANCELLED, JobState.WAITING]


async def test_an_answer_given_while_the_label_is_looked_at_is_carried_out_and_asks_nothing_anew() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        issue = await world.issue("add() subtracts")
        await polled(world)
        [asked] = await world.decisions()
        assert asked.subject is Subject.ENVIRONMENT
        await world.forge.label(REPO, issue, WORK)

        async def meanwhile(real: Instead, *arguments: Any) -> Any:
            forge.is_well()
            await world.answer(asked, Verb.DROP)
            return await real(*arguments)

        forge.instead["issue"] = meanwhile
        await polled(world)
        await polled(world)
        assert [job.state for job in await world.jobs()] == [JobState.CANCELLED]
        events = await world.events()
        assert ("work_resumed" in events, events.count("decision_raised")) == (False, 1)
        assert world.forge.issue(REPO, issue).labels == (), "what was labelled before the end is over with it"


async def test_a_label_asks_for_nothing_once_its_issue_is_closed() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        issue = await world.issue("add() subtracts")
        remembers(forge)
        await polled(world)
        await world.forge.label(REPO, issue, WORK)
        await world.forge.close_issue(REPO, issue)
        await polled(world)
        assert "work_resumed" not in await world.events()


async def test_a_job_that_ended_before_its_label_was_taken_off_is_not_begun_anew() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        issue = await world.issue("add() subtracts")
        forge.fails("remove_label", ForgeUnavailable("502"))
        await polled(world)
        await world.stop_job()
        await polled(world)
        await polled(world)
        forge.is_well()
        await world.until(lambda: world.overlord.tick.next_delay_s() is None)
        await polled(world)
        assert [job.state for job in await world.jobs()] == [JobState.CANCELLED]
        assert world.forge.issue(REPO, issue).labels == ()


async def test_comments_that_cannot_be_listed_keep_no_merge_from_being_seen() -> None:
    async with forge_world() as (world, forge):
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        forge.fails("comments_since", ForgeMissing("404 for the comments"))
        await world.forge.merge(REPO, (await world.job()).pull_number or 0)
        await polled(world)
        assert (await world.job()).state is JobState.COMPLETED
        assert await trouble(world) == "404 for the comments"


async def test_an_issue_closed_while_its_job_moves_still_ends_it() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        issue = await world.issue("add() subtracts")
        await polled(world)
        await world.forge.close_issue(REPO, issue)

        async def meanwhile(real: Instead, *arguments: Any) -> Any:
            forge.is_well()
            resume = partial(jobs.move, job_id=1, event=EventName.WORK_RESUMED, at=world.clock.now())
            await world.overlord.parts.database.write("by hand", resume)
            return await real(*arguments)

        forge.instead["pulls_from"] = meanwhile
        await polled(world)
        assert (await world.job()).state is JobState.CANCELLED


async def test_a_deleted_command_is_obeyed_and_owed_no_reaction_for_ever() -> None:
    async with forge_world() as (world, forge):
        issue = await world.forge.open_issue(REPO, "add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.forge.comment(REPO, issue, "/overlord work")
        forge.fails("react", ForgeMissing("404 for that comment"))
        await polled(world)
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await trouble(world) == ""
        forge.is_well()
        reacted = listens(forge, "react")
        await polled(world)
        assert reacted == []


async def test_a_label_that_does_not_count_costs_no_reading_of_comments_at_each_poll() -> None:
    async with forge_world() as (world, forge):
        await world.forge.open_issue(REPO, "add() subtracts", labels=[WORK], author="mallory")
        await polled(world)
        read = listens(forge, "comments")
        await polled(world)
        assert (await world.jobs(), read) == ([], [])


async def test_more_jobs_than_pull_requests_may_be_open_wait_and_say_so_urgent_ones_in_front() -> None:
    async with forge_world(delivery={"open_pulls": 1}) as (world, _):
        for number in (1, 2):
            await world.issue(f"add() subtracts ({number})")
            world.model_will(edit(*FIX), submit(), when=f"({number})")
        await polled(world)
        urgent = await world.forge.open_issue(REPO, "add() subtracts (3)", labels=[WORK, "high-priority"])
        world.model_will(edit(*FIX), submit(), when="(3)")
        await polled(world)
        states = [JobState.IN_REVIEW, JobState.QUEUED, JobState.QUEUED]
        assert [job.state for job in await world.jobs()] == states
        for waiting in (2, urgent):
            [comment] = world.forge.comments(REPO, waiting)
            assert "no more than 1 pull request of Overlord's" in comment.body
            assert "in-progress" in world.forge.issue(REPO, waiting).labels
        await world.forge.close_pull(REPO, (await world.job()).pull_number or 0)
        await polled(world)
        states = [JobState.CANCELLED, JobState.QUEUED, JobState.IN_REVIEW]
        assert [job.state for job in await world.jobs()] == states
        [comment] = world.forge.comments(REPO, urgent)
        assert "no more than" not in comment.body
