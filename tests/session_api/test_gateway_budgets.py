"""Budgets at the session API: a 402 that names the budget, and no cap passed however many ask at once."""

import asyncio

from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from tests.session_api.gate import open_gate

PRICES = {"scripted": {"input": 1, "output": 1_000_000}}
"""A token of a reply costs a dollar."""


def talking() -> EmbeddedModel:
    model = EmbeddedModel()
    model.will(play.say("Hi"), when="Hello")
    return model


async def test_a_spent_budget_is_402_and_says_which() -> None:
    budget = {"session_tokens": 10_000, "completion_tokens": 9_990}
    model = talking()
    async with open_gate(model, budget=budget) as gate:
        refused = await gate.ask()
        assert (refused.status_code, refused.json()["error"]["code"]) == (402, "budget_exhausted")
        assert refused.json()["error"]["message"] == "this session's budget (10,000 tokens) is spent"
        assert (model.requests, await gate.rows()) == ([], [])
        await gate.ask()
        assert [event["budget"] for event in await gate.events("budget_spent")] == ["session_tokens"]


async def test_money_is_reserved_for_the_longest_reply() -> None:
    budget = {"session_usd": 10, "completion_tokens": 11}
    async with open_gate(talking(), budget=budget, prices=PRICES) as gate:
        assert (await gate.ask()).json()["error"]["message"] == "this session's budget ($10.00) is spent"
        assert (await gate.ask(max_tokens=9)).status_code == 200


async def test_requests_at_once_never_pass_a_cap_and_wait_for_what_is_only_reserved() -> None:
    budget = {"day_usd": 20, "completion_tokens": 12}
    async with open_gate(talking(), budget=budget, prices=PRICES) as gate:
        replies = await asyncio.gather(*(gate.ask(stream=number % 2 == 0) for number in range(12)))
        rows = await gate.settled()
        assert sum(row["cost_nusd"] for row in rows) <= 20 * 10**9
        codes = [reply.status_code for reply in replies]
        assert codes.count(200) == len(rows) > 1
        assert set(codes) == {200, 402}


async def test_another_jobs_spending_counts_for_the_day_and_not_for_the_session() -> None:
    budget = {"day_usd": 5, "completion_tokens": 4}
    async with open_gate(talking(), budget=budget, prices=PRICES) as gate:
        other = await gate.another_session()
        async with await gate.client(other.id) as client:
            for _ in range(2):
                await client.post(
                    "/v1/chat/completions", content=b'{"messages": [{"role": "user", "content": "Hello"}]}'
                )
        refused = await gate.ask()
        assert refused.json()["error"]["message"] == "today's budget ($5.00) is spent"
        gate.clock.move(24 * 3600)
        assert (await gate.ask()).status_code == 200
