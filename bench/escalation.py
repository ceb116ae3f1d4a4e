"""How soon an answer is with the session that escalated: from the click in the chat to what the session's next look for messages brings.

A world with a forge, a chat spoken with over its sockets, a session that runs as a process, and its session API on a socket.

    python -m bench.escalation
"""

import asyncio
import time
from dataclasses import replace
from statistics import median

import httpx
import structlog

from bench.table import Figure, publish
from minion.protocol import (
    ESCALATIONS_PATH,
    MESSAGES_PATH,
    Brief,
    Messages,
    MessagesTaken,
    NewEscalation,
    PortfolioBrief,
    PortfolioTool,
    Suggestion,
    decode,
    encode,
)
from overlord.embedded.play import call, edit, submit
from overlord.home import Home
from overlord.store import sessions
from overlord.store.rows import adapter, update
from tests.chatting import Talk, made_talk
from tests.world import FIX

ROUNDS = 8
GOAL_MS = 2_000.0
ASKS = call("ask_question", question="Plus or minus?", kind="question")
"""The Minion waits here, so that its session goes on for as long as is measured."""


async def at_work(talk: Talk) -> tuple[str, httpx.AsyncClient]:
    """A session that was given the tool, and its way to the session API."""
    world = talk.world
    await world.issue("add() subtracts")
    world.model_will(ASKS, edit(*FIX), submit())
    await world.make_due()
    await world.until(world.decisions)
    [live] = await world.read(sessions.live)
    brief: Brief = adapter(Brief).validate_json(live.brief)
    told = PortfolioBrief(briefing="", initiative="", tools=(PortfolioTool.ESCALATE,))
    text = encode(replace(brief, portfolio=told)).decode()
    await world.overlord.parts.database.write(
        "bench", lambda c: update(c, "sessions", live.id, {"brief": text})
    )
    transport = httpx.AsyncHTTPTransport(uds=str(Home(world.root / "home").socket(live.id)))
    return live.id, httpx.AsyncClient(transport=transport, base_url="http://session", timeout=60)


async def answered(talk: Talk, inside: httpx.AsyncClient, number: int) -> float:
    """The milliseconds of one escalation from the click on."""
    question = f"Which cache is number {number} for?"
    asked = NewEscalation(
        type="decision",
        kind="trade_off",
        question=question,
        suggested=(Suggestion(label=f"Redis {number}"), Suggestion(label="Memcached")),
        blocks="nothing",
    )
    (await inside.post(ESCALATIONS_PATH, content=encode(asked))).raise_for_status()
    await talk.world.until(lambda: [item for item in talk.cards("Decision") if question in item.plain])
    [card] = [item for item in talk.cards("Decision") if question in item.plain]
    taken: tuple[int, ...] = ()

    async def is_told() -> bool:
        nonlocal taken
        reply = await inside.post(MESSAGES_PATH, content=encode(MessagesTaken(taken=(), turn=1)))
        found = decode(Messages, reply.content).messages
        taken = tuple(item.id for item in found if question in item.text)
        return bool(taken)

    began = time.perf_counter()
    clicked = asyncio.create_task(talk.chat.click(talk.alice, card.ts, f"Redis {number}"))
    await talk.world.until(is_told)
    took = (time.perf_counter() - began) * 1000
    await inside.post(MESSAGES_PATH, content=encode(MessagesTaken(taken=taken, turn=1)))
    await clicked
    return took


async def main() -> None:
    """Print the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    async with made_talk() as talk:
        _, inside = await at_work(talk)
        async with inside:
            took = [await answered(talk, inside, number) for number in range(ROUNDS)]
    name = "a click to the session's messages"
    publish(
        [
            Figure(part="escalation", name=f"{name}, median", unit="ms", measured=median(took), goal=GOAL_MS),
            Figure(part="escalation", name=f"{name}, worst", unit="ms", measured=max(took), goal=GOAL_MS),
        ]
    )


if __name__ == "__main__":
    asyncio.run(main())
