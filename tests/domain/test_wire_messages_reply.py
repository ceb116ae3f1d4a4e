"""Replies of the Messages API: written from chats that endpoints stream as they like, and read beside passing them on."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.wires.wire import WireError
from tests.domain.test_wire_messages import DIALECT, JSON, answered, calls_of, read

REQUEST = read(stream=True)
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def sse(*chunks: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def delta(said: Any, finish: Any = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def call(index: Any, call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return delta({"tool_calls": [{"index": index, "id": call_id, "function": function}]})


def events(data: bytes) -> list[Any]:
    found = [json.loads(line[6:]) for line in data.splitlines() if line.startswith(b"data: ")]
    for event in found:
        if event["type"] == "message_start":
            assert event["message"].pop("id").startswith("msg_")
    return found


def test_the_events_of_a_reply_with_text_and_a_call() -> None:
    translator = DIALECT.translator(REQUEST, model="overlord")
    data = translator.feed(sse(delta({"role": "assistant", "content": ""})))
    data += translator.feed(b": a comment\n\n" + sse(delta({"content": "I write."})))
    waiting = translator.feed(sse(call(0, "call_1", "Write", '{"a":')))
    assert waiting == PING
    data += translator.feed(
        sse(delta({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}, "tool_calls"))
    )
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}
    data += translator.feed(
        sse({"choices": [], "usage": usage}) + b"data: [DONE]\n\n" + sse(delta({"content": "x"}))
    )
    assert translator.feed(sse(delta({"content": "y"}))) == translator.end() == b""
    assert events(data.replace(PING, b"")) == snapshot(
        [
            {
                "type": "message_start",
                "message": {
                    "type": "message",
                    "role": "assistant",
                    "model": "overlord",
                    "stop_reason": None,
                    "stop_sequence": None,
                    "content": [],
                    "usage": {"input_tokens": 0, "output_tokens": 0},
                },
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I write."}},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "call_1", "name": "Write", "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'},
            },
            {"type": "content_block_stop", "index": 1},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": None},
                "usage": {
                    "input_tokens": 2,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 8,
                    "output_tokens": 4,
                },
            },
            {"type": "message_stop"},
        ]
    )


def test_a_stream_ends_without_done() -> None:
    translator = DIALECT.translator(REQUEST, model="overlord")
    translator.feed(sse(delta({"content": "x"}, "stop")))
    assert [event["type"] for event in events(translator.end())] == [
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n"])
def test_a_stream_that_ends_without_a_word_of_why_is_an_error(end: bytes) -> None:
    translator = DIALECT.translator(REQUEST, model="overlord")
    data = translator.feed(sse(delta({"content": "x"})) + end) + translator.end()
    assert events(data)[-1] == {
        "type": "error",
        "error": {"type": "api_error", "message": "the model's reply broke off before its end"},
    }
    assert translator.end() == b""


@pytest.mark.parametrize(
    ("error", "said"),
    [({"message": "too hot"}, "too hot"), ("cold", "cold"), ({"code": 1}, "the endpoint reported an error")],
)
def test_an_error_in_the_middle_ends_the_stream(error: Any, said: str) -> None:
    translator = DIALECT.translator(REQUEST, model="overlord")
    data = translator.feed(sse(delta({"content": "x"}), {"error": error}, delta({"content": "y"}, "stop")))
    assert [event["type"] for event in events(data)][-1] == "error"
    assert events(data)[-1]["error"]["message"] == said
    assert data.startswith(b"event: message_start\n")
    assert translator.end() == b""


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        ([call(0, "a", "f", "{}"), call(0, "b", "g", '{"x":1}')], [("a", "f", {}), ("b", "g", {"x": 1})]),
        ([call(0, "a", "f", '{"x"'), call(0, "a", "f", ":1}")], [("a", "f", {"x": 1})]),
        ([call(0, "a", "f", '{"x"'), call(0, "", None, ":1}")], [("a", "f", {"x": 1})]),
        ([call(None, "a", "f", {"x": 1})], [("a", "f", {"x": 1})]),
        ([call(0, "a", "f", "")], [("a", "f", {})]),
        ([call(0, "a", "f", None)], [("a", "f", {})]),
        ([call(0, "a", "f", "{x}")], [("a", "f", {"unreadable_arguments": "{x}"})]),
        ([call(0, "a", "f", "[1]")], [("a", "f", {"unreadable_arguments": "[1]"})]),
        ([call(0, "a", "f", '{"x":NaN}')], [("a", "f", {"unreadable_arguments": '{"x":NaN}'})]),
        ([call(0, "a", "f", '{"x":1e999}')], [("a", "f", {"unreadable_arguments": '{"x":1e999}'})]),
        ([call(0, "a", "f", '{"x":1.5}')], [("a", "f", {"x": 1.5})]),
        ([call(0, "a", "f", "[" * 9000)], [("a", "f", {"unreadable_arguments": "[" * 9000})]),
        ([call(0, "a", "", "{}"), delta({"tool_calls": [7, {"index": 1}]})], []),
    ],
)
def test_calls_come_in_every_shape(chunks: list[Any], calls: list[Any]) -> None:
    reply = answered(REQUEST, [*chunks, delta({}, "stop")])
    assert reply.message is not None
    assert calls_of(reply.message) == calls
    assert reply.message["finish_reason"] == ("tool_calls" if calls else "stop")


def test_a_call_without_an_id_gets_one() -> None:
    reply = answered(REQUEST, [call(0, None, "f", "{}"), delta({}, "function_call")])
    assert reply.message is not None
    assert reply.message["tool_calls"][0]["id"].startswith("toolu_")


def test_halves_of_a_character_find_each_other() -> None:
    translator = DIALECT.translator(REQUEST, model="overlord")
    halves = (
        b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"\\ude00"}}]}\n\n',
    )
    data = b"".join(translator.feed(half) for half in halves)
    texts = [event["delta"]["text"] for event in events(data) if event["type"] == "content_block_delta"]
    assert "".join(texts).encode("utf-16", "surrogatepass").decode("utf-16") == "😀"


@given(st.lists(JSON | st.builds(delta, JSON, JSON) | st.builds(lambda usage: {"usage": usage}, JSON)))
def test_a_stream_of_anything_ends_once(chunks: list[Any]) -> None:
    translator = DIALECT.translator(REQUEST, model="overlord")
    data = (
        b"".join(translator.feed(sse(chunk)) for chunk in chunks)
        + translator.feed(b"data: {x\n\n")
        + translator.end()
    )
    ends = [event for event in events(data) if event["type"] in {"message_stop", "error"}]
    assert len(ends) == 1


@pytest.mark.parametrize(
    "reply",
    [b"", b"[]", b"{}", b'{"choices":[]}', b'{"choices":[{"message":1}]}', b'{"choices":["x"]}', b"[" * 9000],
)
def test_what_is_no_completion_is_an_error(reply: bytes) -> None:
    with pytest.raises(WireError, match="no chat completion"):
        DIALECT.reply_of_chat(REQUEST, reply, model="overlord")


def test_a_whole_reply_in_parts_and_without_usage() -> None:
    message = {
        "content": [{"type": "text", "text": "a"}, {"type": "x"}, "y"],
        "refusal": "no",
        "tool_calls": None,
    }
    data = json.dumps({"choices": [{"message": message, "finish_reason": 7}]}).encode()
    reply = json.loads(DIALECT.reply_of_chat(REQUEST, data, model="overlord"))
    assert reply.pop("id").startswith("msg_")
    assert reply == snapshot(
        {
            "type": "message",
            "role": "assistant",
            "model": "overlord",
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "content": [{"type": "text", "text": "ano"}],
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
    )


COUNTED = {
    "input_tokens": 5,
    "cache_creation_input_tokens": 2,
    "cache_read_input_tokens": 3,
    "output_tokens": 7,
}


def stream(start: Any, end: Any) -> bytes:
    return sse(
        {"type": "message_start", "message": {"usage": start}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"x":'},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": "1}"},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": end},
        {"type": "message_stop"},
    )


@given(st.lists(st.integers(1, 200)))
def test_a_stream_is_passed_on_as_it_came_and_read(cuts: list[int]) -> None:
    data = stream(COUNTED, {"output_tokens": 90})
    reader = DIALECT.reader(REQUEST)
    passed, start = b"", 0
    for cut in [*cuts, len(data)]:
        passed += reader.feed(data[start : start + cut])
        start += cut
    assert passed == data
    assert reader.size == len(data)
    assert reader.rest == b""
    assert reader.usage == TokenUsage(prompt=10, cached=3, cache_written=2, completion=90)
    reply = reader.content()
    assert reply.usage == reader.usage
    assert reply.least_tokens > 10
    assert reply.message == {
        "role": "assistant",
        "reasoning_content": "hm",
        "content": "Hello",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}],
        "finish_reason": "tool_calls",
    }


def test_a_stream_that_broke_off_has_no_usage_and_its_rest() -> None:
    reader = DIALECT.reader(REQUEST)
    data = stream(COUNTED, {"output_tokens": 90})
    cut = data.index(b"message_delta")
    assert reader.feed(data[:cut]) + reader.rest == data[:cut]
    assert reader.rest
    assert reader.usage is None
    assert reader.content().message is not None
    assert DIALECT.reader(REQUEST).content().least_tokens == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"output_tokens": -1},
        {"output_tokens": True},
        {"output_tokens": 10**12},
        {"output_tokens": "7"},
        {"input_tokens": -5},
        {"cache_read_input_tokens": 1.5},
        {"cache_creation_input_tokens": [1]},
    ],
)
def test_a_usage_that_cannot_be_is_none(wrong: dict[str, Any]) -> None:
    reader = DIALECT.reader(REQUEST)
    reader.feed(stream(COUNTED, {"output_tokens": 9} | wrong))
    assert reader.usage is None
    whole = {"content": [], "stop_reason": "end_turn", "usage": COUNTED | wrong}
    assert DIALECT.read_whole(json.dumps(whole).encode()).usage is None


def test_a_usage_without_a_cache_is_read() -> None:
    whole = {"content": [], "usage": {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": None}}
    assert DIALECT.read_whole(json.dumps(whole).encode()).usage == TokenUsage(prompt=5, completion=7)


def test_a_whole_reply_is_read() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": "Hello"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        "nothing",
    ]
    whole = {"content": content, "stop_reason": "pause_turn", "usage": COUNTED}
    reply = DIALECT.read_whole(json.dumps(whole).encode())
    assert reply.usage == TokenUsage(prompt=10, cached=3, cache_written=2, completion=7)
    assert reply.message == {
        "role": "assistant",
        "reasoning_content": "hm",
        "content": "Hello",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
        "finish_reason": "pause_turn",
    }


@pytest.mark.parametrize("data", [b"\xff", b"", b"[]", b'{"content":"x"}', b'{"type":"error"}', b"[" * 9000])
def test_a_whole_reply_that_is_none_is_kept_as_it_came(data: bytes) -> None:
    reply = DIALECT.read_whole(data)
    assert reply.message == {"unreadable": data.decode("utf-8", "replace")}
    assert reply.least_tokens == len(data) // 3 + 1
    assert reply.usage is None


KINDS = st.sampled_from(
    ["message_start", "message_delta", "content_block_start", "content_block_delta", "tool_use", "text"]
)


@given(
    st.lists(
        JSON
        | st.fixed_dictionaries(
            {"type": KINDS},
            optional={
                "index": st.integers(0, 3),
                "delta": JSON | st.fixed_dictionaries({"type": JSON | st.just("text_delta"), "text": JSON}),
                "content_block": JSON
                | st.fixed_dictionaries({"type": KINDS, "input": JSON, "id": JSON, "text": JSON}),
                "message": JSON | st.fixed_dictionaries({"usage": JSON}),
                "usage": JSON | st.dictionaries(st.sampled_from(list(COUNTED)), JSON),
            },
        )
    )
)
def test_a_stream_of_anything_is_passed_on(said: list[Any]) -> None:
    data = sse(*said) + b"data: {x\n\n: comment\n\n"
    reader = DIALECT.reader(REQUEST)
    assert reader.feed(data) == data
    assert reader.content().message is not None
    assert DIALECT.read_whole(json.dumps(said).encode()).least_tokens > 0
    assert DIALECT.read_whole(json.dumps({"content": said}).encode()).least_tokens > 0


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (529, "overloaded_error"),
    ],
)
def test_a_refusal_has_the_shape_that_clients_know(status: int, kind: str) -> None:
    assert DIALECT.error(status, "why", "words") == {
        "type": "error",
        "error": {"type": kind, "code": "why", "message": "words"},
    }


def test_a_stream_that_cannot_go_on_says_so() -> None:
    assert DIALECT.stream_error("model_unavailable", "words") == (
        b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "words"}}\n\n'
    )
