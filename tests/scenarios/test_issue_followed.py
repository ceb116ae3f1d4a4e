"""What people do with an issue while it is worked on ends the work, and leaves what it did."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, submit
from overlord.engine.issues import missing_issue
from overlord.engine.issues.projection import projection_key
from overlord.errors import ForgeMissing, ForgeMoved, ForgeRefused, ForgeUnavailable
from overlord.store import jobs
from tests.engine.between import Between, Instead, forge_world, listens
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

LOCKED = ForgeRefused("403 Unable to create comment because issue is locked.")
HOUR_S = 3600.0
OTHER = "acme/other"


def is_told(connection: sqlite3.Connection) -> bool:
    job = jobs.get(connection, 1)
    return job.projected == projection_key(job)


async def work_under_way(world: World) -> int:
    number = await world.issue("add() subtracts")
    world.model_will(world.hold())
    await world.until_holding()
    return number


async def test_a_closed_issue_stops_its_job() -> None:
    async with made_memory_world() as world:
        number = await work_under_way(world)
        await world.forge.close_issue(REPO, number, reason="not_planned")
        await world.settle()
        job = await world.job()
        assert (job.state, job.reason) == (JobState.CANCELLED, "the issue was closed")
        assert world.forge.issue(REPO, number).labels == ()
        assert (await world.events()).count("issue_closed") == 1


async def test_a_closed_issue_takes_its_question_back() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(call("task_blocked", reason="Why?"))
        await world.settle()
        await world.forge.close_issue(REPO, number)
        await world.settle()
        assert (await world.job()).state is JobState.CANCELLED
        assert await world.decisions() == []


async def test_an_issue_that_a_merge_closes_is_done_and_not_stopped() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        await world.forge.merge(REPO, (await world.job()).pull_number or 0)
        await world.settle()
        assert (await world.job()).state is JobState.COMPLETED


async def test_work_whose_label_is_taken_off_stops() -> None:
    async with made_memory_world() as world:
        number = await work_under_way(world)
        await world.until(lambda: world.read(is_told))
        await world.forge.unlabel(REPO, number, "in-progress")
        await world.settle()
        job = await world.job()
        assert (job.state, job.reason) == (
            JobState.CANCELLED,
            "somebody took the label in-progress off",
        )


async def test_a_label_that_is_put_on_again_while_work_is_under_way_changes_nothing() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.forge.label(REPO, number, "nebulus-ready")
        await world.make_due()
        await world.until(lambda: True)
        assert [job.state for job in await world.jobs()] == [JobState.RUNNING]
        world.let_go()
        await world.settle()
        assert [job.state for job in await world.jobs()] == [JobState.IN_REVIEW]
        assert world.forge.issue(REPO, number).labels == ("in-review",)
        assert len(world.forge.comments(REPO, number)) == 1


async def test_an_issue_that_is_locked_is_worked_on() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        await world.forge.lock_issue(REPO, number)
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_where_a_locked_conversation_takes_no_comment_the_work_goes_on_and_the_log_says_so() -> None:
    async with forge_world() as (world, forge):
        forge.fails("add_comment", LOCKED)
        forge.fails("edit_comment", LOCKED)
        number = await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        with capture_logs() as logs:
            await world.settle()
            await world.until(lambda: world.read(is_told))
        job = await world.job()
        assert (job.state, job.reason, job.comment_id) == (JobState.IN_REVIEW, "", None)
        assert world.forge.issue(REPO, number).labels == ("in-review",)
        assert world.forge.comments(REPO, number) == []
        refused = [entry for entry in logs if entry["event"] == "comment_refused"]
        assert refused and all(str(LOCKED) == entry["reason"] for entry in refused)
        assert not [entry for entry in logs if entry["event"] == "step_put_off"], "it is not tried again"
        with capture_logs() as logs:
            await world.settle()
        assert logs == []


async def test_a_command_in_a_locked_conversation_is_obeyed_without_a_reaction() -> None:
    async with forge_world() as (world, forge):
        forge.fails("react", LOCKED)
        forge.fails("add_comment", LOCKED)
        number = await world.forge.open_issue(REPO, "add() subtracts")
        await world.forge.comment(REPO, number, "/overlord work")
        world.model_will(edit(*FIX), submit())
        with capture_logs() as logs:
            await world.settle()
            await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert [entry["event"] for entry in logs].count("not_acknowledged") == 1


async def test_a_comment_that_is_refused_for_anything_else_is_tried_again() -> None:
    async with forge_world() as (world, forge):
        forge.fails("add_comment", ForgeRefused("403 Resource not accessible by integration"))
        number = await waiting(world)
        await world.until(lambda: world.overlord.tick.next_delay_s() is not None)
        forge.is_well()
        await world.until(lambda: world.read(is_told))
        assert len(world.forge.comments(REPO, number)) == 1


async def waiting(world: World) -> int:
    """An issue whose job waits for a person."""
    number = await world.issue("add() subtracts")
    world.model_will(call("task_blocked", reason="Why?"))
    await world.settle()
    return number


async def vanished(world: World, forge: Between, error: Exception) -> int:
    """An issue whose job waits for a person, and that the forge does not show any more, listed or asked for."""
    number = await waiting(world)
    await world.until(lambda: world.read(is_told))
    disappears(forge, number, error)
    return number


def disappears(forge: Between, number: int, error: Exception) -> None:
    async def nothing(real: Instead, *arguments: Any) -> Sequence[Any]:
        await real(*arguments)
        return []

    forge.fails("issue", error, about=number)
    forge.instead["issues_since"] = nothing


async def an_hour_later(world: World) -> None:
    world.clock.move(HOUR_S)
    await world.settle()


async def test_a_deleted_issue_that_is_missing_for_an_hour_ends_its_job_and_leaves_what_it_did() -> None:
    async with made_memory_world() as world:
        number = await waiting(world)
        await world.until(lambda: world.read(is_told))
        await world.forge.delete_issue(REPO, number)
        await an_hour_later(world)
        job = await world.job()
        assert (job.state, job.issue_missing_at) == (JobState.WAITING, world.clock.now())
        await world.settle()
        assert (await world.job()).state is JobState.WAITING
        await an_hour_later(world)
        job = await world.job()
        assert (job.state, job.reason) == (JobState.CANCELLED, missing_issue.GONE)
        assert await world.decisions() == []
        assert (await world.events()).count("issue_closed") == 1
        assert await world.read(lambda c: list(c.execute("SELECT * FROM evidence")))
        await world.until(lambda: world.read(is_told))


async def test_a_transferred_issue_ends_its_job_at_the_first_look_and_leaves_its_pull_request() -> None:
    async with made_memory_world() as world:
        await world.forge.create_repository(OTHER)
        number = await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        await world.until(lambda: world.read(is_told))
        moved = await world.forge.transfer_issue(REPO, number, OTHER)
        said = [comment.body for comment in world.forge.comments(OTHER, moved)]
        await an_hour_later(world)
        job = await world.job()
        assert (job.state, job.reason) == (JobState.CANCELLED, f"the issue was moved to {OTHER}#{moved}")
        assert (await world.events()).count("issue_closed") == 1
        [pull] = world.forge.pulls(REPO)
        assert pull.open
        await world.until(lambda: world.read(is_told))
        assert [comment.body for comment in world.forge.comments(OTHER, moved)] == said


@pytest.mark.parametrize(
    ("to", "told"), [("", "another repository"), (f"{OTHER}#3\u202e\n", f"{OTHER}#3"), ("x" * 999, "x" * 200)]
)
async def test_wherever_an_issue_was_moved_its_job_ends(to: str, told: str) -> None:
    async with forge_world() as (world, forge):
        await vanished(world, forge, ForgeMoved("301 Moved Permanently", to=to))
        await an_hour_later(world)
        assert (await world.job()).reason == f"the issue was moved to {told}"


async def test_an_issue_that_is_there_again_was_never_gone() -> None:
    async with forge_world() as (world, forge):
        number = await vanished(world, forge, ForgeMissing("404 Not Found"))
        for _ in range(2):
            await an_hour_later(world)
            assert (await world.job()).issue_missing_at is not None
            forge.is_well()
            await world.forge.comment(REPO, number, "It is here.")
            await world.settle()
            assert (await world.job()).issue_missing_at is None
            disappears(forge, number, ForgeMissing("404 Not Found"))
        await an_hour_later(world)
        forge.instead.pop("issue")
        await an_hour_later(world)
        job = await world.job()
        assert (job.state, job.issue_missing_at) == (JobState.WAITING, None)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("repository", ForgeMissing("404 Not Found")),
        ("repository", ForgeUnavailable("502")),
        ("issue", ForgeUnavailable("502")),
        ("issues_since", ForgeMissing("410 Issues are disabled for this repo")),
    ],
)
async def test_what_may_be_our_own_blindness_ends_nothing(call: str, error: Exception) -> None:
    async with forge_world() as (world, forge):
        await vanished(world, forge, ForgeMissing("404 Not Found"))
        forge.fails(call, error)
        for _ in range(4):
            await an_hour_later(world)
        job = await world.job()
        assert (job.state, job.issue_missing_at) == (JobState.WAITING, None)


async def test_a_clock_that_was_set_back_counts_the_hour_anew() -> None:
    async with forge_world() as (world, forge):
        number = await vanished(world, forge, ForgeMissing("404 Not Found"))
        await an_hour_later(world)
        world.clock.jump(-10 * HOUR_S)
        await world.forge.comment(REPO, number, "Somebody is here.")
        await world.settle()
        assert (await world.job()).issue_missing_at == world.clock.now()
        assert (await world.job()).state is JobState.WAITING


async def test_to_look_for_issues_costs_a_request_for_each_open_job_in_an_hour() -> None:
    async with forge_world() as (world, forge):
        await waiting(world)
        await world.until(lambda: world.read(is_told))
        asked = listens(forge, "issue")
        for _ in range(18):
            await world.forge.comment(REPO, 1, "There is always something new.")
            world.clock.move(HOUR_S / 6 - 61)
            await world.settle()
        assert 2 <= len(asked) <= 3
