"""Which of `models` a session reaches: the one that its repository's settings name for what it does, under no other name."""

import re
from typing import Any

import pytest

from minion.protocol import SessionKind
from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from overlord.session_api.gateway.assistant import GatewayAssistant
from tests.records import REPO
from tests.session_api.gate import Gate, open_gate

OTHER = "acme/other"
MODELS = {
    "default": [{"model": "plain"}],
    "fast": [{"model": "hare"}, {"endpoint": "spare0", "model": "spare-hare"}],
    "careful": [{"endpoint": "spare0", "model": "owl"}],
    "costly": [{"endpoint": "spare0", "model": "whale"}],
}
SPACES: dict[str, Any] = {
    REPO: {"model": "fast", "checks": {"review_model": "careful"}},
    OTHER: {"model": "costly"},
}
GIVEN: dict[str, Any] = {"models": MODELS, "spaces": SPACES, "retries": {"attempts": 1}}


@pytest.fixture
def model() -> EmbeddedModel:
    return EmbeddedModel()


@pytest.fixture
def spare() -> EmbeddedModel:
    return EmbeddedModel()


async def answered(gate: Gate) -> list[str]:
    return [row["model"] for row in await gate.settled()]


@pytest.mark.parametrize("name", ["default", "fast", "hare", "spare-hare", None])
async def test_a_work_session_reaches_its_repositorys_model(
    model: EmbeddedModel, spare: EmbeddedModel, name: str | None
) -> None:
    model.will(play.say("Quick."))
    async with open_gate(model, spare, **GIVEN) as gate:
        assert (await gate.ask(model=name)).status_code == 200
        assert await answered(gate) == ["hare"]


async def test_it_reaches_the_models_that_stand_in_for_it(model: EmbeddedModel, spare: EmbeddedModel) -> None:
    model.will(play.status(503))
    spare.will(play.say("Quick."))
    async with open_gate(model, spare, **GIVEN) as gate:
        assert (await gate.ask(model="fast")).status_code == 200
        assert await answered(gate) == ["hare", "spare-hare"]


@pytest.mark.parametrize("name", ["careful", "costly", "no-such", "owl", "plain"])
async def test_any_other_is_refused_the_same_whether_it_exists_or_not(
    model: EmbeddedModel, spare: EmbeddedModel, name: str
) -> None:
    async with open_gate(model, spare, **GIVEN) as gate:
        reply = await gate.ask(model=name)
        assert (reply.status_code, reply.json()["error"]) == (
            400,
            {
                "code": "http_400",
                "message": f"model {name!r} is not offered to this session; ask for 'default'",
                "type": "overlord",
            },
        )
        assert (model.requests, spare.requests, await gate.rows()) == ([], [], [])


async def test_two_repositories_do_not_reach_each_others_model(
    model: EmbeddedModel, spare: EmbeddedModel
) -> None:
    model.will(play.say("Quick."))
    spare.will(play.say("Dear."))
    async with open_gate(model, spare, **GIVEN) as gate:
        other = (await gate.another_session(space=OTHER)).id
        asked = [(None, "costly"), (other, "fast"), (other, "careful"), (None, "fast"), (other, "costly")]
        replies = [await gate.ask(session, model=name) for session, name in asked]
        assert [reply.status_code for reply in replies] == [400, 400, 400, 200, 200]
        assert await answered(gate) == ["hare", "whale"]


@pytest.mark.parametrize("kind", [SessionKind.REVIEW, SessionKind.DRAFT])
async def test_the_judge_has_a_model_of_its_own_where_one_is_named(
    model: EmbeddedModel, spare: EmbeddedModel, kind: SessionKind
) -> None:
    spare.will(play.say("Yes."))
    spare.will(play.say("Dear, yes."), when="dear")
    async with open_gate(model, spare, **GIVEN) as gate:
        own = await gate.another_session(kind=kind, token_budget=100_000)
        other = await gate.another_session(9, space=OTHER, kind=kind, token_budget=100_000)
        assistant = GatewayAssistant(gate.keeper.parts)
        assert (
            await assistant.answer(own.account(REPO), [{"role": "user", "content": "Is it good?"}]) == "Yes."
        )
        assert (
            await assistant.answer(other.account(OTHER), [{"role": "user", "content": "Is it dear?"}])
            == "Dear, yes."
        )
        assert await answered(gate) == ["owl", "whale"]


async def test_a_check_session_has_none(model: EmbeddedModel, spare: EmbeddedModel) -> None:
    async with open_gate(model, spare, kind=SessionKind.CHECK, **GIVEN) as gate:
        reply = await gate.ask()
        assert reply.status_code == 403
        assert not re.search("fast|careful|costly", reply.text)
