"""What interrupts a job: people, lost sessions, a session API that vanishes, a daemon that is killed. Nothing is lost, nothing done twice."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.errors import StoreError
from overlord.store import jobs
from overlord.store.database import open_reader
from tests.memory.world import made_memory_world
from tests.quick import made_quick_world
from tests.world import DEADLINE_S, FIX, REPO, World


async def test_stopping_a_job_ends_its_session_and_keeps_the_evidence() -> None:
    async with made_memory_world() as world:
        number = await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.stop_job()
        await world.settle()
        job = await world.job()
        assert (job.state, job.reason) == (JobState.CANCELLED, "not needed any more")
        assert await world.overlord.parts.runner.sessions() == []
        assert world.forge.issue(REPO, number).labels == ()


async def test_a_session_that_takes_too_long_is_stopped_whatever_it_says() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        world.clock.move(1801)
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.STOPPED_SHORT
        assert decision.body.startswith("Overlord stopped it after 1800 s.")


async def test_a_killed_session_is_queued_again_and_spends_no_attempt() -> None:
    async with made_quick_world() as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.kill_session("j1-work-1")
        world.let_go()
        await world.settle()
        job = await world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 0)
        assert (await world.events()).count("session_lost") == 1


async def test_a_fourth_loss_asks_a_person() -> None:
    async with made_memory_world() as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), submit())
        for number in range(1, 5):
            await world.until_holding(f"j1-work-{number}")
            await world.kill_session(f"j1-work-{number}")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.LOSSES


async def test_a_door_that_vanishes_for_a_while_is_waited_for() -> None:
    async with made_quick_world() as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.until_holding()
        await world.stop()
        world.let_go()
        await world.start()
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        assert (await world.events()).count("session_started") == 1


async def test_a_daemon_that_is_killed_finds_everything_again() -> None:
    async with made_quick_world() as world:
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())
        async with _daemon(world) as first:
            await _seen(world, world.is_holding)
            first.send_signal(signal.SIGKILL)
            await first.wait()
        world.let_go()
        async with _daemon(world) as second:
            await _seen(world, lambda: _state(world) == JobState.IN_REVIEW)
            second.send_signal(signal.SIGTERM)
            assert await second.wait() == 0
        await world.start()
        events = await world.events()
        assert [events.count(name) for name in ("session_started", "pull_opened", "session_lost")] == [
            1,
            1,
            0,
        ]
        assert len(world.forge.pulls(REPO)) == 1


async def test_two_daemons_do_not_share_a_home() -> None:
    async with made_quick_world() as world:
        await world.start()
        async with _daemon(world) as second:
            assert await second.wait() == 6
            assert second.stderr is not None
            assert b"another Overlord daemon is using" in await second.stderr.read()


def _state(world: World) -> JobState | None:
    try:
        with_reader = open_reader(world.root / "home" / "overlord.db")
    except StoreError:
        return None
    try:
        return next((job.state for job in jobs.all_jobs(with_reader)), None)
    finally:
        with_reader.close()


async def _seen(world: World, condition: object) -> None:
    """Wait for something another process does: each look follows a request that the forge or the model saw."""
    assert callable(condition)
    async with asyncio.timeout(DEADLINE_S):
        while not condition():
            await world.something_happens()


@asynccontextmanager
async def _daemon(world: World) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {
        "PATH": os.environ["PATH"],
        "OVERLORD_HOME": str(world.root / "home"),
        "OVERLORD_REPOS": REPO,
        "OVERLORD_RUNNER": "process",
        "OVERLORD_MODEL": "scripted",
        "OPENAI_BASE_URL": f"{world.model_url}/v1",
        "OPENAI_API_KEY": world.model.key,
        "GITHUB_API_URL": world.forge_url,
        "GITHUB_TOKEN": world.forge.token,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "overlord", "serve", "--json", env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
