"""A repository that cannot be found any more is paused, after a while, and a person says what becomes of its work."""

from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.job import JobState
from overlord.embedded.play import call
from overlord.engine.issues.missing_repository import GONE_AFTER_S
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.store.spaces import spaces
from tests.memory.world import made_memory_world
from tests.world import REPO, World

BLOCKED = call("task_blocked", reason="I cannot see why")


async def gone(world: World) -> Decision:
    """A job waits, and its repository is gone for long enough."""
    await world.issue("add() subtracts")
    world.model_will(BLOCKED)
    await world.settle()
    world.forge.fail("issues/list-for-repo", kind="404", times=1000)
    await world.settle()
    assert not (await world.read(spaces.get, REPO)).paused, "it may be there again in a moment"
    world.clock.move(GONE_AFTER_S)
    await world.settle()
    [_, asked] = await world.decisions()
    assert (asked.subject, asked.job_id, asked.space) == (Subject.SPACE_GONE, None, REPO)
    assert (await world.read(spaces.get, REPO)).paused
    return asked


def restore(world: World) -> None:
    world.forge.wire.faults.pending.clear()


async def test_it_is_asked_for_again_once_a_person_says_so() -> None:
    async with made_memory_world() as world:
        asked = await gone(world)
        before = len(world.forge.requests)
        world.clock.move(10 * interval_s(world.settings()))
        await world.until(lambda: True)
        assert len(world.forge.requests) == before, "what is paused is left alone"
        restore(world)
        await world.answer(asked, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.WAITING
        await world.forge.label(REPO, 1, "nebulus-ready")
        world.model_will(BLOCKED)
        await world.settle()
        assert "work_resumed" in await world.events()


async def test_dropping_it_ends_its_jobs_and_the_next_start_looks_again() -> None:
    async with made_memory_world() as world:
        asked = await gone(world)
        await world.answer(asked, Verb.DROP)
        await world.settle()
        job = await world.job()
        assert (job.state, job.reason) == (JobState.CANCELLED, "its repository is gone")
        assert (await world.read(spaces.get, REPO)).paused
        restore(world)
        await world.stop()
        await world.settle()
        assert not (await world.read(spaces.get, REPO)).paused


async def test_an_unanswered_question_outlives_a_restart_and_is_not_asked_twice() -> None:
    async with made_memory_world() as world:
        asked = await gone(world)
        await world.stop()
        await world.settle()
        assert [item.id for item in await world.decisions()][1:] == [asked.id]
        assert (await world.read(spaces.get, REPO)).paused


async def test_a_repository_that_is_there_again_in_time_is_not_paused() -> None:
    async with made_memory_world() as world:
        world.forge.fail("issues/list-for-repo", kind="404", times=1)
        await world.settle()
        world.clock.move(GONE_AFTER_S)
        await world.settle()
        world.forge.fail("issues/list-for-repo", kind="404", times=1)
        await world.settle()
        assert await world.decisions() == []
