"""What a session says is not believed: a secret that got into one is in nothing that is kept or shown, an exit code is no pass."""

import contextlib

from overlord.domain.job import JobState
from overlord.embedded.play import edit, run, submit
from overlord.home import Home
from overlord.store.database import open_reader
from tests.faults.campaign import under_fire
from tests.faults.invariants import violations
from tests.world import FIX, made_world


async def test_a_token_that_a_model_repeats_is_nowhere() -> None:
    async with made_world() as world:
        token = world.forge.token
        await world.issue("add() subtracts")
        world.model_will(
            run(f"echo {token}; echo {token} >&2"), edit(*FIX), submit(f"Signed in with {token}.")
        )
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        home = Home(world.root / "home")
        with contextlib.closing(open_reader(home.database)) as connection:
            assert violations(connection, world.forge, home, canaries=[token]) == []


async def test_a_test_run_that_only_says_zero_is_no_pass() -> None:
    async with under_fire() as told:
        issue = await told.issue("forges")
        await told.settle()
        told.expect(issue, JobState.WAITING)
        await told.check()
