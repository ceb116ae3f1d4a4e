"""What clients of all wires ask beside a reply: it costs nothing, and what there is not is said in the shape they know."""

import json
from typing import Any

import pytest

from minion.protocol import SessionKind
from overlord.domain.wires.wire import Wire
from overlord.embedded.model import EmbeddedModel
from tests.session_api.gate import open_gate
from tests.session_api.wire_cases import error_of

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 300_000}}


def saying(content: Any) -> dict[str, Any]:
    return {"model": "default", "messages": [{"role": "user", "content": content}]}


async def test_the_list_has_the_sessions_own_model_by_its_names_and_no_other() -> None:
    models = {"default": [{"model": "plain"}], "fast": [{"model": "hare"}]}
    async with open_gate(EmbeddedModel(), models=models) as gate, await gate.client() as client:
        listed = (await client.get("/v1/models")).json()
        assert [item["id"] for item in listed["data"]] == ["default", "plain"]
        assert (await client.get("/v1/models/plain")).json()["id"] == "plain"
        assert (await client.get("/v1/models/hare")).status_code == 404
        google = (await client.get("/v1beta/models")).json()
        assert [item["name"] for item in google["models"]] == ["models/default", "models/plain"]
        assert (await client.get("/v1beta/models/plain")).json()["name"] == "models/plain"
        assert (await client.get("/v1beta/models/hare")).status_code == 404


async def test_tokens_are_counted_here_and_an_image_is_not_its_bytes() -> None:
    model = EmbeddedModel()
    async with open_gate(model) as gate, await gate.client() as client:

        async def count(content: Any) -> int:
            path = "/v1/messages/count_tokens?beta=true"
            found: int = (await client.post(path, content=json.dumps(saying(content)))).json()["input_tokens"]
            return found

        assert await count("Hello") < 100
        assert 10_000 < await count("word " * 10_000) < 20_000
        assert 1000 < await count([IMAGE]) < 2000
        google = {"contents": [{"role": "user", "parts": [{"text": "word " * 10_000}]}]}
        for body in (google, {"generateContentRequest": {"model": "models/default", **google}}):
            reply = await client.post("/v1beta/models/default:countTokens", content=json.dumps(body))
            assert 10_000 < reply.json()["totalTokens"] < 20_000
        wrong = await client.post("/v1/messages/count_tokens", content=b"{")
        assert (wrong.status_code, error_of(Wire.MESSAGES, wrong.json())) == (400, "the request is not JSON")
        assert (model.requests, await gate.rows()) == ([], [])


async def test_a_client_that_looks_whether_there_is_anybody_finds_somebody() -> None:
    async with open_gate(EmbeddedModel()) as gate, await gate.client() as client:
        assert (await client.head("/")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "wire"),
    [
        ("POST", "/v1/embeddings", Wire.CHAT),
        ("POST", "/v1/completions", Wire.CHAT),
        ("POST", "/api/chat", Wire.CHAT),
        ("GET", "/v1/chat/completions", Wire.CHAT),
        ("POST", "/v1/messages/batches", Wire.MESSAGES),
        ("GET", "/v1/responses/resp_1", Wire.RESPONSES),
        ("POST", "/v1beta/models/default:embedContent", Wire.GEMINI),
        ("POST", "/v1beta/models/default", Wire.GEMINI),
        ("POST", "/v1beta/cachedContents", Wire.GEMINI),
    ],
)
async def test_what_no_wire_has_is_404_and_says_which_there_are(method: str, path: str, wire: Wire) -> None:
    async with open_gate(EmbeddedModel()) as gate, await gate.client() as client:
        reply = await client.request(method, path, content=b"{}")
        said = error_of(wire, reply.json())
        assert (reply.status_code, said.startswith(f"{method} {path} is no route here")) == (404, True)
        for known in ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1beta/models/NAME"):
            assert known in said


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/messages", Wire.MESSAGES),
        ("/v1/messages/count_tokens", Wire.MESSAGES),
        ("/v1/responses", Wire.RESPONSES),
        ("/v1beta/models/default:generateContent", Wire.GEMINI),
    ],
)
async def test_a_check_session_has_no_model_over_any_wire(path: str, wire: Wire) -> None:
    async with open_gate(EmbeddedModel(), kind=SessionKind.CHECK) as gate, await gate.client() as client:
        reply = await client.post(path, content=b"{}")
        assert (reply.status_code, "check session" in error_of(wire, reply.json())) == (403, True)


@pytest.mark.parametrize(
    ("path", "wire"),
    [
        ("/v1/messages", Wire.MESSAGES),
        ("/v1/responses", Wire.RESPONSES),
        ("/v1beta/models/default:generateContent", Wire.GEMINI),
    ],
)
async def test_a_request_that_is_too_large_is_413_in_the_clients_wire(path: str, wire: Wire) -> None:
    async with open_gate(EmbeddedModel()) as gate, await gate.client() as client:
        reply = await client.post(path, content=b" " * (16 * 1024 * 1024 + 1))
        assert (reply.status_code, "larger than" in error_of(wire, reply.json())) == (413, True)
