"""Labels and the one comment say what the row says, also after a failure half-way, and leave to others what is theirs."""

import sqlite3

import pytest

from overlord.domain.decision import Decision, Verb
from overlord.domain.job import JobState
from overlord.engine.issues.projection import COMMENT_MARK, projection_key, step
from overlord.errors import ForgeRefused, ForgeUnavailable
from overlord.store import jobs
from overlord.store.rows import update
from tests.engine.between import forge_world, listens
from tests.engine.by_hand import job_by_hand
from tests.world import CALC, REPO, World

UNREADABLE = {**CALC, ".nebulus/environment.yaml": "setups: x\n"}
"""A repository every job of which waits for a person at once."""
WORK = "nebulus-ready"
UNWELL = ForgeUnavailable("502")


def labels(world: World) -> set[str]:
    return set(world.forge.issue(REPO, 1).labels)


def comments(world: World, job: int = 1) -> list[str]:
    """What the job's comments on its issue say."""
    mark = COMMENT_MARK.replace("job", f"job {job}")
    return [comment.body for comment in world.forge.comments(REPO, 1) if mark in comment.body]


async def comment_id(world: World) -> int:
    return (await world.job()).comment_id or 0


async def waiting(world: World) -> Decision:
    """A job that waits for a person, and the issue says so."""
    await world.issue("add() subtracts")
    await world.settle()
    [decision] = await world.decisions()
    assert labels(world) == {"needs-attention"}
    return decision


async def delayed(world: World) -> None:
    """Something that was begun failed, and is to be tried again later."""
    await world.until(lambda: world.overlord.tick.next_delay_s() is not None)


async def told(world: World) -> None:
    """What was put off is tried again until there is nothing more to tell; then comes a poll."""
    await world.until(lambda: world.overlord.tick.next_delay_s() is None)
    await world.settle()


async def test_what_failed_half_way_is_put_right_also_when_the_row_says_the_old_thing_again() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        await waiting(world)
        before, said = await world.job(), comments(world)

        async def stands(state: JobState, reason: str) -> None:
            def put(connection: sqlite3.Connection) -> None:
                update(connection, "jobs", before.id, {"state": state, "reason": reason})

            await world.overlord.parts.database.write("by hand", put)

        forge.fails("edit_comment", UNWELL)
        await stands(JobState.IN_REVIEW, "")
        await delayed(world)
        assert (labels(world), comments(world)) == ({"in-review"}, said)
        await stands(before.state, before.reason)
        forge.is_well()
        await told(world)
        assert (labels(world), comments(world)) == ({"needs-attention"}, said)
        assert (await world.job()).projected == before.projected


async def test_a_change_costs_no_more_than_a_look_at_the_labels_and_an_edit() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        await waiting(world)
        made = {name: listens(forge, name) for name in ("issue", "comments", "add_comment", "edit_comment")}
        await world.stop_job()
        await told(world)
        assert {name: len(calls) for name, calls in made.items() if calls} == {"issue": 1, "edit_comment": 1}


async def test_a_comment_that_was_deleted_is_written_anew() -> None:
    async with forge_world(UNREADABLE) as (world, _):
        decision = await waiting(world)
        gone = await comment_id(world)
        await world.forge.delete_comment(REPO, 1, gone)
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        await told(world)
        [asked] = await world.decisions()
        [said] = comments(world)
        assert f"`/overlord answer {asked.id} retry`" in said
        assert await comment_id(world) not in (0, gone)
        assert (await world.job()).projected.startswith(JobState.WAITING)


async def test_before_a_comment_is_written_anew_it_is_looked_for() -> None:
    async with forge_world(UNREADABLE) as (world, _):
        decision = await waiting(world)
        known = await comment_id(world)
        database = world.overlord.parts.database
        await database.write("by hand", lambda c: jobs.repair(c, 1, comment_id=known + 1000))
        await world.answer(decision, Verb.DROP)
        await world.settle()
        await told(world)
        assert (len(comments(world)), await comment_id(world)) == (1, known)


async def test_the_end_of_a_job_that_is_told_late_leaves_the_labels_to_the_next_one() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        await waiting(world)
        forge.fails("edit_comment", UNWELL, about=await comment_id(world))
        await world.stop_job()
        await delayed(world)
        await world.forge.label(REPO, 1, WORK)
        await world.settle()
        forge.is_well()
        await told(world)
        first, second = await world.jobs()
        assert (first.state, second.state) == (JobState.CANCELLED, JobState.WAITING)
        assert labels(world) == {"needs-attention"}
        assert first.projected == first.state
        assert (len(comments(world, 1)), len(comments(world, 2))) == (1, 1)


async def test_the_end_of_a_job_that_is_told_late_leaves_a_label_that_asks_for_the_next_one() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        await waiting(world)
        forge.fails("issue", UNWELL)
        await world.stop_job()
        await delayed(world)
        await world.forge.label(REPO, 1, WORK)
        forge.is_well()
        await told(world)
        assert [job.state for job in await world.jobs()] == [JobState.CANCELLED, JobState.WAITING]


async def test_a_label_that_cannot_be_taken_off_resumes_its_job_once() -> None:
    async with forge_world(UNREADABLE) as (world, forge):
        await waiting(world)
        forge.fails("remove_label", UNWELL)
        await world.forge.label(REPO, 1, WORK)
        for _ in range(3):
            await world.settle()
        assert WORK in labels(world)
        forge.is_well()
        await told(world)
        assert labels(world) == {"needs-attention"}
        assert (await world.events()).count("work_resumed") == 1


async def test_a_refused_listing_keeps_neither_labels_nor_comment_from_saying_that_a_job_waits() -> None:
    async with forge_world() as (world, forge):
        job = await job_by_hand(world, JobState.WAITING, pushing_sha="c" * 40, pushed_sha="c" * 40)
        await world.forge.label(REPO, 1, "in-progress")
        forge.fails("pulls_from", ForgeRefused("403"))
        with pytest.raises(ForgeRefused, match="403"):
            await step(world.overlord.parts, job)
        assert (labels(world), len(comments(world))) == ({"needs-attention"}, 1)
        assert await comment_id(world)
        await world.forge.label(REPO, 1, WORK)
        with pytest.raises(ForgeRefused):
            await step(world.overlord.parts, job)
        assert WORK in labels(world), "a person put it there after all labels of ours were right"
        forge.is_well()
        assert not await step(world.overlord.parts, job)
        job = await world.job()
        assert job.projected == projection_key(job)
        assert len(comments(world)) == 1


async def test_a_refused_label_does_not_keep_the_comment_from_being_written() -> None:
    async with forge_world() as (world, forge):
        job = await job_by_hand(world, JobState.WAITING)
        forge.fails("add_label", ForgeRefused("403"))
        with pytest.raises(ForgeRefused, match="403"):
            await step(world.overlord.parts, job)
        assert len(comments(world)) == 1
        assert (await world.job()).projected == ""


async def test_a_forge_that_does_not_answer_is_asked_for_nothing_more() -> None:
    async with forge_world() as (world, forge):
        job = await job_by_hand(world, JobState.WAITING)
        forge.fails("issue", UNWELL)
        asked = listens(forge, "comments")
        with pytest.raises(ForgeUnavailable):
            await step(world.overlord.parts, job)
        assert asked == []
