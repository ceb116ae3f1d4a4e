"""A session escalates and goes on; a person answers with a button; the session reads it, it is noted, and the next one need not ask."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from minion.protocol import (
    ESCALATIONS_PATH,
    Brief,
    EscalationKept,
    NewEscalation,
    PortfolioBrief,
    PortfolioTool,
    Suggestion,
    decode,
    encode,
)
from overlord.domain.job import JobState
from overlord.embedded.play import call, edit, submit
from overlord.store import sessions
from overlord.store.knowledge import notes
from overlord.store.portfolio import escalations
from overlord.store.rows import adapter, update
from tests.chatting import Talk
from tests.memory.talk import made_memory_talk
from tests.memory.world import MemoryWorld
from tests.world import FIX, REPO

ASKS = call("ask_question", question="Plus or minus?", kind="question")
"""The Minion waits here, between two of its turns."""
QUESTION = NewEscalation(
    type="decision",
    kind="trade_off",
    question="Redis or Memcached for the token blacklist?",
    context="Both are <installed>.",
    suggested=(Suggestion(label="Redis", description="persistent"), Suggestion(label="Memcached")),
    blocks="nothing",
)


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with made_memory_talk() as talk:
        yield talk


async def between_turns(talk: Talk, title: str) -> str:
    """An issue whose Minion waits between two turns; its session."""
    await talk.world.settle()
    known = len(await talk.world.decisions())
    await talk.world.issue(title)
    talk.world.model_will(ASKS, edit(*FIX), submit())
    await talk.world.make_due()

    async def asked() -> bool:
        return len(await talk.world.decisions()) > known

    await talk.world.until(asked)
    [live] = await talk.world.read(sessions.live)
    return str(live.id)


async def escalate(talk: Talk, session: str) -> EscalationKept:
    """A session that has the tool uses it."""
    world = talk.world
    assert isinstance(world, MemoryWorld)
    row = await world.read(sessions.get, session)
    brief: Brief = adapter(Brief).validate_json(row.brief)
    told = replace(
        brief, portfolio=PortfolioBrief(briefing="", initiative="", tools=(PortfolioTool.ESCALATE,))
    )
    text = encode(told).decode()
    await world.overlord.parts.database.write(
        "by hand", lambda c: update(c, "sessions", session, {"brief": text})
    )
    reply = await world.session_api.ask(session, "POST", ESCALATIONS_PATH, encode(QUESTION))
    assert reply.status == 200, reply
    return decode(EscalationKept, b"".join(reply.pieces))


async def goes_on(talk: Talk) -> None:
    """The Minion's own question is answered."""
    [asked] = [item for item in await talk.world.decisions() if item.session_id is not None]
    await talk.command(f"answer {asked.id} plus")


async def test_what_one_session_escalates_a_person_answers_once(talk: Talk) -> None:
    world = talk.world
    kept = await escalate(talk, await between_turns(talk, "add() subtracts"))
    assert (kept.ref, kept.state) == ("e1", "draft")
    await world.until(lambda: talk.cards("Decision"))
    card = talk.card("Decision")
    assert "acme/calc: Redis or Memcached for the token blacklist?" in card.plain
    assert "Both are <installed>." in card.plain
    assert talk.buttons(card) == ["Redis", "Memcached", "In words …", "Do without"]
    delivered = await talk.chat.click(talk.alice, card.ts, "Redis")
    assert delivered.acked

    async def is_told() -> bool:
        return (
            bool(await world.read(escalations.every)) and (await world.read(escalations.get, 1)).is_delivered
        )

    await world.until(is_told)
    assert (await world.job()).state is JobState.RUNNING, "the session was never held up"
    await goes_on(talk)
    assert "Your escalation e1 is resolved" in str(world.minion_heard())
    assert "Redis (persistent)" in str(world.minion_heard())
    assert (await world.job()).state is JobState.IN_REVIEW
    [note] = await world.read(notes.counting_in, REPO)
    noted = f"{QUESTION.question} Redis (persistent)"
    assert (note.text, note.question) == (noted, QUESTION.question)

    second = await escalate(talk, await between_turns(talk, "double() doubles"))
    assert (second.state, second.resolution, second.cites) == ("resolved", noted, "n1")
    assert len(talk.cards("Decision")) == 1, "nobody was asked again"
    await goes_on(talk)
    told = await talk.command("briefing")
    assert "Answered without asking you (1)" in told
    assert "(from n1)" in told
