"""A model that cannot be used in the middle of a job: everybody who looks is told, a person is asked, and the work goes on."""

from overlord.domain.decision import Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.domain.model_fault import FaultKind, ModelFault
from overlord.embedded.model import Refusal
from overlord.embedded.play import edit, status, submit
from overlord.embedded.reviewer import REVIEW
from overlord.queries import overview
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
        seen = await world.read(lambda c: overview.status(c, world.settings(), at=world.clock.now()))
        assert [outage.model for outage in seen.outages] == ["scripted"]


async def test_a_jobs_card_says_that_its_model_is_away_while_it_is() -> None:
    async with made_memory_talk() as talk:
        world = talk.world
        world.model_will(world.hold(), edit(*FIX), submit())
        await world.issue("Fix add()")
        await world.until_holding()
        outages = world.overlord.session_api.parts.outages
        await outages.note("scripted", ModelFault(kind=FaultKind.BUSY, detail="429"), left_s=60)
        said = "⚠️ the model scripted is busy (429)"

        def cards() -> list[str]:
            return [card.plain for card in talk.cards() if "acme/calc#1" in card.plain]

        await world.until(lambda: any(said in card for card in cards()))
        await outages.end("scripted")
        await world.until(lambda: not any(said in card for card in cards()))
        assert len(cards()) == 1
        world.let_go()
        await world.settle()
        assert (await world.job()).state is JobState.IN_REVIEW
