"""The Messages API through the gateway and back: what Claude Code was recorded to send, and anything of the kind.

The recordings are what Claude Code 2.1.332 sent to a server on loopback that answered over this translation, with its words made
shorter: `request` is what came, `chat` the chunks it was answered with, `refused` what it was told in place of them.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.wires.messages import MessagesDialect, count_tokens
from overlord.domain.wires.wire import ModelRequest, ReplyContent, Wire, WireError

DIALECT = MessagesDialect()
NAMES = frozenset({"overlord"})
RECORDED = Path(__file__).parent / "recorded"
EXCHANGES = {
    name: json.loads((RECORDED / f"messages_claude_code_{name}.json").read_text(encoding="utf-8"))
    for name in ("bare", "full")
}
PNG = "iVBORw0KGgo="


def read(**body: Any) -> ModelRequest:
    asked = {"model": "overlord", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}], **body}
    return DIALECT.read(asked, names=NAMES, completion=9000)


def answered(request: ModelRequest, chunks: list[Any]) -> ReplyContent:
    """What a client reads when the endpoint streams these chunks."""
    translator, reader = DIALECT.translator(request, model="overlord"), DIALECT.reader(request)
    for chunk in chunks:
        events = translator.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        assert reader.feed(events) == events
    reader.feed(translator.feed(b"data: [DONE]\n\n") + translator.end())
    assert reader.rest == b""
    return reader.content()


@pytest.mark.parametrize("name", EXCHANGES)
def test_what_claude_code_was_answered_is_what_it_says_next(name: str) -> None:
    """A reply goes chat → wire → Claude Code → wire → chat, and is the same at the end."""
    said: list[Any] = []
    for exchange in EXCHANGES[name]:
        if "chat" not in exchange:
            continue
        request = DIALECT.read(exchange["request"], names=NAMES, completion=9000)
        chat = DIALECT.to_chat(request)
        replies = [message for message in chat.body["messages"] if message["role"] == "assistant"]
        assert [calls_of(reply) for reply in replies] == [calls_of(reply) for reply in said]
        assert [reply["content"] or "" for reply in replies] == [reply["content"] for reply in said]
        message = answered(request, exchange["chat"]).message
        assert message is not None
        said.append(message)
    assert len(said) == 3
    assert said[-1]["content"] == "Done."


def test_results_of_the_real_program_reach_a_chat_with_their_images() -> None:
    request = DIALECT.read(EXCHANGES["bare"][2]["request"], names=NAMES, completion=9000)
    chat = DIALECT.to_chat(request)
    assert [message["role"] for message in chat.body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    images = [
        part["image_url"]["url"][:22]
        for message in chat.body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert images == ["data:image/png;base64,"] * 2
    assert chat.body["messages"][0]["content"].startswith("You are a Claude agent")


def test_a_tool_that_is_loaded_later_is_offered_once_it_was_named() -> None:
    first, second = (
        DIALECT.to_chat(DIALECT.read(exchange["request"], names=NAMES, completion=9000))
        for exchange in EXCHANGES["full"][:2]
    )
    names = [[tool["function"]["name"] for tool in chat.body["tools"]] for chat in (first, second)]
    assert "DeferredToolPlaceholder" not in names[0] + names[1]
    assert set(names[1]) - set(names[0]) == {"WebSearch"}


def test_the_search_that_a_provider_would_make_is_refused_by_name() -> None:
    refused = [exchange for exchange in EXCHANGES["full"] if "refused" in exchange]
    assert refused
    for exchange in refused:
        with pytest.raises(WireError, match="'web_search_20250305' is not passed on"):
            DIALECT.read(exchange["request"], names=NAMES, completion=9000)


@pytest.mark.parametrize("name", EXCHANGES)
def test_the_same_wire_is_passed_on_as_it_came(name: str) -> None:
    for exchange in EXCHANGES[name]:
        if "chat" not in exchange:
            continue
        asked = exchange["request"]
        request = DIALECT.read(asked, names=NAMES, completion=50_000)
        written = json.loads(DIALECT.written(request, model="claude-x", limit_parameter="max_tokens"))
        left_out = {"metadata"}
        assert written == {key: asked[key] for key in asked if key not in left_out} | {"model": "claude-x"}
        assert request.completion == 32_000
        assert request.messages[0] == {"role": "system", "content": asked["system"]}
        assert count_tokens(asked) > 100


def test_a_lower_limit_keeps_thinking_below_it() -> None:
    def written(budget: int, limit: int) -> Mapping[str, Any]:
        thinking = {"type": "enabled", "budget_tokens": budget}
        management = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
        request = read(thinking=thinking, max_tokens=limit, context_management=management)
        found: Mapping[str, Any] = json.loads(DIALECT.written(request, model="m", limit_parameter="x"))
        return found

    assert written(31_999, 32_000)["thinking"] == {"type": "enabled", "budget_tokens": 8999}
    assert written(9000, 32_000)["thinking"] == {"type": "enabled", "budget_tokens": 8999}
    assert written(2000, 32_000)["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    short = written(2000, 1024)
    assert short["thinking"] == {"type": "disabled"}
    assert "context_management" not in short
    assert short["max_tokens"] == 1024


def calls_of(message: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    return [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls", ())
    ]


# Anything of the kind: what a conversation says in one wire, it says in the other.

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.text(min_size=1, max_size=5), JSON, max_size=3)
NAMED = st.text("abcdefXYZ_-0123456789", min_size=1, max_size=12)
TEXTS = st.text(min_size=1, max_size=40)
TEXT_BLOCKS = st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
IMAGES = st.builds(
    lambda kind, data: {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}},
    st.sampled_from(["image/png", "image/jpeg"]),
    st.text("ABCabc123+/=", min_size=1, max_size=20),
)
CALLS = st.builds(
    lambda name, call_id, given: {"type": "tool_use", "id": call_id, "name": name, "input": given},
    NAMED,
    NAMED,
    OBJECTS,
)
RESULTS = st.builds(
    lambda call_id, content: {"type": "tool_result", "tool_use_id": call_id, "content": content},
    NAMED,
    TEXTS | st.lists(TEXT_BLOCKS | IMAGES, max_size=3),
)
MESSAGES = st.lists(
    st.builds(
        lambda content: {"role": "user", "content": content},
        TEXTS | st.lists(TEXT_BLOCKS | IMAGES | RESULTS, min_size=1, max_size=4),
    )
    | st.builds(
        lambda content: {"role": "assistant", "content": content},
        TEXTS | st.lists(TEXT_BLOCKS | CALLS, min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=6,
)
TOOLS = st.lists(
    st.builds(
        lambda name, words, schema: {"name": name, "description": words, "input_schema": schema},
        NAMED,
        TEXTS,
        OBJECTS,
    ),
    max_size=3,
    unique_by=lambda tool: tool["name"],
)
CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def said_in_wire(messages: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {"text": [], "image": [], "call": [], "result": []}

    def look(block: Mapping[str, Any]) -> None:
        match block["type"]:
            case "text":
                found["text"].append(block["text"])
            case "image":
                source = block["source"]
                found["image"].append(f"data:{source['media_type']};base64,{source['data']}")
            case "tool_use":
                found["call"].append((block["id"], block["name"], block["input"]))
            case "tool_result":
                found["result"].append(block["tool_use_id"])
                for inner in blocks_of(block["content"]):
                    look(inner)

    for message in messages:
        for block in blocks_of(message["content"]):
            look(block)
    return found


def blocks_of(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def parts_of(messages: list[Any]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        yield from blocks_of(message["content"] or "")


@given(MESSAGES, TOOLS, TEXTS | st.lists(TEXT_BLOCKS, max_size=2), st.lists(TEXTS, max_size=3), st.data())
def test_a_conversation_says_the_same_over_chat(
    messages: list[Any], tools: list[Any], system: Any, stops: list[str], data: st.DataObject
) -> None:
    choice = data.draw(st.sampled_from([*CHOICES, *(tool["name"] for tool in tools)]))
    alone = data.draw(st.booleans())
    asked = {"type": choice} if choice in CHOICES else {"type": "tool", "name": choice}
    request = read(
        messages=messages,
        tools=tools,
        system=system,
        stop_sequences=stops,
        tool_choice=asked | {"disable_parallel_tool_use": alone},
    )
    chat = DIALECT.to_chat(request)
    assert chat.wire is Wire.CHAT
    assert chat.messages == chat.body["messages"]
    said = said_in_wire(messages)
    turns = chat.body["messages"]
    texts = [part["text"] for part in parts_of(turns) if part["type"] == "text"]
    for text in said["text"] + [block["text"] for block in blocks_of(system)]:
        assert any(text in found for found in texts)
    images = [part["image_url"]["url"] for part in parts_of(turns) if part["type"] == "image_url"]
    assert sorted(images) == sorted(said["image"])
    assert [call for turn in turns for call in calls_of(turn)] == said["call"]
    assert [turn["tool_call_id"] for turn in turns if turn["role"] == "tool"] == said["result"]
    assert [
        (tool["function"]["name"], tool["function"]["description"], tool["function"]["parameters"])
        for tool in chat.body.get("tools", ())
    ] == [(tool["name"], tool["description"], tool["input_schema"]) for tool in tools]
    assert chat.body.get("stop", []) == stops
    if tools:
        named = {"type": "function", "function": {"name": choice}}
        assert chat.body["tool_choice"] == CHOICES.get(choice, named)
        assert chat.body.get("parallel_tool_calls") is (False if alone else None)


@st.composite
def completions(draw: st.DrawFn) -> dict[str, Any]:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for n, (name, given) in enumerate(draw(st.lists(st.tuples(NAMED, OBJECTS), max_size=3)))
    ]
    prompt = draw(st.integers(0, 10**6))
    cached = draw(st.integers(0, prompt))
    return {
        "text": draw(st.text(max_size=60)),
        "calls": calls,
        "finish": draw(
            st.sampled_from(["stop", "length", "content_filter"] if not calls else ["tool_calls", "length"])
        ),
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": draw(st.integers(0, 10**5)),
            "prompt_tokens_details": {
                "cached_tokens": cached,
                "cache_write_tokens": draw(st.integers(0, prompt - cached)),
            },
        },
    }


def pieces(text: str, at: list[int]) -> list[str]:
    cuts = sorted({min(cut, len(text)) for cut in at} | {0, len(text)})
    return [text[start:end] for start, end in itertools.pairwise(cuts)]


def check_said(reply: ReplyContent, said: Mapping[str, Any]) -> None:
    assert reply.message is not None
    assert reply.message["content"] == said["text"]
    assert calls_of(reply.message) == calls_of({"tool_calls": said["calls"]})
    assert reply.message["finish_reason"] == said["finish"]
    usage, details = said["usage"], said["usage"]["prompt_tokens_details"]
    assert reply.usage == TokenUsage(
        prompt=usage["prompt_tokens"],
        completion=usage["completion_tokens"],
        cached=details["cached_tokens"],
        cache_written=details["cache_write_tokens"],
    )


@given(completions())
def test_a_whole_reply_says_the_same_in_this_wire(said: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": said["text"] or None, "tool_calls": said["calls"]}
    reply = {"choices": [{"message": message, "finish_reason": said["finish"]}], "usage": said["usage"]}
    given_reply = DIALECT.reply_of_chat(read(), json.dumps(reply).encode(), model="overlord")
    check_said(DIALECT.read_whole(given_reply), said)


@given(completions(), st.lists(st.integers(0, 40), max_size=5), st.randoms(use_true_random=False))
def test_a_streamed_reply_says_the_same_in_this_wire(
    said: dict[str, Any], cuts: list[int], order: Any
) -> None:
    """In whatever pieces it comes, and with pieces of its calls mixed."""
    deltas: list[Any] = [{"content": piece} for piece in pieces(said["text"], cuts)]
    mixed = []
    for index, call in enumerate(said["calls"]):
        function = {"name": call["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{**call, "index": index, "function": function}]})
        mixed.append([(index, piece) for piece in pieces(call["function"]["arguments"], cuts)])
    while mixed:
        chosen = order.choice(mixed)
        index, piece = chosen.pop(0)
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        mixed = [left for left in mixed if left]
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"delta": {}, "finish_reason": said["finish"]}]})
    chunks.append({"choices": [], "usage": said["usage"]})
    check_said(answered(read(stream=True), chunks), said)
