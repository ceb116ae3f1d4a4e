"""Whole stories where nothing is polled for but what the forge said has news."""

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from tests.listener.wire import SECRET, heard_world
from tests.world import FIX, REPO


async def test_a_label_and_a_merge_are_acted_on_without_a_poll_in_between() -> None:
    async with heard_world() as (world, place):
        hook = await world.forge.hook(f"http://{place}/webhooks/github", SECRET)
        world.model_will(edit(*FIX), submit("add() adds again."))
        number = await world.issue("add() subtracts", label="")
        await hook.sent()
        await world.until(lambda: world.overlord.tick.is_idle)
        assert await world.jobs() == []

        world.clock.move(10)  # what was hinted at before is long polled for
        await world.forge.label(REPO, number, "nebulus-ready")
        await hook.sent()
        await world.until(world.is_settled)
        assert (await world.job()).state is JobState.IN_REVIEW

        [pull] = world.forge.pulls(REPO)
        await world.forge.merge(REPO, pull.number)
        await hook.sent()
        world.clock.move(10)
        await world.until(lambda: world.overlord.tick.is_idle)
        assert (await world.job()).state is JobState.COMPLETED
        assert {delivery.status for delivery in hook.deliveries} == {200, 202}
        assert world.files_with(SECRET) == []


async def test_what_the_event_says_of_an_issue_is_not_believed() -> None:
    async with heard_world() as (world, place):
        hook = await world.forge.hook(f"http://{place}/webhooks/github", SECRET)
        number = await world.issue("add() subtracts")
        await world.forge.unlabel(REPO, number, "nebulus-ready")  # before anybody looks
        await hook.sent()
        assert [delivery.action for delivery in hook.deliveries][-2:] == ["labeled", "unlabeled"]
        await world.until(lambda: world.overlord.tick.is_idle)
        assert await world.jobs() == []
