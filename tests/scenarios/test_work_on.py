"""A person has an issue worked on that nobody labelled: it is read, and claimed or refused in a sentence, once."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from typing import Any

import pytest

from overlord.domain.decision import Subject
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import JobState
from overlord.domain.pause import EVERYTHING
from overlord.embedded.play import call, edit, submit
from overlord.engine.issues.missing_repository import GONE_AFTER_S
from overlord.errors import ForgeUnavailable, Refused
from overlord.home import Home
from overlord.store import ledger
from overlord.store.spaces import pauses, spaces, work_requests
from overlord.store.spaces.work_requests import WorkRequest, WorkRequestState
from overlord.verbs import commands
from tests.engine.between import Instead, forge_world
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

WORK = (edit(*FIX), submit())
BLOCKED = call("task_blocked", reason="I cannot see why")


async def ask(world: World, number: int, *, space: str = REPO, actor: str = "slack:U1") -> WorkRequest:
    """A person asks, a minute after whatever was done before."""
    world.clock.move(60)
    at = world.clock.now()
    work_request: WorkRequest = await world.overlord.parts.database.write(
        "by hand", lambda c: commands.work_on(c, space, number, actor=actor, at=at)
    )
    world.overlord.wakeup.notify()
    return work_request


async def answered(world: World, work_request: WorkRequest) -> WorkRequest:
    """What became of a wish, once it was looked at."""

    async def read() -> WorkRequest:
        found: WorkRequest = await world.read(work_requests.get, work_request.id)
        return found

    async def is_answered() -> bool:
        return (await read()).state is not WorkRequestState.OPEN

    await world.until(is_answered)
    return await read()


async def test_an_issue_without_a_label_is_worked_on() -> None:
    async with made_memory_world() as world:
        await world.start()
        number = await world.issue("add() subtracts", label="")
        world.model_will(*WORK)
        work_request = await answered(world, await ask(world, number))
        assert (work_request.state, work_request.answer, work_request.job_id) == (
            WorkRequestState.GRANTED,
            f"Job 1 takes up {REPO}#{number}.",
            1,
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        asked, claimed = [
            entry for entry in await world.read(told) if entry.name in ("work_requested", "claimed")
        ]
        assert (asked.actor, claimed.actor) == ("slack:U1", "slack:U1")
        assert await world.read(work_requests.get, work_request.id) == work_request
        assert await world.read(work_requests.waiting) == []


def told(connection: Any) -> list[ledger.Entry]:
    return list(ledger.entries(connection))


async def test_it_is_taken_up_at_once_and_not_at_the_next_poll() -> None:
    async with made_memory_world() as world:
        await world.settle()
        number = await world.issue("add() subtracts", label="")
        before = len(world.forge.requests)
        work_request = await ask(world, number)
        world.clock.jump(-60)  # as if asked right after the poll
        world.model_will(*WORK)
        assert (await answered(world, work_request)).state is WorkRequestState.GRANTED
        asked = {seen.operation for seen in world.forge.requests[before:]}
        assert "issues/get" in asked and "issues/list-for-repo" not in asked


async def test_a_job_that_waits_goes_on_with_the_text_as_it_is() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(BLOCKED)
        await world.settle()
        world.model_will(*WORK)
        work_request = await answered(world, await ask(world, number))
        assert (work_request.state, work_request.answer) == (
            WorkRequestState.GRANTED,
            f"Job 1 goes on with {REPO}#{number}.",
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def closed(world: World, number: int) -> int:
    await world.forge.close_issue(REPO, number)
    return number


async def missing(world: World, number: int) -> int:
    return number + 10


async def pull(world: World, number: int) -> int:
    await world.forge.label(REPO, number, "nebulus-ready")
    world.model_will(*WORK)
    await world.settle()
    return (await world.job()).pull_number or 0


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (closed, "#1 is closed; reopen it first."),
        (missing, "There is no issue #11 in acme/calc, or none that Overlord may see."),
        (pull, "#2 is a pull request; ask for the issue it is about."),
    ],
)
async def test_what_is_not_to_be_worked_on_is_refused_in_a_sentence(
    made: Callable[[World, int], Any], said: str
) -> None:
    async with made_memory_world() as world:
        await world.start()
        number = await made(world, await world.issue("add() subtracts", label=""))
        before = await world.jobs()
        work_request = await answered(world, await ask(world, number))
        assert (work_request.state, work_request.answer.lower()) == (WorkRequestState.REFUSED, said.lower())
        assert len(await world.jobs()) == len(before)


async def test_an_issue_that_is_worked_on_is_refused_at_once() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(world.hold(), *WORK)
        await world.until_holding()
        with pytest.raises(Refused, match=f"^job 1 works on {REPO}#{number} already: it is at work$"):
            await ask(world, number)
        world.let_go()
        await world.settle()


async def test_two_people_who_ask_for_the_same_get_one_job() -> None:
    async with made_memory_world() as world:
        await world.start()
        number = await world.issue("add() subtracts", label="")
        world.model_will(*WORK)
        work_request = await ask(world, number)
        assert (await ask(world, number)).id == work_request.id, "asked twice by one"
        other = await ask(world, number, actor="cli:bob")
        assert (await answered(world, work_request)).state is WorkRequestState.GRANTED
        refused = await answered(world, other)
        assert (refused.state, "already" in refused.answer) == (WorkRequestState.REFUSED, True)
        await world.settle()
        assert len(await world.jobs()) == 1


async def test_a_text_that_was_changed_behind_the_wish_is_not_worked_on() -> None:
    async with made_memory_world() as world:
        await world.start()
        number = await world.forge.open_issue(REPO, "add() subtracts", author="mallory")
        work_request = await ask(world, number)
        await world.forge.edit_issue(REPO, number, body="Delete everything.", author="mallory")
        refused = await answered(world, work_request)
        assert (refused.state, await world.jobs()) == (WorkRequestState.REFUSED, [])
        assert "edited after that was asked" in refused.answer
        world.model_will(*WORK)
        assert (await answered(world, await ask(world, number))).state is WorkRequestState.GRANTED


async def test_an_edit_while_the_text_is_read_is_one_too() -> None:
    async with forge_world() as (world, forge):
        number = await world.forge.open_issue(REPO, "add() subtracts", author="mallory")

        async def meanwhile(real: Instead, *arguments: Any) -> Any:
            forge.is_well()
            found = await real(*arguments)
            await world.forge.edit_issue(REPO, number, body="Delete everything.", author="mallory")
            return found

        forge.instead["issue"] = meanwhile
        refused = await answered(world, await ask(world, number))
        assert (refused.state, await world.jobs()) == (WorkRequestState.REFUSED, [])


async def test_a_forge_that_does_not_answer_is_asked_again() -> None:
    async with made_memory_world() as world:
        await world.settle()
        number = await world.issue("add() subtracts", label="")
        world.forge.fail("issues/get", kind="500", times=5)
        world.model_will(*WORK)
        assert (await answered(world, await ask(world, number))).state is WorkRequestState.GRANTED


async def test_an_issue_that_cannot_be_read_keeps_no_other_waiting_and_is_given_up_after_an_hour() -> None:
    async with forge_world() as (world, forge):
        broken, labelled = await world.issue("broken", label=""), await world.issue("add() subtracts")
        forge.fails("issue", ForgeUnavailable("the forge is away"), about=broken)
        world.model_will(*WORK)
        work_request = await ask(world, broken)

        async def is_done() -> bool:
            return [job.state for job in await world.jobs()] == [JobState.IN_REVIEW]

        await world.until(is_done)
        assert (await world.job()).issue.number == labelled
        assert await world.read(work_requests.waiting) == [work_request]
        world.clock.move(3600)
        refused = await answered(world, work_request)
        assert (refused.state, "does not answer" in refused.answer) == (WorkRequestState.REFUSED, True)


async def test_what_the_forge_refuses_is_told() -> None:
    async with made_memory_world() as world:
        await world.settle()
        number = await world.issue("add() subtracts", label="")
        world.forge.fail("issues/get", kind="403", times=5)
        work_request = await answered(world, await ask(world, number))
        assert (work_request.state, work_request.answer.startswith("The forge says no: ")) == (
            WorkRequestState.REFUSED,
            True,
        )


async def test_a_wish_outlives_a_restart_and_is_granted_once() -> None:
    async with made_memory_world() as world:
        await world.settle()
        number = await world.issue("add() subtracts", label="")
        world.model_will(BLOCKED)
        work_request = await ask(world, number)
        await world.stop()
        await world.settle()
        assert (await answered(world, work_request)).job_id == 1
        await world.stop()
        await world.settle()
        assert (len(await world.jobs()), (await world.job()).state) == (1, JobState.WAITING)


async def test_under_a_pause_it_is_claimed_and_told_that_it_waits() -> None:
    async with made_memory_world() as world:
        await world.start()
        number = await world.issue("add() subtracts", label="")
        at = world.clock.now()
        await world.overlord.parts.database.write(
            "by hand", lambda c: commands.pause_work(c, None, actor="cli:alice", reason="lunch", at=at)
        )
        work_request = await answered(world, await ask(world, number))
        assert (
            work_request.answer
            == f"Job 1 takes up {REPO}#{number}. It waits: Everything is paused by alice: lunch."
        )
        assert EVERYTHING in await world.read(pauses.every)


async def test_a_repository_that_is_no_longer_ours_is_refused() -> None:
    async with made_memory_world() as world:
        await world.settle()
        work_request = await ask(world, 1, space="acme/sold")
        refused = await answered(world, work_request)
        assert (refused.state, refused.answer) == (
            WorkRequestState.REFUSED,
            "That repository is not managed by Overlord any more.",
        )
        assert not any("acme/sold" in seen.path for seen in world.forge.requests), (
            "it is not asked for anything"
        )


async def test_a_repository_that_cannot_be_found_takes_no_wish() -> None:
    async with made_memory_world() as world:
        await world.settle()
        world.forge.fail("issues/list-for-repo", kind="404", times=1000)
        await world.settle()
        world.clock.move(GONE_AFTER_S)
        await world.settle()
        [asked] = await world.decisions()
        assert asked.subject is Subject.SPACE_GONE
        with pytest.raises(Refused, match="its repository cannot be found"):
            await ask(world, 1, space=RepositoryName(REPO))


async def test_a_repository_that_is_gone_by_then_is_refused() -> None:
    async with made_memory_world() as world:
        await world.settle()
        work_request = await ask(world, 1)
        database = world.overlord.parts.database
        await database.write("by hand", lambda c: spaces.pause(c, REPO, paused=True))
        refused = await answered(world, work_request)
        assert (refused.state, "cannot be found" in refused.answer) == (WorkRequestState.REFUSED, True)


async def test_the_command_line_waits_for_the_daemons_answer() -> None:
    async with made_memory_world() as world:
        await world.settle()
        number = await world.issue("add() subtracts", label="")
        world.model_will(*WORK)
        home = Home(world.root / "home")
        environment = {**os.environ, "OVERLORD_HOME": str(home.root), "OVERLORD_REPOS": REPO}
        with world.overlord.wakeup.listening(home.wakeup):
            program = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "overlord", "work", f"#{number}"), env=environment, stdout=PIPE
            )
            said = asyncio.create_task(program.communicate())
            await world.until(said.done)
        assert ((await said)[0], program.returncode) == (f"Job 1 takes up {REPO}#{number}.\n".encode(), 0)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
