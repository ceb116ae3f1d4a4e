"""A model that gives no replies is a fact with a begin and an end, told once each; a session tries for a time and then stops."""

from typing import Any

import pytest

from overlord.domain.model_fault import FaultKind, ModelFault
from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel, Refusal
from overlord.session_api.gateway.model_watch import ModelWatch
from overlord.session_api.outages import REPORTED_AFTER_S
from overlord.store.budgets import model_outages
from tests.session_api.gate import Gate, open_gate

BUSY = Refusal(status=429, message="Rate limit reached.", retry_after_s=1)
CHAT: dict[str, Any] = {
    "slack": {
        "bot_token": "xoxb-1",
        "app_token": "xapp-1",
        "channel": "C0123456789",
        "approvers": ["U0123456"],
    }
}


@pytest.fixture
def model() -> EmbeddedModel:
    return EmbeddedModel()


async def lines(gate: Gate) -> list[str]:
    found = await gate.database.read(model_outages.every)
    return [outage.line(gate.clock.now()) for outage in found]


async def told(gate: Gate) -> list[str]:
    names = "SELECT name FROM ledger WHERE name LIKE 'model_%' ORDER BY seq"
    return [row["name"] for row in await gate.rows(names)]


async def test_a_short_wait_is_nobodys_business(model: EmbeddedModel) -> None:
    model.will(play.status(429, retry_after_s=2), play.status(429, retry_after_s=1), play.say("There."))
    async with open_gate(model) as gate:
        assert (await gate.ask()).status_code == 200
        assert (await lines(gate), await told(gate)) == ([], [])


async def test_a_long_one_is_said_once_and_so_is_its_end(model: EmbeddedModel) -> None:
    model.will(play.say("There."))
    async with open_gate(model, **CHAT) as gate:
        model.refusal = BUSY
        for _ in range(3):
            assert (await gate.ask()).status_code == 429
            gate.clock.move(REPORTED_AFTER_S)
        assert await lines(gate) == [
            "the model scripted is busy (429: Rate limit reached), trying again for 8 minutes"
        ]
        [began] = await gate.events("model_failed")
        assert (began["model"], began["fault"], began["tried_for"]) == ("scripted", "busy", "9 minutes")
        model.refusal = None
        gate.clock.move(60)
        assert (await gate.ask()).status_code == 200
        assert (await lines(gate), await told(gate)) == ([], ["model_failed", "model_recovered"])
        assert [row["kind"] for row in await gate.rows("SELECT kind FROM messages")] == ["notice", "notice"]


async def test_an_endpoint_that_asks_for_a_long_rest_is_said_at_once(model: EmbeddedModel) -> None:
    model.will(play.status(429, retry_after_s=40), play.say("There."))
    async with open_gate(model) as gate:
        assert (await gate.ask()).status_code == 200
        assert await told(gate) == ["model_failed", "model_recovered"]


async def test_a_session_that_has_tried_long_enough_is_told_to_stop_and_may_try_anew(
    model: EmbeddedModel,
) -> None:
    model.refusal = BUSY
    async with open_gate(model) as gate:
        assert (await gate.ask()).status_code == 429
        gate.clock.move(541)
        reply = await gate.ask()
        assert (reply.status_code, reply.json()["error"]["message"]) == (
            424,
            "the model scripted is busy (429: Rate limit reached); it was tried for 9 minutes."
            " Wait for a while, or ask the provider for a higher limit.",
        )
        assert (await gate.ask()).status_code == 429, "a next session has its own time"


@pytest.mark.parametrize(
    ("refusal", "status", "kind"),
    [
        (Refusal(status=401, message="Incorrect API key."), 401, "key"),
        (Refusal(status=404, message="The model scripted does not exist."), 404, "model"),
        (Refusal(status=402, message="Insufficient balance."), 424, "credit"),
        (Refusal(status=429, message="Quota.", code="insufficient_quota"), 424, "credit"),
    ],
)
async def test_what_waiting_does_not_change_is_said_and_stops_at_once(
    model: EmbeddedModel, refusal: Refusal, status: int, kind: str
) -> None:
    model.refusal = refusal
    async with open_gate(model) as gate:
        for _ in range(2):
            reply = await gate.ask()
            assert (reply.status_code, reply.json()["error"]["code"]) == (status, f"model_{kind}")
        assert (len(model.requests), gate.pauses) == (2, [])
        [fact] = await gate.events("model_failed")
        assert (fact["fault"], fact["tried_for"]) == (kind, "")


async def test_a_request_that_is_refused_for_itself_shows_that_the_model_is_there(
    model: EmbeddedModel,
) -> None:
    model.will(play.status(400, text="too long"))
    async with open_gate(model) as gate:
        await gate.keeper.parts.outages.note("scripted", fault(FaultKind.FAILING))
        assert (await gate.ask()).status_code == 400
        assert await told(gate) == ["model_failed", "model_recovered"]


def fault(kind: FaultKind, detail: str = "503") -> ModelFault:
    return ModelFault(kind=kind, detail=detail)


async def test_a_fault_that_becomes_one_that_stays_is_said_again(model: EmbeddedModel) -> None:
    async with open_gate(model) as gate:
        outages = gate.keeper.parts.outages
        for kind, left_s in ((FaultKind.BUSY, 60.0), (FaultKind.FAILING, 60.0), (FaultKind.KEY, None)):
            await outages.note("scripted", fault(kind), left_s=left_s)
        assert [event["fault"] for event in await gate.events("model_failed")] == ["busy", "key"]
        [row] = await gate.database.read(model_outages.every)
        assert (row.kind, row.until) == (FaultKind.KEY, None)


async def watch_of(gate: Gate) -> tuple[ModelWatch, Any]:
    return ModelWatch(gate.keeper.parts), gate.keeper.parts.outages


async def test_a_daemon_says_at_its_start_what_it_cannot_use_and_sees_that_it_is_back(
    model: EmbeddedModel,
) -> None:
    async with open_gate(model, repositories=["acme/calc"]) as gate:
        watch, _ = await watch_of(gate)
        await watch.look_at_all()
        assert await told(gate) == []
        model.refusal = Refusal(status=401, message="Incorrect API key.")
        await watch.look_at_all()
        await watch.look_at_all()
        await watch.look_again()
        assert await told(gate) == ["model_failed"]
        model.refusal = None
        await watch.look_again()
        assert (await lines(gate), await told(gate)) == ([], ["model_failed", "model_recovered"])
        assert len(model.requests) > 0, "that the key is taken is known from a completion"


async def test_it_does_not_ask_beside_a_session_that_tries_and_forgets_what_nobody_uses(
    model: EmbeddedModel,
) -> None:
    async with open_gate(model, repositories=["acme/calc"]) as gate:
        watch, outages = await watch_of(gate)
        model.refusal = BUSY
        await gate.ask()
        gate.clock.move(REPORTED_AFTER_S)
        await gate.ask()
        await outages.note("gpt-old", fault(FaultKind.FAILING))
        asked = len(model.requests)
        await watch.look_again()
        assert len(model.requests) == asked
        assert [outage.model for outage in await gate.database.read(model_outages.every)] == ["scripted"]
        outages.forget(gate.session.id)
        await watch.look_again()
        assert len(model.requests) == asked + 1
