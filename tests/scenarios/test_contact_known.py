"""What Overlord knows of the chat and the runner from its own work: nobody is asked because somebody looks."""

from overlord.embedded.play import edit, submit
from overlord.entrypoints.listen.health import Health
from overlord.entrypoints.web.pages.health import known
from tests.memory.talk import made_memory_talk
from tests.world import FIX


async def test_work_shows_how_it_is_with_the_chat_and_the_runner() -> None:
    async with made_memory_talk() as talk:
        world = talk.world
        await world.start()
        watch = Health(world.overlord)
        assert (await known(world.overlord, watch)).has_chat

        async def is_connected() -> bool:
            return bool((await known(world.overlord, watch)).is_connected)

        await world.until(is_connected)
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.settle()
        after = await known(world.overlord, watch)
        assert after.runner_contact.answered_at is not None and not after.runner_contact.trouble
        assert after.chat_contact.answered_at is not None and not after.chat_contact.trouble
        assert "free" in after.free and not after.shortage and not after.is_stalled


async def test_a_chat_that_is_away_is_seen_by_what_it_was_asked_for() -> None:
    async with made_memory_talk() as talk:
        world = talk.world
        await world.start()
        talk.chat.fail("chat.postMessage", times=100)
        await world.issue("add() subtracts")
        world.model_will(edit(*FIX), submit())
        await world.make_due()
        await world.until(lambda: world.overlord.parts.contacts.chat.trouble)
        assert (await known(world.overlord, Health(world.overlord))).chat_contact.failed_at is not None
