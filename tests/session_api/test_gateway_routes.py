"""When endpoints fail: asked again, then the next one, and nothing that has begun is asked for twice."""

import pytest

from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from overlord.embedded.play import Turn
from tests.session_api.gate import CANARY, open_gate

PASSING = [play.status(429), play.status(500), play.status(529), play.status(408), play.cut()]


@pytest.fixture
def model() -> EmbeddedModel:
    return EmbeddedModel(key=CANARY)


@pytest.fixture
def spare() -> EmbeddedModel:
    return EmbeddedModel(key="sk-spare-0123456789abcdef")


def named(turn: Turn) -> str:
    return f"{turn.misbehaviour} {turn.status}"


@pytest.mark.parametrize("turn", PASSING, ids=named)
async def test_a_passing_trouble_is_tried_again(model: EmbeddedModel, turn: Turn) -> None:
    model.will(turn, turn, play.say("Here I am."))
    async with open_gate(model) as gate:
        reply = await gate.ask()
        assert reply.json()["choices"][0]["message"]["content"] == "Here I am."
        assert len(gate.pauses) == 2
        assert 0.5 <= gate.pauses[0] <= 1.0 <= gate.pauses[1] <= 2.0
        rows = await gate.settled()
        assert [row["status"] for row in rows][-1] == 200
        was_cut = turn.misbehaviour == "cut"
        assert [row["prompt"] > 0 for row in rows] == [was_cut, was_cut, True]


async def test_a_stream_cut_before_anything_was_sent_on_is_tried_again(model: EmbeddedModel) -> None:
    model.will(play.status(503), play.say("Streamed."))
    async with open_gate(model) as gate:
        reply = await gate.ask(stream=True)
        assert reply.content.endswith(b"data: [DONE]\n\n")
        assert len(model.requests) == 2


@pytest.mark.parametrize(("code", "heard"), [(429, 429), (500, 500), (529, 503), (408, 503)])
async def test_a_lasting_trouble_is_told_in_a_status_clients_wait_out(
    model: EmbeddedModel, code: int, heard: int
) -> None:
    model.will(play.status(code))
    async with open_gate(model) as gate:
        reply = await gate.ask()
        assert reply.status_code == heard
        assert reply.json()["error"]["message"] == f"The scripted model answers {code}."
        assert [(row["status"], row["prompt"]) for row in await gate.settled()] == [(code, 0)] * 3


@pytest.mark.parametrize(("asked", "waited"), [(7, 7), (10_000, 60)])
async def test_retry_after_is_obeyed_up_to_a_limit(model: EmbeddedModel, asked: int, waited: int) -> None:
    model.will(play.status(429, retry_after_s=asked), play.say("Now."))
    async with open_gate(model) as gate:
        assert (await gate.ask()).status_code == 200
        assert gate.pauses == [waited]


async def test_the_next_endpoint_is_asked_when_one_stays_away(
    model: EmbeddedModel, spare: EmbeddedModel
) -> None:
    model.will(play.status(503))
    spare.will(play.say("From the spare."))
    async with open_gate(model, spare) as gate:
        reply = await gate.ask()
        assert reply.json()["choices"][0]["message"]["content"] == "From the spare."
        assert (len(model.requests), len(spare.requests), len(gate.pauses)) == (3, 1, 2)
        assert [row["model"] for row in await gate.settled()] == ["scripted"] * 3 + ["spare-model"]


async def test_an_endpoint_that_wants_a_long_rest_is_left_at_once(
    model: EmbeddedModel, spare: EmbeddedModel
) -> None:
    model.will(play.status(429, retry_after_s=3600))
    spare.will(play.say("From the spare."))
    async with open_gate(model, spare) as gate:
        assert (await gate.ask()).status_code == 200
        assert (len(model.requests), gate.pauses) == (1, [])


async def test_an_endpoint_where_nobody_is_costs_nothing(
    model: EmbeddedModel, spare: EmbeddedModel, unused_tcp_port: int
) -> None:
    spare.will(play.say("From the spare."))
    away = {"base_url": f"http://127.0.0.1:{unused_tcp_port}/v1"}
    async with open_gate(model, spare, model=away) as gate:
        assert (await gate.ask()).status_code == 200
        assert [(row["status"], row["prompt"] > 0) for row in await gate.settled()] == [
            (502, False),
            (502, False),
            (502, False),
            (200, True),
        ]


async def test_silence_is_given_up_and_may_have_cost(model: EmbeddedModel) -> None:
    model.will(play.silence())
    quick = {"timeout_s": 0.05}
    async with open_gate(model, model=quick, retries={"attempts": 2}) as gate:
        reply = await gate.ask()
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "model_unavailable")
        assert [row["prompt"] > 0 for row in await gate.settled()] == [True, True]


@pytest.mark.parametrize("code", [400, 401, 404, 422])
async def test_a_refusal_is_passed_on_and_not_tried_again(
    model: EmbeddedModel, spare: EmbeddedModel, code: int
) -> None:
    model.will(play.status(code, text=f"no: {CANARY}"))
    async with open_gate(model, spare) as gate:
        reply = await gate.ask()
        said = reply.json()["error"]["message"]
        assert (reply.status_code, "no: [redacted]" in said, CANARY in said) == (code, True, False)
        assert (len(model.requests), len(spare.requests)) == (1, 0)
        assert [(row["status"], row["prompt"]) for row in await gate.settled()] == [(code, 0)]
