"""The model adapter when the endpoint misbehaves: a cut reply, silence, odd keys, and no leak of the key."""

import logging
from collections.abc import AsyncIterator

import pytest

from overlord.adapters.model import OpenAIModel, path_of
from overlord.domain.wires.wire import Wire
from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from overlord.errors import ModelUnavailable, SettingsError

REQUEST = b'{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}'


@pytest.fixture
def embedded() -> EmbeddedModel:
    return EmbeddedModel(key="sk-canary")


@pytest.fixture
async def model(embedded: EmbeddedModel) -> AsyncIterator[OpenAIModel]:
    async with embedded.serve() as url:
        model = OpenAIModel(f"{url}/v1", embedded.key)
        yield model
        await model.close()


async def received(model: OpenAIModel) -> tuple[int, bytes]:
    async with model.complete(REQUEST) as response:
        return response.status, b"".join([chunk async for chunk in response.chunks()])


async def test_a_reply_that_is_cut_off_is_unavailable_and_what_came_is_kept(
    embedded: EmbeddedModel, model: OpenAIModel
) -> None:
    embedded.will(play.cut())
    came = b""
    async with model.complete(REQUEST) as response:
        with pytest.raises(ModelUnavailable, match="cut off"):
            async for chunk in response.chunks():
                came += chunk
    assert came.startswith(b"data: ")


async def test_a_model_that_says_nothing_is_given_up(embedded: EmbeddedModel) -> None:
    embedded.will(play.silence())
    async with embedded.serve() as url:
        model = OpenAIModel(f"{url}/v1", embedded.key, read_timeout_s=0.3)
        with pytest.raises(ModelUnavailable, match="it is silent"):
            await received(model)
        await model.close()


@pytest.mark.parametrize(
    "address", ["nonsense", "ftp://model.test/v1", "http://[::1", "https://", "api.openai.com/v1"]
)
def test_an_address_that_is_none_is_named_before_anybody_is_asked(address: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL"):
        OpenAIModel(address, "sk-test")


@pytest.mark.parametrize(
    ("wire", "model", "stream", "path"),
    [
        (Wire.CHAT, "m", True, "chat/completions"),
        (Wire.MESSAGES, "m", True, "messages"),
        (Wire.RESPONSES, "m", False, "responses"),
        (Wire.GEMINI, "m", False, "models/m:generateContent"),
        (Wire.GEMINI, "models/m", True, "models/m:streamGenerateContent?alt=sse"),
        (Wire.GEMINI, "a/../../b?x#y", True, "models/a%2F..%2F..%2Fb%3Fx%23y:streamGenerateContent?alt=sse"),
    ],
)
def test_each_wire_has_its_path_and_a_models_name_cannot_leave_it(
    wire: Wire, model: str, *, stream: bool, path: str
) -> None:
    assert path_of(wire, model, stream=stream) == path


async def test_garbage_and_errors_are_replies(embedded: EmbeddedModel, model: OpenAIModel) -> None:
    embedded.will(play.garbage(), play.status(529), play.say("Hello"))
    assert [(await received(model))[0] for _ in range(3)] == [200, 529, 200]


async def test_a_reply_nobody_reads_to_the_end_leaves_nothing_behind(
    embedded: EmbeddedModel, model: OpenAIModel
) -> None:
    embedded.will(play.say("x" * 100_000))
    for _ in range(3):
        async with model.complete(REQUEST) as response:
            assert response.status == 200
    assert (await received(model))[0] == 200


async def test_headers_of_the_connection_are_not_passed_on(
    embedded: EmbeddedModel, model: OpenAIModel
) -> None:
    embedded.will(play.say("Hello"))
    async with model.complete(REQUEST) as response:
        assert {"transfer-encoding", "content-length", "content-encoding"}.isdisjoint(response.headers)


async def test_the_key_is_in_no_log_exception_or_repr(
    embedded: EmbeddedModel, model: OpenAIModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    embedded.will(play.cut(), play.silence())
    with pytest.raises(ModelUnavailable) as caught:
        await received(model)
    texts = [repr(model), repr(caught.value), *(record.getMessage() for record in caplog.records)]
    assert caught.value.__cause__ is None
    assert not [text for text in texts if embedded.key in text]


@pytest.mark.parametrize("key", ["two words", "sk-é", "sk\nx: y"])
def test_what_cannot_be_a_key_is_refused_at_once(key: str) -> None:
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        OpenAIModel("https://api.openai.com/v1", key)


async def test_an_endpoint_without_a_key_gets_none(embedded: EmbeddedModel) -> None:
    async with embedded.serve() as url:
        model = OpenAIModel(f"{url}/v1")
        assert (await received(model))[0] == 401
        await model.close()


async def test_a_proxy_of_the_environment_is_not_used_for_loopback(
    embedded: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_tcp_port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    embedded.will(play.say("Hello"))
    async with embedded.serve() as url:
        model = OpenAIModel(f"{url}/v1", embedded.key)
        assert (await received(model))[0] == 200
        await model.close()
