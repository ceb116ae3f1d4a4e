"""Work for a GitHub App: tokens that expire under way, and an installation that people suspend and remove."""

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from overlord.domain.job import JobState
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Grant
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import edit, submit
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.store.spaces import spaces
from tests.app_keys import keys, write_key
from tests.turning import WorldClock
from tests.world import CALC, FIX, REPO, World

GIT = {"contents": "write", "metadata": "read"}


@contextlib.asynccontextmanager
async def app_world(**overrides: Any) -> AsyncIterator[tuple[World, int]]:
    """A world whose Overlord signs in as an App, and the App's id; the forge goes by the world's clock."""
    root, clock = Path(tempfile.mkdtemp(prefix="ov-", dir="/tmp")), WorldClock()
    forge, model = EmbeddedForge(root / "forge", now=clock.now), EmbeddedModel()
    try:
        await forge.create_repository(REPO, files=CALC)
        app = forge.add_app("overlord", keys()[1], [REPO])
        sign_in = {
            "token": "",
            "app_id": str(app.id),
            "private_key_file": str(write_key(root / "key.pem")),
        }
        async with (
            forge.serve() as forge_url,
            model.serve() as model_url,
            World(root, forge, model, clock, forge_url, model_url, {"forge": sign_in, **overrides}) as world,
        ):
            yield world, app.id
    finally:
        forge.close()
        shutil.rmtree(root, ignore_errors=True)


async def trouble(world: World) -> str:
    found: str = (await world.read(lambda c: spaces.get(c, REPO))).trouble
    return found


async def test_tokens_that_live_a_minute_still_deliver() -> None:
    async with app_world() as (world, _):
        world.forge.grant_lifetime_s = 60
        await world.issue("add() subtracts")
        world.model_will(world.hold(), edit(*FIX), submit("add() adds again."))
        await world.until_holding()
        world.clock.move(120)
        world.let_go()
        await world.settle()
        world.clock.move(61)
        await world.settle()

        [pull] = world.forge.pulls(REPO)
        assert (await world.job()).state is JobState.IN_REVIEW
        assert (pull.draft, pull.author) == (False, "overlord[bot]")
        # None was used after its time.
        assert 401 not in [seen.status for seen in world.forge.requests]
        grants = list(world.forge.records.all(Grant))
        assert len([grant for grant in grants if grant.permissions != GIT]) >= 3
        # A git operation has a token of its own, which can do nothing else.
        assert len([grant for grant in grants if grant.permissions == GIT]) >= 2
        pushed = [seen for seen in world.forge.requests if seen.operation == "git/receive-pack"]
        assert {(seen.login, seen.status) for seen in pushed} == {("overlord[bot]", 200)}


async def test_neither_key_nor_token_is_in_anything_that_is_kept() -> None:
    async with app_world() as (world, _):
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit("add() adds again."))
        await world.settle()
        secrets = [grant.token for grant in world.forge.records.all(Grant)]
        secrets += [line for line in keys()[0].splitlines() if len(line) > 40]
        assert [secret for secret in secrets if world.files_with(secret)] == []


async def test_an_installation_that_is_suspended_is_told_and_work_goes_on_when_it_is_back() -> None:
    async with app_world() as (world, app_id):
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit("add() adds again."))
        world.forge.suspend_app(app_id)
        await world.make_due()
        await world.until(lambda: trouble(world))
        assert f"GitHub App overlord for {REPO} is suspended" in await trouble(world)
        assert await world.jobs() == []
        world.forge.suspend_app(app_id, suspended=False)
        await _until_in_review(world)


async def test_an_installation_that_is_removed_is_told_and_work_goes_on_when_it_is_back() -> None:
    async with app_world() as (world, app_id):
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit("add() adds again."))
        await world.start()
        world.forge.uninstall_app(app_id)
        await world.make_due()
        await world.until(lambda: trouble(world))
        assert f"is not installed on {REPO}" in await trouble(world)
        world.forge.install_app(app_id)
        await _until_in_review(world)


async def _until_in_review(world: World) -> None:
    async def is_there() -> bool:
        world.clock.move(interval_s(world.overlord.parts.settings) + 1)
        return any(job.state is JobState.IN_REVIEW for job in await world.jobs())

    await world.until(is_there)
    assert await trouble(world) == ""
