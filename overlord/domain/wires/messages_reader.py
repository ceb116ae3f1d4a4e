"""Reading replies of the Messages API beside passing them on unchanged: what they used, and what was said, whole or in pieces."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from overlord.domain.budgets.budget import TokenUsage, estimate_tokens
from overlord.domain.wires.wire import KEPT_CHARS, ReplyContent

_MOST_TOKENS = 10**9
_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Kinds of delta, and the key of what each adds."""


def read_whole(data: bytes) -> ReplyContent:
    """A reply that came in one piece; anything at all."""
    try:
        value = json.loads(data)
        blocks = _Blocks()
        for index, block in enumerate(_list(value["content"])):
            blocks.begin(index, block)
        blocks.end(value.get("stop_reason"))
        message = blocks.message()
        size = len(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = data[:KEPT_CHARS].decode("utf-8", "replace")
        return ReplyContent(message={"unreadable": text}, least_tokens=estimate_tokens(len(data)))
    return ReplyContent(message=message, least_tokens=estimate_tokens(size), usage=_read(value.get("usage")))


@dataclass(slots=True)
class MessagesStreamReader:
    """Cuts a stream into events as it passes. What `feed` gives may be sent on; `rest` is what never became an event."""

    usage: TokenUsage | None = None
    """None until the reply says what it came to: what its beginning counts leaves the reply itself out."""
    size: int = 0
    rest: bytes = b""
    _counts: dict[str, Any] = field(default_factory=dict)
    _passed: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> bytes:
        """Take what came; give what may be sent on, which is whole events."""
        self.size += len(data)
        new = max(len(self.rest) - 3, 0)  # what is kept was searched
        data = self.rest + data
        ends = (data.rfind(b"\n\n", new) + 2, data.rfind(b"\r\n\r\n", new) + 4, data.rfind(b"\r\r", new) + 2)
        end = max(ends)
        whole, self.rest = (data[:end], data[end:]) if end >= 4 else (b"", data)
        if b'"usage"' in whole:
            for event in _events(whole):
                self._count(event)
        self._passed.append(whole)
        return whole

    def _count(self, event: Mapping[str, Any]) -> None:
        message = event.get("message")
        source = message if event.get("type") == "message_start" and isinstance(message, dict) else event
        usage = source.get("usage")
        if not isinstance(usage, dict):
            return
        self._counts |= {key: usage[key] for key in _COUNTS if usage.get(key) is not None}
        if event.get("type") == "message_delta":
            self.usage = _read(self._counts)

    def content(self) -> ReplyContent:
        """Everything that was said so far, put together."""
        blocks = _Blocks()
        count = 0
        for event in _events(b"".join(self._passed)):
            count += blocks.add(event)
        message = blocks.message()
        size = len(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
        least = max(estimate_tokens(size), count) if count else 0
        return ReplyContent(message=message, least_tokens=least, usage=self.usage)


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        if line.startswith(b"data:"):
            try:
                event = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event


class _Blocks:
    """A reply's blocks as a chat completion's message."""

    def __init__(self) -> None:
        self._blocks: dict[int, tuple[dict[str, Any], list[str]]] = {}
        self._finish: str | None = None

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take an event of a stream; tells whether it said something."""
        index, delta = event.get("index"), event.get("delta")
        match event.get("type"):
            case "content_block_start" if isinstance(index, int):
                self.begin(index, event.get("content_block"))
                return True
            case "content_block_delta" if isinstance(index, int) and isinstance(delta, dict):
                key = _PIECES.get(str(delta.get("type")))
                piece = delta.get(key) if key else None
                if index in self._blocks and isinstance(piece, str):
                    self._blocks[index][1].append(piece)
                return True
            case "message_delta" if isinstance(delta, dict):
                self.end(delta.get("stop_reason"))
        return False

    def begin(self, index: int, block: object) -> None:
        if isinstance(block, dict):
            first = block.get("thinking") if block.get("type") == "thinking" else block.get("text")
            self._blocks[index] = (block, [first] if isinstance(first, str) and first else [])

    def end(self, reason: object) -> None:
        if isinstance(reason, str):
            self._finish = _FINISH.get(reason, reason)

    def message(self) -> dict[str, Any]:
        """What was said so far: the blocks in their order, calls apart."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text = "".join(piece for block, pieces in blocks if block.get("type") == "text" for piece in pieces)
        thought = "".join(
            piece for block, pieces in blocks if block.get("type") == "thinking" for piece in pieces
        )
        calls = [_call(block, pieces) for block, pieces in blocks if block.get("type") == "tool_use"]
        return {
            "role": "assistant",
            **({"reasoning_content": thought} if thought else {}),
            "content": text,
            **({"tool_calls": calls} if calls else {}),
            "finish_reason": self._finish,
        }


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _call(block: Mapping[str, Any], pieces: list[str]) -> dict[str, Any]:
    arguments = "".join(pieces) or json.dumps(block.get("input") or {}, ensure_ascii=False)
    return {
        "id": str(block.get("id") or ""),
        "type": "function",
        "function": {"name": str(block.get("name") or ""), "arguments": arguments},
    }


def _read(usage: object) -> TokenUsage | None:
    """The usage of a reply; None when there is none, or none that can be."""
    if not isinstance(usage, dict):
        return None
    fresh, written, cached, completion = (usage.get(key) for key in _COUNTS)
    written, cached = (0 if count is None else count for count in (written, cached))
    if not (_is_count(fresh) and _is_count(written) and _is_count(cached) and _is_count(completion)):
        return None
    return TokenUsage(
        prompt=fresh + written + cached, cached=cached, completion=completion, cache_written=written
    )


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MOST_TOKENS
