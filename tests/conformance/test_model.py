"""What every model endpoint does for the gateway. A real one is added by `OPENAI_API_KEY` and `OVERLORD_LIVE_MODEL`."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from overlord.adapters.model import OpenAIModel
from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from overlord.errors import ModelUnavailable
from overlord.ports.model import Model
from tests.memory.model import MemoryModel

LIVE_VARIABLES = ("OPENAI_API_KEY", "OVERLORD_LIVE_MODEL")
IMPLEMENTATIONS = ["memory", "embedded"] + ["live"] * all(os.environ.get(name) for name in LIVE_VARIABLES)


@dataclass(slots=True)
class Endpoint:
    """A model, and the same address with a key that is wrong."""

    model: Model
    unsigned: Model
    name: str

    def request(self, **fields: Any) -> bytes:
        messages = [{"role": "user", "content": "Say the word: ready"}]
        return json.dumps({"model": self.name, "messages": messages} | fields).encode()


@asynccontextmanager
async def embedded_endpoint() -> AsyncIterator[Endpoint]:
    embedded = EmbeddedModel()
    embedded.will(play.say("ready"))
    async with embedded.serve() as url:
        model, unsigned = OpenAIModel(f"{url}/v1/", embedded.key), OpenAIModel(f"{url}/v1", "wrong")
        yield Endpoint(model, unsigned, "scripted")
        await model.close()
        await unsigned.close()


@asynccontextmanager
async def memory_endpoint() -> AsyncIterator[Endpoint]:
    scripted = EmbeddedModel()
    scripted.will(play.say("ready"))
    yield Endpoint(MemoryModel(scripted, scripted.key), MemoryModel(scripted, "wrong"), "scripted")


@asynccontextmanager
async def live_endpoint() -> AsyncIterator[Endpoint]:
    key, name = (os.environ[variable] for variable in LIVE_VARIABLES)
    url = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    model, unsigned = OpenAIModel(url, key), OpenAIModel(url, "wrong")
    yield Endpoint(model, unsigned, name)
    await model.close()
    await unsigned.close()


ENDPOINTS: dict[str, Callable[[], AbstractAsyncContextManager[Endpoint]]] = {
    "memory": memory_endpoint,
    "embedded": embedded_endpoint,
    "live": live_endpoint,
}


@pytest.fixture(params=IMPLEMENTATIONS)
async def endpoint(request: pytest.FixtureRequest) -> AsyncIterator[Endpoint]:
    async with ENDPOINTS[request.param]() as endpoint:
        yield endpoint


async def body_of(model: Model, request: bytes) -> tuple[int, str, bytes]:
    async with model.complete(request) as response:
        body = b"".join([chunk async for chunk in response.chunks()])
        return response.status, response.headers["content-type"], body


async def test_a_completion_has_a_message_and_its_usage(endpoint: Endpoint) -> None:
    status, kind, body = await body_of(endpoint.model, endpoint.request())
    reply = json.loads(body)
    assert (status, kind.split(";")[0]) == (200, "application/json")
    assert "ready" in reply["choices"][0]["message"]["content"].lower()
    assert reply["usage"]["prompt_tokens"] > 0
    assert reply["usage"]["completion_tokens"] > 0


async def test_a_stream_ends_with_its_usage(endpoint: Endpoint) -> None:
    asked = endpoint.request(stream=True, stream_options={"include_usage": True})
    status, kind, body = await body_of(endpoint.model, asked)
    lines = [line.removeprefix("data: ") for line in body.decode().splitlines() if line]
    assert (status, kind.split(";")[0], lines[-1]) == (200, "text/event-stream", "[DONE]")
    assert json.loads(lines[-2])["usage"]["total_tokens"] > 0


async def test_a_refusal_is_a_reply(endpoint: Endpoint) -> None:
    for model, request, expected in (
        (endpoint.unsigned, endpoint.request(), 401),
        (endpoint.model, b'{"messages": 1', 400),
    ):
        status, _, body = await body_of(model, request)
        assert status == expected
        assert json.loads(body)["error"]["message"]


async def test_the_list_of_models_shows_whether_the_key_is_taken(endpoint: Endpoint) -> None:
    async with endpoint.model.models() as reply:
        names = [
            item["id"] for item in json.loads(b"".join([chunk async for chunk in reply.chunks()]))["data"]
        ]
    assert (reply.status, endpoint.name in names) == (200, True)
    for model, signed in ((endpoint.unsigned, True), (endpoint.model, False)):
        async with model.models(signed=signed) as reply:
            assert reply.status == 401


@pytest.mark.parametrize("name", ["memory", "embedded"])
async def test_a_reply_that_is_cut_off_is_none_and_one_that_never_comes_neither(name: str) -> None:
    scripted = EmbeddedModel()
    async with scripted.serve() as url:
        told = OpenAIModel(f"{url}/v1", scripted.key, read_timeout_s=0.05)
        model: Model = MemoryModel(scripted, scripted.key) if name == "memory" else told
        for number, turn in enumerate((play.cut(), play.silence())):
            scripted.will(turn)
            messages = [{"role": "user", "content": f"Say the word, number {number}"}]
            asked = json.dumps({"model": "scripted", "stream": True, "messages": messages}).encode()
            with pytest.raises(ModelUnavailable):
                await body_of(model, asked)
        await told.close()


async def test_an_address_where_nobody_is_gives_no_reply(unused_tcp_port: int) -> None:
    model = OpenAIModel(f"http://127.0.0.1:{unused_tcp_port}/v1", "sk-test")
    with pytest.raises(ModelUnavailable) as raised:
        await body_of(model, b"{}")
    assert (raised.value.why, raised.value.reached) == ("connection refused", False)
    await model.close()
