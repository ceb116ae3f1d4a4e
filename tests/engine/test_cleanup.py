"""What outlived its job is removed, and nothing that did not."""

from typing import Any

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from tests.engine.between import Instead, between_world
from tests.world import FIX


async def test_a_session_that_starts_while_the_runner_is_asked_what_it_holds_is_no_orphan() -> None:
    async with between_world("runner") as (world, runner):
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit())

        async def slowly(real: Instead) -> Any:
            runner.is_well()
            while not world.is_holding():
                await world.overlord.wakeup.wait(world.overlord.wakeup.count, timeout_s=1.0)
            return await real()

        runner.instead["sessions"] = slowly
        await world.until_holding()
        world.let_go()
        await world.settle()
        assert "session_lost" not in await world.events()
        assert (await world.job()).state is JobState.IN_REVIEW


async def test_what_the_runner_holds_and_the_database_does_not_know_is_removed() -> None:
    async with between_world("runner") as (world, runner):
        await world.issue("add() subtracts")
        world.model_will(world.hold(), submit())
        await world.until_holding()
        removed: list[str] = []

        async def remove(real: Instead, session: str) -> None:
            removed.append(session)
            await real(session)

        runner.instead["remove"] = remove
        by_hand = "UPDATE sessions SET state = 'ended', cleared = 1"
        await world.overlord.parts.database.write("by hand", lambda c: c.execute(by_hand))
        await world.make_due()
        await world.until(lambda: removed)
        assert removed[0] == "j1-work-1"
