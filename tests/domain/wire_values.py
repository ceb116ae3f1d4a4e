"""What the tests of the wires share: recorded requests of real agents, chat completions cut into chunks, and strange values."""

import copy
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

RECORDED = Path(__file__).parent / "recorded"
NAMES = frozenset({"default", "overlord", "gpt-5.1-codex", "gemini-3.5-flash-lite"})
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def recorded(name: str) -> Any:
    """What a real agent sent."""
    return json.loads((RECORDED / name).read_text())


def completion(message: Mapping[str, Any], finish: str | None = "stop", usage: Any = USAGE) -> bytes:
    """A whole chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    value = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps(value | ({"usage": usage} if usage is not None else {})).encode()


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One event of a chat completion's stream."""
    choices = [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    value = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    has_choice = delta is not None or finish is not None
    return (
        b"data: " + json.dumps({**value, "choices": choices if has_choice else [], **more}).encode() + b"\n\n"
    )


def chunks_of(
    message: Mapping[str, Any], finish: str | None = "stop", usage: Any = USAGE, size: int = 5
) -> list[bytes]:
    """The same completion as a stream, its texts in pieces of so many characters."""
    found = [chunk({"role": "assistant"})]
    for key in ("reasoning_content", "content"):
        found += [chunk({key: piece}) for piece in _pieces(message.get(key) or "", size)]
    for index, call in enumerate(message.get("tool_calls", ())):
        named = {"name": call["function"]["name"], "arguments": ""}
        found.append(chunk({"tool_calls": [{"index": index, "id": call["id"], "function": named}]}))
        for piece in _pieces(call["function"]["arguments"], size):
            found.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    found += [chunk({}, finish)] if finish else []
    return [*found, *([chunk(usage=usage)] if usage is not None else []), b"data: [DONE]\n\n"]


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """A tool call of a chat completion."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def deep_json() -> Iterator[str]:
    """Objects in objects, from what can be read easily to what cannot be read at all."""
    depths = [
        *range(10, sys.getrecursionlimit() - 200, 100),
        *range(sys.getrecursionlimit() - 200, sys.getrecursionlimit()),
    ]
    return ('{"a":' * depth + "1" + "}" * depth for depth in depths)


def events_of(stream: bytes) -> list[dict[str, Any]]:
    """The objects of a stream's events."""
    return [json.loads(line[5:]) for line in stream.splitlines() if line.startswith(b"data:")]


def _pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def changed(value: Any, path: Sequence[Any], new: Any) -> Any:
    """A copy with one value replaced."""
    value = copy.deepcopy(value)
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return value


def paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*before, key)
        yield from paths(inner, (*before, key))
