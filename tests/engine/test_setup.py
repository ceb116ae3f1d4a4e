"""A setup that goes wrong: infrastructure is tried again, what cannot be done is asked about, nothing is done twice."""

from datetime import timedelta

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.store import environments, sessions
from overlord.store.environments import EnvironmentState
from tests.engine.troubled import troubled_world, weathered
from tests.memory.world import made_memory_world
from tests.world import CALC, FIX, REPO, World

ENVIRONMENT = ".nebulus/environment.yaml"
HOLD = 'mkdir -p "$XDG_CACHE_HOME"; until test -e "$XDG_CACHE_HOME/go"; do sleep 0.02; done'
GONE = RunnerUnavailable("the engine does not answer")


def needing(setup: str) -> dict[str, str]:
    return {**CALC, ENVIRONMENT: f"setup: '{setup}'\n"}


async def one_job(world: World) -> None:
    await world.issue("add() subtracts (1)")
    world.model_will(edit(*FIX), submit(), when="(1)")


async def setups(world: World) -> list[str]:
    """What became of every setup session of the first job."""
    found = await world.read(lambda c: sessions.of_job(c, 1))
    return [session.ending for session in found if session.kind == "setup"]


async def states(world: World) -> list[str]:
    return [row.state for row in await world.read(environments.everything)]


async def test_a_setup_that_is_lost_four_times_is_a_persons() -> None:
    async with made_memory_world(needing("kill -9 $PPID")) as world:
        await one_job(world)
        await world.settle()
        events = await world.events()
        assert (events.count("setup_lost"), events.count("setup_failed")) == (3, 1)
        assert len(await setups(world)) == 4
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT
        assert "ended without a report (killed" in decision.body
        assert (await world.job()).revision == 0


async def test_a_setup_that_takes_too_long_is_stopped_and_asked_about_once() -> None:
    async with made_memory_world(needing(HOLD), environments={"time_s": 100}) as world:
        await one_job(world)
        await world.make_due()
        await world.until(lambda: world.has_started("j1-setup-1"))
        world.clock.move(159)
        await world.overlord.turn()
        assert await world.decisions() == []
        world.clock.move(2)
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT
        assert "stopped after 160 s: time limit" in decision.body
        assert (await world.events()).count("setup_lost") == 0


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ("true", "The setup cannot be trusted: its 77 MB of memory were used up."),
        ("echo linking; exit 137", "failed (exit code 137; its 77 MB of memory were used up)"),
        ("kill -9 $PPID", "The setup ended without a report (its 77 MB of memory were used up)."),
    ],
)
async def test_a_setup_that_ran_out_of_memory_is_named_so_and_not_tried_again(setup: str, said: str) -> None:
    async with troubled_world(needing(setup), environments={"memory_mb": 77}) as (world, runner):
        runner.starved.add("j1-setup-1")
        await one_job(world)
        await world.settle()
        [decision] = await world.decisions()
        assert said in decision.body
        assert (len(await setups(world)), await states(world)) == (1, ["failed"])
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        if setup == "true":
            assert (await world.job()).state is JobState.IN_REVIEW


@pytest.mark.parametrize(
    "call", ["ground", "prepare_layer", "start", "find", "keep_layer", "has_layer", "logs"]
)
@pytest.mark.parametrize("done", [False, True])
async def test_an_engine_that_is_gone_for_a_while_puts_it_off_and_loses_nothing(
    call: str, done: bool
) -> None:
    async with troubled_world(needing('echo x >> "$MINION_ENVIRONMENT/runs"')) as (world, runner):
        runner.will_fail(call, GONE, GONE, done=done)
        await one_job(world)
        await weathered(world, runner)
        assert (await world.job()).state is JobState.IN_REVIEW
        events = await world.events()
        assert (events.count("setup_started"), events.count("environment_completed")) == (1, 1)
        assert (events.count("setup_lost"), events.count("session_lost")) == (0, 0)
        assert await states(world) == ["ready"]
        [made] = world.root.rglob("runs")
        assert made.read_text() == "x\n"


async def test_an_environment_that_was_kept_and_not_written_down_is_found_by_the_next_daemon() -> None:
    """The daemon dies between the two; what cleared the session meanwhile does not matter."""
    async with troubled_world(needing("true")) as (world, runner):
        runner.will_fail("keep_layer", GONE, done=True)
        await one_job(world)
        await world.make_due()
        await world.until(lambda: runner.called.count("keep_layer") == 1)
        assert await states(world) == ["making"]
        await world.stop()
        await world.start()
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert await setups(world) == ["exited"]


async def test_what_a_runner_will_not_keep_is_asked_about_and_no_loop() -> None:
    """A report may come from anybody in the container: only the environment itself says that it is finished."""
    async with troubled_world(needing("true")) as (world, runner):
        runner.will_fail("keep_layer", RunnerRefused("the setup left no finished environment"))
        await one_job(world)
        await world.settle()
        [decision] = await world.decisions()
        assert "cannot be kept: the setup left no finished environment" in decision.body
        assert (runner.called.count("keep_layer"), await states(world)) == (1, ["failed"])
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


@pytest.mark.parametrize("call", ["prepare_layer", "start", "ground"])
async def test_what_a_runner_refuses_is_asked_about_with_its_words(call: str) -> None:
    async with troubled_world(needing("true")) as (world, runner):
        runner.will_fail(call, RunnerRefused("E: Unable to locate package libfoo-dev"))
        await one_job(world)
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.ENVIRONMENT
        assert "Unable to locate package libfoo-dev" in decision.body
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_a_setup_that_failed_leaves_nothing_to_be_removed_by_hand() -> None:
    async with troubled_world(needing('echo x > "$MINION_ENVIRONMENT/left"; exit 3')) as (world, runner):
        await one_job(world)
        await world.settle()
        called = [call for call in runner.called if call in {"remove", "remove_layer"}]
        assert called[:2] == ["remove", "remove_layer"], "a container still has what it ran in"
        [row] = await world.read(environments.everything)
        assert not await runner.has_layer(row.id)
        assert [path for path in world.root.rglob("left") if "trash" not in str(path)] == []


async def test_an_environment_that_somebody_removed_is_made_again() -> None:
    async with troubled_world(needing("true")) as (world, runner):
        await one_job(world)
        await world.settle()
        [made] = await world.read(environments.everything)
        await runner.remove_layer(made.id)
        await world.issue("add() subtracts (2)")
        world.model_will(edit(*FIX), submit(), when="(2)")
        await world.settle()
        assert (await world.job(2)).state is JobState.IN_REVIEW
        assert (await world.events(2)).count("setup_started") == 1
        assert await states(world) == ["ready"]


async def test_a_failure_holds_for_every_job_of_the_space_until_a_person_wants_it_tried_again() -> None:
    async with troubled_world(needing("true")) as (world, runner):
        runner.will_fail("prepare_layer", RunnerRefused("no such thing"))
        await one_job(world)
        await world.settle()
        await world.issue("add() subtracts (2)")
        world.model_will(edit(*FIX), submit(), when="(2)")
        await world.settle()
        assert runner.called.count("prepare_layer") == 1
        first, second = sorted(await world.decisions(), key=lambda decision: decision.job_id or 0)
        assert first.body == second.body
        for decision in (first, second):
            await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert [job.state for job in await world.jobs()] == [JobState.IN_REVIEW] * 2


async def test_two_repositories_with_the_same_files_have_an_environment_each() -> None:
    """One may hold the other's code, and what its secrets opened."""
    files = needing('echo "$MINION_ID" > "$MINION_ENVIRONMENT/who"')
    async with made_memory_world(files, repositories=[REPO, "acme/copy"]) as world:
        await world.forge.create_repository("acme/copy", files=files)
        await one_job(world)
        await world.forge.open_issue("acme/copy", "add() subtracts (2)", "", labels=["nebulus-ready"])
        world.model_will(edit(*FIX), submit(), when="(2)")
        await world.settle()
        assert [job.state for job in await world.jobs()] == [JobState.IN_REVIEW] * 2
        rows = await world.read(environments.everything)
        assert {row.space for row in rows} == {REPO, "acme/copy"}
        assert len({row.id for row in rows}) == 2


@pytest.mark.parametrize("state", [EnvironmentState.FAILED, EnvironmentState.MAKING])
async def test_what_was_never_finished_is_removed_by_age_too(state: EnvironmentState) -> None:
    async with troubled_world(needing("true")) as (world, runner):
        await one_job(world)
        await world.settle()
        [row] = await world.read(environments.everything)
        at = world.clock.now() - timedelta(days=99)
        await world.overlord.parts.database.write(
            "by hand", lambda c: environments.mark(c, row.id, state=state, used_at=at)
        )
        world.clock.move(2 * 3600)
        await world.until(lambda: "remove_layer" in runner.called)
        assert await states(world) == []


async def test_an_environment_that_cannot_be_removed_yet_stays_written_down() -> None:
    async with troubled_world(needing("true")) as (world, runner):
        await one_job(world)
        await world.settle()
        [row] = await world.read(environments.everything)
        runner.held.add(row.id)
        world.clock.move(15 * 24 * 3600)
        await world.until(lambda: "remove_layer" in runner.called)
        assert await world.read(environments.everything) == [row]
        runner.held.clear()
        world.clock.move(2 * 3600)
        await world.until(lambda: runner.called.count("remove_layer") == 2)
        assert await states(world) == []
