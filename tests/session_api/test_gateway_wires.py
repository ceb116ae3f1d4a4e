"""Every wire at a session's API: passed through to an endpoint that speaks it, or translated for one that speaks chat completions."""

import json
from typing import Any

import httpx
import pytest

from overlord.domain.wires.wire import Wire
from overlord.embedded import play
from overlord.embedded.model import EmbeddedModel
from tests.session_api.gate import CANARY, Gate, open_gate
from tests.session_api.wire_cases import CASES, GEMINI, MESSAGES, RESPONSES, TEXT, WireCase, error_of
from tests.session_api.wire_endpoints import KEY_HEADERS, Said, WireEndpoint, events, whole

BOTH = [False, True]
CALL = play.together(play.call("read_file", path="calc.py"), text=TEXT)


def named(case: WireCase) -> str:
    return case.wire


each_wire = pytest.mark.parametrize("case", CASES, ids=named)
streamed_or_not = pytest.mark.parametrize("stream", BOTH, ids=["whole", "streamed"])


async def ask(gate: Gate, case: WireCase, *, stream: bool = False, **fields: Any) -> httpx.Response:
    return await post(gate, case.to(stream=stream), case.request(stream=stream, **fields))


async def post(gate: Gate, path: str, body: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body)
    async with await gate.client() as client:
        return await client.post(path, content=content, headers=headers)


def endpoint_of(case: WireCase, *answers: Said) -> WireEndpoint:
    endpoint = WireEndpoint(case.wire, key=CANARY)
    endpoint.will(*(answers or (case.reply,)))
    return endpoint


def speaking(*wires: Wire) -> dict[str, Any]:
    return {"wire": [*wires]}


@each_wire
@streamed_or_not
async def test_an_endpoint_of_the_same_wire_gets_the_request_and_its_reply_passes_byte_for_byte(
    case: WireCase, *, stream: bool
) -> None:
    said = case.stream if stream else case.reply
    endpoint = endpoint_of(case, said)
    async with open_gate(endpoint, model=speaking(case.wire)) as gate:
        reply = await ask(gate, case, stream=stream)
        assert (reply.status_code, reply.content) == (200, b"".join(said.pieces))
        kind = "text/event-stream" if stream else "application/json"
        assert reply.headers["content-type"].startswith(kind)
        [came] = endpoint.requests
        assert (came.path, came.query) == (
            (case.far_stream_path if stream else case.far_path),
            "alt=sse" if stream and case.wire is Wire.GEMINI else "",
        )
        assert case.wire is Wire.GEMINI or came.body["model"] == "scripted"
        [row] = await gate.settled()
        used = (row["prompt"], row["cached"], row["cache_written"], row["completion"])
        assert (used, row["status"]) == (case.usage, 200)
        [line] = gate.transcript()
        assert (line["reply"]["content"], line["messages"][-1]["content"]) == (TEXT, "Hello")
        assert line["reply"]["tool_calls"][0]["function"]["name"] == "read_file"


@each_wire
@streamed_or_not
async def test_an_endpoint_of_chat_completions_is_asked_for_what_the_client_said_in_its_own_wire(
    case: WireCase, *, stream: bool
) -> None:
    model = EmbeddedModel(key=CANARY)
    model.will(CALL)
    async with open_gate(model) as gate:
        reply = await ask(gate, case, stream=stream, tools=[case.tool])
        assert reply.status_code == 200
        assert TEXT in reply.text and "read_file" in reply.text and "calc.py" in reply.text
        sent = json.loads(model.requests[0].body)
        assert sent["tools"][0]["function"]["name"] == "read_file"
        assert sent["messages"][-1] == {"role": "user", "content": "Hello"}
        assert sent.get("stream", False) is stream
        [row] = await gate.settled()
        assert (row["status"], row["prompt"] > 0, row["completion"] > 0) == (200, True, True)
        assert row["prompt"] == len(model.requests[0].body) // 4 + 1, "as its endpoint counted"
        [line] = gate.transcript()
        assert line["messages"][-1] == {"role": "user", "content": "Hello"}


@each_wire
@pytest.mark.parametrize("passed", BOTH, ids=["translated", "passed"])
async def test_a_stream_that_is_cut_says_so_in_the_clients_wire_and_is_paid_for_and_never_asked_for_twice(
    case: WireCase, *, passed: bool
) -> None:
    endpoint: WireEndpoint | EmbeddedModel
    if passed:
        endpoint = endpoint_of(case, Said(pieces=case.stream.pieces[:1], is_stream=True, is_cut=True))
    else:
        endpoint = EmbeddedModel()
        endpoint.will(play.cut())
    async with open_gate(endpoint, model=speaking(case.wire if passed else Wire.CHAT)) as gate:
        reply = await ask(gate, case, stream=True)
        assert reply.status_code == 200
        last = reply.content.strip().rpartition(b"\n\n")[2]
        assert b"the model's reply was cut off" in last
        marks = {Wire.MESSAGES: b"event: error", Wire.RESPONSES: b"response.failed", Wire.GEMINI: b'"error"'}
        assert marks[case.wire] in last
        [row] = await gate.settled()
        assert (row["status"], row["prompt"] > 0, len(endpoint.requests)) == (502, True, 1)


async def test_a_refusal_in_the_middle_of_a_stream_is_passed_on_and_paid_for_and_never_asked_for_twice() -> (
    None
):
    said = events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    begun = Said(pieces=[*MESSAGES.stream.pieces[:3], *said.pieces], is_stream=True)
    endpoint = endpoint_of(MESSAGES, begun)
    async with open_gate(endpoint, model=speaking(Wire.MESSAGES)) as gate:
        reply = await ask(gate, MESSAGES, stream=True)
        assert reply.content == b"".join(begun.pieces)
        [row] = await gate.settled()
        assert (row["prompt"] > 0, row["completion"] > 0, len(endpoint.requests)) == (True, True, 1)


@each_wire
@pytest.mark.parametrize("status", [402, 429, 529])
async def test_a_refusal_in_the_middle_of_a_translated_stream_is_told_in_the_clients_wire(
    case: WireCase, status: int
) -> None:
    endpoint = WireEndpoint(Wire.CHAT)
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": TEXT}}],
    }
    endpoint.will(events(chunk, {"error": {"code": status, "message": "no more of it"}}))
    async with open_gate(endpoint) as gate:
        reply = await ask(gate, case, stream=True)
        assert TEXT in reply.text
        assert b"no more of it" in reply.content.strip().rpartition(b"\n\n")[2]
        [row] = await gate.settled()
        assert (row["prompt"] > 0, row["completion"] > 0, len(endpoint.requests)) == (True, True, 1)


@each_wire
@streamed_or_not
async def test_a_spare_endpoint_of_another_wire_answers_in_the_clients(
    case: WireCase, *, stream: bool
) -> None:
    overloaded = whole({"error": {"type": "overloaded_error", "message": "Overloaded"}}, status=529)
    endpoint, spare = endpoint_of(case, overloaded), EmbeddedModel()
    spare.will(CALL)
    async with open_gate(endpoint, spare, model=speaking(case.wire)) as gate:
        reply = await ask(gate, case, stream=stream)
        assert reply.status_code == 200 and TEXT in reply.text
        assert (len(endpoint.requests), len(spare.requests)) == (3, 1)
        assert [row["model"] for row in await gate.settled()] == ["scripted"] * 3 + ["spare-model"]


@each_wire
async def test_what_stays_away_is_told_in_the_clients_wire(case: WireCase, unused_tcp_port: int) -> None:
    away = {"base_url": f"http://127.0.0.1:{unused_tcp_port}/v1", **speaking(case.wire)}
    async with open_gate(EmbeddedModel(), model=away, retries={"give_up_s": 1}) as gate:
        reply = await ask(gate, case)
        assert (reply.status_code, "connection refused" in error_of(case.wire, reply.json())) == (424, True)


@each_wire
async def test_a_refusal_of_a_chat_endpoint_is_told_in_the_clients_wire_without_the_key(
    case: WireCase,
) -> None:
    model = EmbeddedModel(key=CANARY)
    model.will(play.status(400, text=f"Bad request with key {CANARY}."))
    async with open_gate(model) as gate:
        reply = await ask(gate, case)
        said = error_of(case.wire, reply.json())
        assert (reply.status_code, said) == (400, "Bad request with key [redacted].")


@each_wire
async def test_a_spent_budget_is_402_in_the_clients_wire(case: WireCase) -> None:
    endpoint, budget = endpoint_of(case), {"session_tokens": 400, "completion_tokens": 399}
    async with open_gate(endpoint, model=speaking(case.wire), budget=budget) as gate:
        refused = await ask(gate, case, stream=True)
        assert refused.status_code == 402
        assert error_of(case.wire, refused.json()) == "this session's budget (400 tokens) is spent"
        assert endpoint.requests == []


@each_wire
async def test_tools_that_a_provider_carries_out_are_refused_by_name(case: WireCase) -> None:
    endpoint = endpoint_of(case)
    async with open_gate(endpoint, model=speaking(case.wire)) as gate:
        reply = await ask(gate, case, tools=[case.server_tool])
        name = next(iter(case.server_tool)) if case.wire is Wire.GEMINI else case.server_tool["type"]
        assert (reply.status_code, name in error_of(case.wire, reply.json())) == (400, True)
        assert (endpoint.requests, await gate.rows()) == ([], [])


@each_wire
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"a": NaN}',
        b"[" * 100_000,
        b"\xff",
        b"{}",
        b'{"messages": 7, "input": 7, "contents": 7, "model": "default"}',
        b'{"messages": [7], "input": [7], "contents": [7], "model": "default"}',
        b'{"model": {}, "messages": [], "input": "x", "contents": []}',
    ],
)
async def test_a_malformed_body_is_400_in_the_clients_wire(case: WireCase, body: bytes) -> None:
    endpoint = endpoint_of(case)
    async with open_gate(endpoint, model=speaking(case.wire)) as gate:
        reply = await post(gate, case.path, body)
        assert reply.status_code == 400 and error_of(case.wire, reply.json())
        assert (endpoint.requests, await gate.rows()) == ([], [])


@each_wire
async def test_a_session_asks_for_its_own_model_alone(case: WireCase) -> None:
    endpoint = endpoint_of(case)
    async with open_gate(endpoint, model=speaking(case.wire)) as gate:
        for name, status in (("default", 200), ("scripted", 200), ("gpt-9", 400)):
            if case.wire is Wire.GEMINI:
                reply = await post(gate, case.path.replace("default", name), case.body)
            else:
                reply = await ask(gate, case, model=name)
            assert reply.status_code == status
        said = "model 'gpt-9' is not offered to this session; ask for 'default'"
        assert error_of(case.wire, reply.json()) == said


@each_wire
async def test_no_key_reaches_a_session_and_no_sign_in_of_a_session_goes_out(case: WireCase) -> None:
    endpoint = endpoint_of(case, case.reply, whole({"error": {"message": f"no: {CANARY}"}}, status=400))
    mine = {
        "authorization": "Bearer mine",
        "x-api-key": "mine",
        "x-goog-api-key": "mine",
        "anthropic-beta": "context-management-2025-06-27, mine/../x",
        "cookie": "mine=1",
    }
    async with open_gate(endpoint, model=speaking(case.wire)) as gate:
        path = f"{case.path}{'&' if '?' in case.path else '?'}key=mine"
        replies = [await post(gate, path, case.body, headers=mine) for _ in range(2)]
        assert [reply.status_code for reply in replies] == [200, 400]
        assert not [reply for reply in replies if CANARY in reply.text + str(reply.headers)]
        for came in endpoint.requests:
            name = KEY_HEADERS.get(case.wire, "authorization")
            assert came.headers[name].removeprefix("Bearer ") == CANARY
            assert "mine" not in str(came.headers) + came.query
        kept = [path.read_bytes() for path in gate.home.root.rglob("*") if path.is_file()]
        assert not [text for text in kept if CANARY.encode() in text]


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ({}, ("2023-06-01", None)),
        (
            {"anthropic-version": "2024-01-01", "anthropic-beta": "one-2025-01-01,two-2025-02-02"},
            ("2024-01-01", "one-2025-01-01,two-2025-02-02"),
        ),
        ({"anthropic-version": "x", "anthropic-beta": "one; key=sk"}, ("2023-06-01", None)),
        (
            {"anthropic-beta": "one, context-1m-2025-08-07,fast-mode-2026-02-01 ,two"},
            ("2023-06-01", "one,two"),
        ),
        ({"anthropic-beta": "context-1m-2025-08-07"}, ("2023-06-01", None)),
    ],
)
async def test_what_says_how_a_message_is_to_be_read_is_passed_on_where_it_is_plain(
    given: dict[str, str], passed: tuple[str, str | None]
) -> None:
    endpoint = endpoint_of(MESSAGES)
    async with open_gate(endpoint, model=speaking(Wire.MESSAGES)) as gate:
        await post(gate, MESSAGES.path, MESSAGES.body, headers=given)
        [came] = endpoint.requests
        assert (came.headers["anthropic-version"], came.headers.get("anthropic-beta")) == passed


async def test_nothing_is_kept_in_a_cache_for_longer_than_what_has_a_price() -> None:
    dear, plain = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
    call = {"type": "tool_use", "id": "c", "name": "f", "input": {"cache_control": dear}}
    inner = {"type": "text", "text": "r", "cache_control": dear}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [inner], "cache_control": dear}
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    system = [{"type": "text", "text": "s", "cache_control": dear}]
    endpoint = endpoint_of(MESSAGES)
    async with open_gate(endpoint, model=speaking(Wire.MESSAGES)) as gate:
        reply = await ask(gate, MESSAGES, messages=messages, system=system, cache_control=dear)
        assert reply.status_code == 200
        [came] = endpoint.requests
        assert came.body["system"][0]["cache_control"] == came.body["cache_control"] == plain
        assert came.body["messages"][1]["content"] == [call]
        sent = came.body["messages"][2]["content"][0]
        assert sent["cache_control"] == sent["content"][0]["cache_control"] == plain


async def test_an_endpoint_of_two_wires_is_asked_in_the_clients_where_it_can_be() -> None:
    endpoint = endpoint_of(RESPONSES)
    async with open_gate(endpoint, model=speaking(Wire.CHAT, Wire.RESPONSES)) as gate:
        assert (await ask(gate, RESPONSES)).status_code == 200
        assert [came.path for came in endpoint.requests] == ["/v1/responses"]


async def test_an_endpoint_that_speaks_neither_is_left_out_and_named_where_there_is_no_other() -> None:
    endpoint, spare = endpoint_of(GEMINI), EmbeddedModel()
    spare.will(CALL)
    async with open_gate(endpoint, model=speaking(Wire.GEMINI)) as gate:
        reply = await ask(gate, MESSAGES)
        assert reply.status_code == 400
        assert error_of(Wire.MESSAGES, reply.json()) == (
            "the session's model speaks gemini, and requests of messages are translated to chat alone: its endpoint needs"
            " messages or chat in its `wire`"
        )
        assert await gate.rows() == []
    async with open_gate(endpoint, spare, model=speaking(Wire.GEMINI)) as gate:
        assert (await ask(gate, MESSAGES)).status_code == 200
        assert (len(endpoint.requests), len(spare.requests)) == (0, 1)


async def test_what_is_written_to_a_cache_and_read_there_has_its_price() -> None:
    prices = {"scripted": {"input": 4, "cached": 1, "cache_write": 5, "output": 20}}
    async with open_gate(endpoint_of(MESSAGES), model=speaking(Wire.MESSAGES), prices=prices) as gate:
        await ask(gate, MESSAGES)
        [row] = await gate.settled()
        assert row["cost_nusd"] == (10 * 4 + 100 * 1 + 50 * 5 + 20 * 20) * 1000


async def test_a_cache_that_costs_more_than_the_budget_is_set_aside_before() -> None:
    prices = {"scripted": {"input": 1, "cache_write": 1_000_000, "output": 1}}
    budget = {"session_usd": 10}
    endpoint = endpoint_of(MESSAGES)
    async with open_gate(endpoint, model=speaking(Wire.MESSAGES), prices=prices, budget=budget) as gate:
        assert (await ask(gate, MESSAGES)).status_code == 402
        assert endpoint.requests == []


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}},
            300_000,
        ),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}, 29_000),
    ],
)
async def test_pictures_cost_what_the_endpoint_says_however_few_bytes_they_have(
    block: dict[str, Any], tokens: int
) -> None:
    value = json.loads(MESSAGES.reply.pieces[0])
    usage = {"input_tokens": tokens, "output_tokens": 5}
    endpoint = endpoint_of(MESSAGES, whole({**value, "usage": usage}), whole({**value, "usage": None}))
    async with open_gate(endpoint, model=speaking(Wire.MESSAGES)) as gate:
        for _ in range(2):
            await ask(gate, MESSAGES, messages=[{"role": "user", "content": [block]}])
        told, estimated = await gate.settled()
        assert told["prompt"] == tokens
        assert (estimated["prompt"] > 1_600) is (block["type"] == "image")


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": 10, "output_tokens": 0},
        {"input_tokens": 900_000, "output_tokens": 5},
        {"input_tokens": 10, "output_tokens": 900_000},
        {"input_tokens": -10, "output_tokens": 5},
        {"input_tokens": "10", "output_tokens": 5},
        None,
    ],
)
async def test_a_usage_that_cannot_be_is_estimated(usage: dict[str, Any] | None) -> None:
    value = json.loads(MESSAGES.reply.pieces[0])
    endpoint = endpoint_of(MESSAGES, whole({**value, "usage": usage}))
    async with open_gate(endpoint, model=speaking(Wire.MESSAGES)) as gate:
        await ask(gate, MESSAGES)
        [row] = await gate.settled()
        assert 20 < row["prompt"] < 200 and 20 < row["completion"] < 200


@each_wire
async def test_a_chat_reply_that_is_none_is_502_in_the_clients_wire_and_paid_for(case: WireCase) -> None:
    model = EmbeddedModel()
    model.will(play.garbage())
    async with open_gate(model) as gate:
        for stream in BOTH:
            reply = await ask(gate, case, stream=stream)
            assert reply.status_code == 502 and error_of(case.wire, reply.json())
        assert all(row["prompt"] > 0 and row["status"] == 502 for row in await gate.settled())


@each_wire
async def test_a_chat_endpoint_without_streams_answers_one_all_the_same(case: WireCase) -> None:
    completion = {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34},
    }
    endpoint = WireEndpoint(Wire.CHAT)
    endpoint.will(whole(completion))
    async with open_gate(endpoint) as gate:
        reply = await ask(gate, case, stream=True)
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.text.startswith(("event: ", "data: ")) and TEXT in reply.text
        [row] = await gate.settled()
        assert (row["prompt"], row["completion"]) == (30, 4)
