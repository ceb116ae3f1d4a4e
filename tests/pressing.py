"""What waits for an answer in a chat, for the scenarios that press."""

from collections.abc import Sequence

from overlord.domain.decision import Decision
from overlord.domain.event import EventName
from overlord.embedded.chat.record import Message
from overlord.embedded.play import blocked, call, edit, submit
from overlord.store import decisions
from tests.chatting import Talk
from tests.world import CALC, FIX

WORK = (edit(*FIX), submit())
ASK = call("ask_question", question="Plus or minus?", options=["plus", "minus"])
UNREADABLE = {**CALC, ".nebulus/environment.yaml": "setups: x\n"}
"""A repository every job of which waits for a person at once."""
GONE = "That button is from an older card"


async def stuck(talk: Talk, title: str = "add() subtracts") -> Message:
    """A job waits for a person; the card that asks."""
    number = await talk.world.issue(title)
    talk.world.model_will(blocked("I need the password"), when=title)
    await talk.world.settle()
    [card] = [card for card in talk.cards("Blocker") if f"#{number}:" in card.plain]
    return card


async def blocker(talk: Talk) -> Message:
    """The card of a job that waits at once."""
    await talk.world.issue("add() subtracts")
    await talk.world.settle()
    return talk.card("Blocker")


async def asked(talk: Talk) -> Message:
    """A Minion asks while it works; the card in its job's thread."""
    await talk.world.issue("add() subtracts")
    talk.world.model_will(ASK, *WORK)
    await talk.world.make_due()
    await talk.world.until(lambda: questions(talk))
    await talk.world.overlord.turn()
    return questions(talk)[0]


def questions(talk: Talk) -> Sequence[Message]:
    replies = (reply for root in talk.cards() for reply in talk.chat.messages(thread=root.ts))
    return [reply for reply in replies if reply.plain.startswith("Question")]


async def decision(talk: Talk, number: int = 1) -> Decision:
    found: Decision = await talk.world.read(decisions.get, number)
    return found


async def answers(talk: Talk) -> int:
    """How many answers were written down for the job."""
    return (await talk.world.events()).count(EventName.DECISION_ANSWERED)
