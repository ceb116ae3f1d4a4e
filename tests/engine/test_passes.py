"""Passes: what cannot move wakes nobody and starts nothing, and what has happened is met by the next one."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import JobState
from overlord.domain.repositories.forge import Pull
from overlord.embedded.play import Turn, edit, run, submit, write
from overlord.engine.tick import Tick
from overlord.errors import ForgeRefused, RunnerUnavailable
from overlord.failpoints import Failpoint
from overlord.ports.forge import Forge
from overlord.store import environments
from tests.engine.between import heard
from tests.engine.troubled import troubled_world, weathered
from tests.memory.world import made_memory_world
from tests.world import CALC, FIX, REPO, World, made_world

ENVIRONMENT = ".nebulus/environment.yaml"
CHECKS = ".nebulus/checks.yaml"
BREAK = edit("calc.py", "return a * 2", "return a * 3")
PASSES = 5
GONE = RunnerUnavailable("the engine does not answer")


async def idle_passes(world: World) -> list[str]:
    """What some passes do when there is nothing to do; none of them may wake the loop for another."""
    overlord = world.overlord
    await world.until(lambda: True)
    seen = overlord.wakeup.count
    with heard() as reached:
        for _ in range(PASSES):
            assert not await overlord.turn()
            await overlord.tick.rest()
    assert overlord.wakeup.count == seen
    return [point for point in reached if point != Failpoint.PROGRESS_SEEN]  # the sessions' own signs of life


def until_there(path: object) -> str:
    return f"until test -e {path}; do sleep 0.02; done"


def holding(path: object) -> Turn:
    return run(until_there(path))


async def test_a_daemon_whose_sessions_run_is_woken_by_nothing_but_what_happens() -> None:
    """Also when each look at a session takes longer than a pass waits for it."""
    async with troubled_world(CALC) as (world, runner):
        await world.issue("add() subtracts")
        world.model_will(world.hold(), submit())
        await world.until_holding()
        assert await idle_passes(world) == []
        seen, gate = world.overlord.wakeup.count, asyncio.Event()
        runner.gates["find"] = gate
        for _ in range(PASSES):
            assert not await world.overlord.turn()
        gate.set()
        await world.overlord.tick.rest()
        assert world.overlord.wakeup.count == seen
        world.let_go()


async def test_a_session_that_ends_while_it_is_looked_at_is_collected_at_once() -> None:
    async with troubled_world(CALC) as (world, runner):
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), world.hold(), submit())
        await world.until_holding()
        wakeup, gate = world.overlord.wakeup, asyncio.Event()
        runner.gates["find"] = gate
        assert not await world.overlord.turn()  # it looks, sees it run, and has not said so yet
        world.let_go()
        while await world.turning.runs():
            await wakeup.wait(wakeup.count, timeout_s=0.1)
        assert not await world.overlord.turn()  # the pass that the end woke
        assert (await world.job()).state is JobState.RUNNING
        gate.set()
        await world.overlord.tick.rest()
        assert (await world.job()).state is JobState.EVALUATING


async def test_a_look_that_fails_late_wakes_the_loop_which_tries_it_again_in_time() -> None:
    async with troubled_world(CALC) as (world, runner):
        await world.issue("add() subtracts")
        world.model_will(world.hold(), submit())
        await world.until_holding()
        seen, gate = world.overlord.wakeup.count, asyncio.Event()
        runner.gates["find"] = gate
        runner.will_fail("find", GONE, done=True)
        assert not await world.overlord.turn()
        assert world.overlord.tick.next_delay_s() is None
        gate.set()
        await world.overlord.tick.rest()
        assert world.overlord.wakeup.count == seen + 1
        assert world.overlord.tick.next_delay_s() is not None
        world.let_go()


@pytest.mark.parametrize("paused", [False, True])
async def test_a_setup_that_may_not_begin_yet_wakes_nobody(paused: bool) -> None:
    """There is no room for it, or its space is paused."""
    setup = 'cp requirements.txt "$MINION_ENVIRONMENT/wanted"'
    files = {
        **CALC,
        ENVIRONMENT: f"setup: '{setup}'\ndetect: false\ninputs: [requirements.txt]\n",
        "requirements.txt": "first\n",
    }
    async with made_memory_world(files, infer_scope=False, sessions={"concurrent": 1}) as world:
        await world.issue("add() subtracts (1)")
        world.model_will(edit(*FIX), write("requirements.txt", "first\nsecond\n"), submit(), when="(1)")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DEPENDENCIES
        if paused:
            await pause(world, True)
        else:
            await world.issue("add() subtracts (2)")
            world.model_will(world.hold(), submit(), when="(2)")
            await world.until_holding("j2-work-1")
        await world.answer(decision, Verb.INSTALL)
        await world.until(lambda: is_in(world, JobState.EVALUATING))
        assert Failpoint.CHECK_PREPARED not in await idle_passes(world)
        world.let_go("j2-work-1")
        await pause(world, False)
        await world.until(lambda: is_in(world, JobState.IN_REVIEW))


async def is_in(world: World, state: JobState, number: int = 1) -> bool:
    return (await world.job(number)).state is state


async def pause(world: World, paused: bool) -> None:
    await world.overlord.parts.database.write(
        "by hand", lambda c: c.execute("UPDATE spaces SET paused = ?", (paused,))
    )


async def test_work_that_cannot_be_checked_for_want_of_room_waits_without_a_write() -> None:
    async with made_memory_world(
        {**CALC, ENVIRONMENT: "setup: 'true'\n"}, sessions={"concurrent": 2}
    ) as world:
        for number in (1, 2):
            await world.issue(f"add() subtracts ({number})")
        world.model_will(edit(*FIX), holding(world.root / "first"), submit(), when="(1)")
        world.model_will(world.hold(), submit(), when="(2)")
        await world.until_holding("j2-work-1")
        await world.until(lambda: world.has_started("j1-work-1"))
        await world.stop()
        world.overrides["sessions"] = {"concurrent": 1}
        await world.start()
        (world.root / "first").touch()
        await world.until(lambda: is_in(world, JobState.EVALUATING))
        assert set(await idle_passes(world)) == {Failpoint.EVALUATION_BEGUN}
        world.let_go("j2-work-1")
        await world.until(lambda: is_in(world, JobState.IN_REVIEW))


@pytest.mark.parametrize("session", ["j2-work-1", "j2-check-1"])
async def test_an_environment_counts_as_used_when_a_session_is_to_run_in_it(session: str) -> None:
    async with made_memory_world({**CALC, ENVIRONMENT: "setup: 'true'\n"}) as world:
        await world.issue("add() subtracts (1)")
        world.model_will(edit(*FIX), submit(), when="(1)")
        await world.settle()
        await world.issue("add() subtracts (2)")
        world.model_will(edit(*FIX), world.hold(), submit(), when="(2)")
        at = world.clock.now()
        await world.until_holding("j2-work-1")
        if "check" in session:
            at = world.clock.now()
            world.clock.move(1)
            world.let_go("j2-work-1")
            await world.until(lambda: is_in(world, JobState.IN_REVIEW, 2))
        [made] = await world.read(environments.everything)
        assert made.used_at > at
        world.let_go("j2-work-1")


async def test_nothing_is_fetched_for_a_job_that_waits_for_the_setup_of_another() -> None:
    async with made_memory_world(CALC, sessions={"concurrent": 2}) as world:
        await world.push({ENVIRONMENT: f"setup: '{until_there(world.root / 'go')}'\n"})
        for number in (1, 2):
            await world.issue(f"add() subtracts ({number})")
            world.model_will(edit(*FIX), submit(), when=f"({number})")
        await world.make_due()
        await world.until(lambda: world.has_started("j1-setup-1"))
        assert Failpoint.FETCH not in await idle_passes(world)
        world.let_go("j1-setup-1")
        await world.until(lambda: is_in(world, JobState.IN_REVIEW, 2))


async def test_a_mirror_that_has_what_a_next_session_begins_with_is_not_fetched_again() -> None:
    async with made_memory_world(CALC) as world:
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), BREAK, submit())
        world.model_will(write("other.py", "x = 1\n"), submit())
        with heard() as reached:
            await world.settle()
            [decision] = await world.decisions()
            assert decision.subject is Subject.ESCALATION
            assert (reached.count(Failpoint.WORK_PREPARED), reached.count(Failpoint.FETCH)) == (2, 1)
            await world.overlord.parts.git.remove_mirror(RepositoryName(REPO))
            world.model_will(edit("calc.py", "return a * 3", "return a * 2"), submit())
            await world.answer(decision, Verb.ONE_MORE)
            await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert reached.count(Failpoint.FETCH) == 2


async def test_a_draft_whose_push_was_refused_is_not_tried_in_every_pass() -> None:
    async with made_world(CALC, checks={"proof": "off"}) as world:
        await world.push({CHECKS: f"tests: sh -c '{until_there(world.root / 'checked')}'\n"})
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), world.hold(), submit())
        await world.until_holding()
        await world.forge.push_files(REPO, (await world.job()).branch, {"other.py": "x = 1\n"}, "Mine")
        world.let_go()
        with heard() as reached:
            await world.until(lambda: world.has_started("j1-check-1"))
        assert reached.count(Failpoint.PUSH_ORDERED) == 1
        assert Failpoint.PUSH_ORDERED not in await idle_passes(world)
        (world.root / "checked").touch()
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.DELIVERY_REFUSED


class Raced:
    """The world's forge, which has no drafts, and at which a daemon that was replaced opens each pull request a moment
    before."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge

    def __getattr__(self, name: str) -> Any:
        return getattr(self._forge, name)

    async def open_pull(self, name: RepositoryName, **told: Any) -> Pull:
        if told["draft"]:
            raise ForgeRefused("no drafts here")
        await self._forge.open_pull(name, **told)
        return await self._forge.open_pull(name, **told)


async def test_a_pull_request_that_a_replaced_daemon_opened_meanwhile_is_taken_for_ours() -> None:
    async with made_memory_world(CALC) as world:
        await world.start()
        parts = replace(world.overlord.parts, forge=Raced(world.overlord.parts.forge))
        world._running = replace(world.overlord, parts=parts, tick=Tick(parts))
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert len(world.forge.pulls(REPO)) == 1


async def test_what_recovers_leaves_the_trouble_of_what_does_not_to_be_seen() -> None:
    """The label can be set again, and the session still cannot be started."""
    async with troubled_world(CALC) as (world, runner):
        runner.will_fail("start", *[GONE] * 6)
        world.forge.fail("issues/add-labels", kind="403", times=3)
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.make_due()
        await world.until(lambda: "in-progress" in world.forge.issues(REPO)[0].labels)
        assert (await world.job()).reason == "waiting to try again: the engine does not answer"
        await weathered(world, runner)
        assert ((await world.job()).state, (await world.job()).reason) == (JobState.IN_REVIEW, "")
