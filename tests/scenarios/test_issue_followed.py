"""What people do with an issue while it is worked on ends the work, and leaves what it did."""

import sqlite3

from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, submit
from overlord.engine.project import projection_key
from overlord.store import jobs
from tests.world import FIX, REPO, World, made_world


def is_told(connection: sqlite3.Connection) -> bool:
    job = jobs.get(connection, 1)
    return job.projected == projection_key(job)


async def work_under_way(world: World) -> int:
    number = await world.issue("add() subtracts")
    world.model_will(world.hold())
    await world.until_holding()
    return number


async def test_a_closed_issue_stops_its_job() -> None:
    async with made_world() as world:
        number = await work_under_way(world)
        await world.forge.close_issue(REPO, number, reason="not_planned")
        await world.settle()
        job = await world.job()
        assert (job.state, job.reason) == (JobState.CANCELLED, "the issue was closed")
        assert world.forge.issue(REPO, number).labels == ()
        assert (await world.events()).count("issue_closed") == 1


async def test_a_closed_issue_takes_its_question_back() -> None:
    async with made_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(call("task_blocked", reason="Why?"))
        await world.settle()
        await world.forge.close_issue(REPO, number)
        await world.settle()
        assert (await world.job()).state is JobState.CANCELLED
        assert await world.decisions() == []


async def test_an_issue_that_a_merge_closes_is_done_and_not_stopped() -> None:
    async with made_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        await world.forge.merge(REPO, (await world.job()).pull_number or 0)
        await world.settle()
        assert (await world.job()).state is JobState.COMPLETED


async def test_work_whose_label_is_taken_off_stops() -> None:
    async with made_world() as world:
        number = await work_under_way(world)
        await world.until(lambda: world.read(is_told))
        await world.forge.unlabel(REPO, number, "in-progress")
        await world.settle()
        job = await world.job()
        assert (job.state, job.reason) == (
            JobState.CANCELLED,
            "somebody took the label in-progress off",
        )


async def test_an_issue_that_is_locked_is_worked_on() -> None:
    async with made_world() as world:
        number = await world.issue("add() subtracts")
        await world.forge.lock_issue(REPO, number)
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
