"""A model that cannot be used in the middle of a job: everybody who looks is told, a person is asked, and the work goes on."""

from overlord import inquiries
from overlord.domain.decision import Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.embedded.model import Refusal
from overlord.embedded.play import edit, status, submit
from overlord.embedded.reviewer import REVIEW
from tests.memory.talk import made_memory_talk
from tests.world import FIX

WRONG_KEY = Refusal(status=401, message="Incorrect API key provided", code="invalid_api_key")
SAID = "The endpoint of the model scripted does not take the key (401: Incorrect API key provided)"


async def test_a_wrong_key_stops_at_once_and_a_person_is_asked_until_it_is_right() -> None:
    async with made_memory_talk() as talk:
        world = talk.world
        world.model.refusal = WRONG_KEY
        await world.issue("Fix add()")
        await world.settle()
        [decision] = await world.decisions()
        assert (decision.subject, decision.body) == (
            Subject.MODEL,
            f"{SAID}. See OPENAI_API_KEY. Then try again.",
        )
        talk.card(f"{SAID}. See OPENAI_API_KEY")
        talk.card(f"Blocker {decision.id}: ")
        assert SAID[1:] in await talk.command("status")
        world.model.refusal = None
        world.model_will(edit(*FIX), submit())
        await world.answer(decision, Verb.RETRY)
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
        talk.card("The model scripted answers again, after ")
        assert SAID[1:] not in await talk.command("status")


async def test_a_review_that_has_no_reply_for_too_long_is_put_to_a_person_too() -> None:
    async with made_memory_talk(retries={"give_up_s": 0.1}) as talk:
        world = talk.world
        world.model_will(edit(*FIX), submit())
        world.model_will(status(429, text="Rate limit reached"), when=REVIEW)
        await world.issue("Fix add()")
        await world.settle()
        [decision] = await world.decisions()
        assert decision.subject is Subject.CHECKS_UNAVAILABLE
        assert "the model scripted is busy (429: Rate limit reached)" in decision.body
        assert EventName.CHECKS_UNAVAILABLE in await world.events()
        seen = await world.read(lambda c: inquiries.status(c, world.settings(), at=world.clock.now()))
        assert [outage.model for outage in seen.outages] == ["scripted"]
