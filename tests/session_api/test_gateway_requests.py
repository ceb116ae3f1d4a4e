"""What a session may not ask for: each is refused with its name before anything is reserved or sent."""

import asyncio
import json
import threading
from typing import Any

import pytest

from minion.protocol import COMPLETIONS_PATH
from overlord.domain.wires.wire import Wire
from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from overlord.session_api.gateway import gateway, relay
from tests.session_api.gate import DEADLINE_S, open_gate, request
from tests.session_api.wire_endpoints import Said, WireEndpoint

USER = {"role": "user"}


def saying(part: object) -> dict[str, Any]:
    return {"messages": [{**USER, "content": [part]}]}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"model": "gpt-9"}, "model 'gpt-9' is not offered to this session; ask for 'default'"),
    ({"model": ["default"]}, "is not offered"),
    ({"messages": None}, "needs a list of messages"),
    ({"messages": []}, "needs a list of messages"),
    ({"messages": ["hello"]}, "each message is an object with a role"),
    ({"messages": [{**USER, "content": {"a": 1}}]}, "text or a list of parts"),
    ({"n": 2}, "n must be 1"),
    ({"stream": "yes"}, "stream must be true or false"),
    ({"max_tokens": -1}, "max_tokens must be a whole number"),
    ({"max_completion_tokens": True}, "max_tokens must be a whole number"),
    ({"web_search_options": {}}, "parameter 'web_search_options' is not passed on"),
    ({"plugins": [{"id": "web"}]}, "parameter 'plugins'"),
    ({"models": ["dear"]}, "parameter 'models'"),
    ({"tools": {}}, "tools must be a list"),
    ({"tools": ["web_search"]}, "a tool of type 'web_search'"),
    ({"tools": [{"type": "web_search_preview"}]}, "a tool of type 'web_search_preview'"),
    ({"tools": [{"type": "code_interpreter"}]}, "a tool of type 'code_interpreter'"),
    ({"tools": [{"type": "mcp", "server_url": "https://evil"}]}, "a tool of type 'mcp'"),
    ({"tools": [{"type": "computer_use_preview"}]}, "a tool of type 'computer_use_preview'"),
    ({"tools": [{"google_search": {}}]}, "a tool of type 'None'"),
    ({"tools": [{"type": "function", "function": {}, "google_search": {}}]}, "a tool of type 'function'"),
    ({"tool_choice": {"type": "hosted"}}, "tool_choice may only name a function"),
    (saying({"type": "image_url", "image_url": {"url": "https://evil/?leak"}}), "only as a data: URL"),
    (saying({"type": "image_url", "image_url": "http://169.254.169.254/"}), "only as a data: URL"),
    (saying({"type": "file", "file": {"file_id": "f"}}), "content of type 'file'"),
    (saying({"type": "input_audio"}), "content of type 'input_audio'"),
    (saying("text"), "content of type 'None'"),
    (saying({"type": []}), "content of type '[]'"),
]


@pytest.mark.parametrize(("fields", "sentence"), REFUSED, ids=[str(fields)[:60] for fields, _ in REFUSED])
async def test_it_is_refused_by_name(fields: dict[str, Any], sentence: str) -> None:
    model = EmbeddedModel()
    async with open_gate(model) as gate:
        reply = await gate.ask(**fields)
        assert reply.status_code == 400
        assert sentence in reply.json()["error"]["message"]
        assert (model.requests, await gate.rows()) == ([], [])


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"n": NaN}', b"[" * 100_000, b'{"n": ' + b"9" * 5000 + b"}", b"\xff"]
)
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    async with open_gate(EmbeddedModel()) as gate, await gate.client() as client:
        reply = await client.post(COMPLETIONS_PATH, content=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "http_400")


async def test_a_number_without_end_is_refused() -> None:
    async with open_gate(EmbeddedModel()) as gate, await gate.client() as client:
        reply = await client.post(
            COMPLETIONS_PATH, content=request(temperature=7).replace(b": 7", b": 1e999")
        )
        assert reply.status_code == 400
        assert "a number without end" in reply.json()["error"]["message"]
        assert await gate.rows() == []


@pytest.mark.parametrize(
    "flood",
    [
        b"[" + b"[]," * 250_000 + b"[]]",
        b"[" + b"1," * 250_000 + b"1]",
        b"[" + b'"\\\\",' * 250_000 + b"1]",
        b'"' + b"," * 2_100_000 + b'"',
    ],
)
async def test_more_values_than_any_conversation_has_are_refused_before_they_are_read(flood: bytes) -> None:
    async with open_gate(EmbeddedModel()) as gate, await gate.client() as client:
        body = request(temperature=7).replace(b": 7", b": " + flood)
        reply = await client.post(COMPLETIONS_PATH, content=body)
        assert reply.status_code == 413
        assert "the request has more than 200,000 values" in reply.json()["error"]["message"]
        assert await gate.rows() == []


async def test_a_session_has_one_request_read_at_a_time_and_keeps_no_other_waiting() -> None:
    async with open_gate(EmbeddedModel()) as gate:
        parts, begun, go = gate.keeper.parts, threading.Semaphore(0), threading.Event()

        def read() -> bool:
            begun.release()
            return go.wait(DEADLINE_S)

        mine = [asyncio.create_task(parts.beside("mine", read)) for _ in range(100)]
        await asyncio.to_thread(begun.acquire)
        assert await parts.beside("another", lambda: "read") == "read"
        assert not begun.acquire(blocking=False)
        go.set()
        assert all(await asyncio.gather(*mine))
        del mine
        assert dict(parts.reading) == {}


async def test_a_long_text_is_no_flood_whatever_stands_in_it() -> None:
    model = EmbeddedModel()
    model.will(play.say("Read."))
    async with open_gate(model, budget={"session_tokens": 10**9}) as gate:
        text = '[1, {"a": "\\"}], ' * 60_000
        assert (await gate.ask(messages=[{**USER, "content": text}])).status_code == 200


async def test_no_cache_is_asked_for_that_costs_more_than_the_plain_one() -> None:
    model = EmbeddedModel()
    model.will(play.say("Kept."))
    dear, plain = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
    form = {"type": "object", "properties": {"cache_control": {"type": "string"}, "ttl": {}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": form}}
    async with open_gate(model) as gate:
        part = {"type": "text", "text": "Hello", "cache_control": dear}
        reply = await gate.ask(
            messages=[{**USER, "content": [part]}], tools=[{**tool, "cache_control": dear}]
        )
        assert reply.status_code == 200
        sent = json.loads(model.requests[0].body)
        assert sent["messages"][0]["content"] == [{**part, "cache_control": plain}]
        assert sent["tools"] == [{**tool, "cache_control": plain}]


async def test_images_as_data_and_plain_functions_pass() -> None:
    model = EmbeddedModel()
    model.will(play.say("A cat."))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    async with open_gate(model) as gate:
        message = {**USER, "content": [image, {"type": "text", "text": "What? \ud800"}]}
        chosen = {"type": "function", "function": {"name": "f"}}
        reply = await gate.ask(messages=[message], tools=[tool], tool_choice=chosen, n=1)
        assert reply.status_code == 200
        sent = json.loads(model.requests[0].body)
        assert (sent["messages"][0]["content"][0], sent["tools"], "n" in sent) == (image, [tool], False)


async def test_a_request_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(gateway), "MAX_REQUEST_BYTES", 1000)
    async with open_gate(EmbeddedModel()) as gate:
        assert (await gate.ask(messages=[{**USER, "content": "x" * 2000}])).status_code == 413
        assert await gate.rows() == []


async def test_a_long_request_is_read_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(gateway), "LONG_BODY_BYTES", 1000)
    model = EmbeddedModel()
    model.will(play.say("Hi"))
    async with open_gate(model) as gate:
        long = {**USER, "content": "x" * 2000}
        assert (await gate.ask(messages=[long])).status_code == 200
        assert json.loads(model.requests[-1].body)["messages"] == [long]
        refused = await gate.ask(messages=[long], model="another")
        assert (refused.status_code, "is not offered" in refused.json()["error"]["message"]) == (400, True)


async def test_a_stream_without_an_event_is_cut_before_it_is_held_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (gateway, relay):
        monkeypatch.setitem(vars(module), "MAX_REPLY_BYTES", 5000)
    endpoint = WireEndpoint(Wire.CHAT)
    endpoint.will(Said(pieces=[b"x" * 4000] * 1000, is_stream=True))
    async with open_gate(endpoint) as gate:
        streamed = await gate.ask(stream=True)
        assert len(streamed.content) < 1_000_000
        assert b"the reply is larger than" in streamed.content[-200:]


async def test_a_reply_too_large_is_cut_and_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(gateway), "MAX_REPLY_BYTES", 5000)
    monkeypatch.setitem(vars(relay), "MAX_REPLY_BYTES", 5000)
    model = EmbeddedModel()
    model.will(play.say("word " * 20_000))
    async with open_gate(model) as gate:
        whole = await gate.ask()
        assert (whole.status_code, whole.json()["error"]["code"]) == (422, "reply_too_large")
        streamed = await gate.ask(stream=True)
        assert len(streamed.content) < 200_000
        assert b"the reply is larger than" in streamed.content[-200:]
        assert all(row["prompt"] > 0 and row["completion"] > 50 for row in await gate.settled())
