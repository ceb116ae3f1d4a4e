"""A pause begins nothing new, for one repository or for all: what runs goes on, labels are heard, and jobs say whom they wait for."""

from collections.abc import Callable
from typing import Any

import pytest

from overlord.domain.decision import Verb
from overlord.domain.job import JobState
from overlord.domain.pause import Pause
from overlord.embedded.play import call, edit, submit
from overlord.engine.issues.missing_repository import GONE_AFTER_S
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.errors import Refused
from overlord.queries import overview
from overlord.store import ledger, sessions
from overlord.store.sessions import started_running
from overlord.store.spaces import pauses, spaces
from overlord.verbs import commands
from tests.engine.between import Instead, between_world
from tests.memory.world import made_memory_world
from tests.world import FIX, REPO, World

OTHER = "acme/other"
WORK = (edit(*FIX), submit())


async def does(world: World, act: Callable[..., Any], space: str | None, **more: str) -> Any:
    """A person's command, as an interface carries it out."""
    done = await world.overlord.parts.database.write(
        "by hand", lambda c: act(c, space, **more, at=world.clock.now())
    )
    world.overlord.wakeup.notify()
    return done


async def pause(world: World, space: str | None = None, reason: str = "") -> Pause:
    made: Pause = await does(world, commands.pause_work, space, actor="cli:alice", reason=reason)
    return made


async def resume(world: World, space: str | None = None) -> tuple[Pause, ...]:
    held: tuple[Pause, ...] = await does(world, commands.resume_work, space, actor="cli:bob")
    return held


async def until_told(world: World, reason: str, number: int = 1) -> None:
    """Until a queued job says what it waits for, and the issue shows it."""

    async def is_told() -> bool:
        jobs = await world.jobs()
        return (
            len(jobs) >= number and jobs[number - 1].reason == reason and reason in jobs[number - 1].projected
        )

    await world.make_due()
    await world.until(is_told)


@pytest.mark.parametrize("space", [None, REPO])
async def test_a_pause_lets_labels_be_claimed_and_begins_nothing(space: str | None) -> None:
    async with made_memory_world() as world:
        await world.start()
        whole = "Paused" if space else "Everything is paused"
        await pause(world, space, "the index is down")
        number = await world.issue("add() subtracts")
        await until_told(world, f"{whole} by alice: the index is down")
        assert (await world.job()).state is JobState.QUEUED
        assert await world.read(sessions.live) == []
        assert any("paused by alice" in item.body.lower() for item in world.forge.comments(REPO, number))
        world.model_will(*WORK)
        assert await resume(world, space) == ()
        assert (await world.job()).reason == "", "at once, whether there is room for it or not"
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_pause_that_comes_while_a_session_is_prepared_is_in_time() -> None:
    async with between_world("git") as (world, git):

        async def meanwhile(real: Instead, *arguments: Any, **options: Any) -> Any:
            git.is_well()
            await pause(world)
            return await real(*arguments, **options)

        git.instead["refresh_mirror"] = meanwhile
        await world.issue("add() subtracts")
        await until_told(world, "Everything is paused by alice")
        assert await world.read(sessions.of_job, 1) == []


async def test_what_runs_goes_on_and_is_judged() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), *WORK)
        await world.until_holding()
        await pause(world)
        world.let_go()
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_revision_waits_for_the_end_of_the_pause() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit("calc.py", "return a * 2", "return a * 3"), submit())
        await world.until_holding()
        await pause(world, REPO)
        world.let_go()
        await until_told(world, "Paused by alice")
        assert (await world.job()).revision == 1
        world.model_will(edit("calc.py", "return a * 3", "return a * 2"), *WORK)
        await resume(world, REPO)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_pause_outlives_a_restart() -> None:
    async with made_memory_world() as world:
        await world.start()
        await pause(world)
        await world.stop()
        await world.issue("add() subtracts")
        await until_told(world, "Everything is paused by alice")
        assert await world.read(started_running) == 0


async def test_another_space_goes_on() -> None:
    async with made_memory_world(repositories=[REPO, OTHER]) as world:
        await world.forge.create_repository(OTHER, files={"calc.py": "def add(a, b):\n    return a - b\n"})
        await world.start()
        await pause(world, OTHER)
        await world.issue("add() subtracts")
        world.model_will(*WORK)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_each_of_two_pauses_holds_by_itself() -> None:
    async with made_memory_world() as world:
        await world.start()
        await pause(world, REPO, "a release")
        await pause(world)
        await world.issue("add() subtracts")
        await until_told(world, "Everything is paused by alice")
        [left] = await resume(world)
        assert (left.space, left.reason) == (REPO, "a release")
        await until_told(world, "Paused by alice: a release")
        world.model_will(*WORK)
        assert await resume(world, REPO) == ()
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_the_queue_says_what_each_job_waits_for() -> None:
    async with made_memory_world() as world:
        await world.start()
        await pause(world)
        for title in ("first", "second"):
            await world.issue(title)
        await until_told(world, "Everything is paused by alice", number=2)
        settings, at = world.settings(), world.clock.now()
        queue = await world.read(lambda c: overview.queue(c, settings, at=at))
        assert [(item.job.issue.title, item.why) for item in queue.jobs] == [
            ("first", "Everything is paused by alice"),
            ("second", "Everything is paused by alice"),
        ]
        assert (queue.running, [held.what for held in queue.pauses]) == (0, ["everything"])


async def test_who_did_it_is_in_the_ledger() -> None:
    async with made_memory_world() as world:
        await world.start()
        await pause(world, REPO, "the index\n\x1b[2J @alice is down")
        await resume(world, REPO)
        told = [
            (entry.name, entry.actor, entry.data)
            for entry in await world.read(lambda c: list(ledger.entries(c)))
        ]
        assert told[-2:] == [
            ("paused", "cli:alice", '{"reason": "the index [2J alice is down", "space": "acme/calc"}'),
            ("resumed", "cli:bob", '{"space": "acme/calc"}'),
        ]


async def test_what_makes_no_sense_is_refused_with_what_does() -> None:
    async with made_memory_world() as world:
        await world.start()
        with pytest.raises(Refused, match=r"^everything is not paused$"):
            await resume(world)
        await pause(world, REPO)
        with pytest.raises(Refused, match=r"^acme/calc is paused already, by alice$"):
            await pause(world, REPO)
        with pytest.raises(Refused, match=r"^everything is not paused; what is: acme/calc$"):
            await resume(world)
        await pause(world)
        [held] = await resume(world, REPO)
        assert held.what == "everything"
        with pytest.raises(Refused, match=r"^acme/calc is not paused; what is: everything$"):
            await resume(world, REPO)
        assert len(await world.read(pauses.every)) == 1


async def test_a_repository_that_is_gone_goes_on_through_its_decision() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(call("task_blocked", reason="I cannot see why"))
        await world.settle()
        world.forge.fail("issues/list-for-repo", kind="404", times=1000)
        await world.settle()
        world.clock.move(GONE_AFTER_S)
        await world.settle()
        [_, asked] = await world.decisions()
        with pytest.raises(Refused, match=f"the answer to decision {asked.id} says"):
            await resume(world, REPO)
        await world.answer(asked, Verb.DROP)
        assert await resume(world, REPO) == ()
        assert not (await world.read(spaces.get, REPO)).paused
        world.clock.move(interval_s(world.settings()))
