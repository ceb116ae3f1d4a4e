"""Reading chat completions beside passing them on: what they used, and what was said, whole or in pieces.

Bytes are never changed; the one thing taken out of a stream is the usage chunk the client did not ask for.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from overlord.domain.budgets.budget import TokenUsage, estimate_tokens
from overlord.domain.wires.wire import KEPT_CHARS, ReplyContent, WireError

_EVENT = re.compile(rb".*?(?:\n\n|\r\n\r\n|\r\r)", re.DOTALL)
_USAGE = re.compile(rb'"usage"\s*:\s*\{')
_MOST_TOKENS = 10**9


def read_whole(data: bytes) -> ReplyContent:
    """A reply that came in one piece; anything at all."""
    try:
        value = json.loads(data)
        message = value["choices"][0]["message"]
        encoded = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, LookupError, TypeError, RecursionError):
        text = data[:KEPT_CHARS].decode("utf-8", "replace")
        return ReplyContent(message={"unreadable": text}, least_tokens=estimate_tokens(len(data)))
    return ReplyContent(message=message, least_tokens=estimate_tokens(len(encoded)), usage=read_usage(value))


def as_stream(data: bytes) -> bytes:
    """A whole completion as the events of a stream. Raises WireError when it is none."""
    try:
        value = json.loads(data)
        choice = value["choices"][0]
        delta = dict(choice["message"])
        finish = choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise WireError("the model's reply is no completion") from None
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        delta["tool_calls"] = [
            {**call, "index": index} for index, call in enumerate(calls) if isinstance(call, dict)
        ]
    said = {**value, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None}
    chunks = [said, {**value, "choices": []}] if isinstance(value.get("usage"), dict) else [said]
    events = (b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    return b"".join(events) + b"data: [DONE]\n\n"


def read_usage(value: object) -> TokenUsage | None:
    """The usage of a completion or a chunk; None when there is none, or none that can be."""
    usage = value.get("usage") if isinstance(value, dict) else None
    if not isinstance(usage, dict):
        return None
    told = usage.get("prompt_tokens_details")
    details = told if isinstance(told, dict) else {}
    cached, written = details.get("cached_tokens"), details.get("cache_write_tokens")
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not _is_count(prompt) or not _is_count(completion):
        return None
    return TokenUsage(
        prompt=prompt,
        completion=completion,
        cached=cached if _is_count(cached) else 0,
        cache_written=written if _is_count(written) else 0,
    )


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


@dataclass(slots=True)
class ChatStreamReader:
    """Cuts a stream into events as it passes. What `feed` gives may be sent on; `rest` is what never became an event."""

    hides_usage: bool
    usage: TokenUsage | None = None
    size: int = 0
    rest: bytes = b""
    _passed: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> bytes:
        self.size += len(data)
        new = max(len(self.rest) - 3, 0)  # what is kept was searched
        data = self.rest + data
        ends = (data.rfind(b"\n\n", new) + 2, data.rfind(b"\r\n\r\n", new) + 4, data.rfind(b"\r\r", new) + 2)
        end = max(ends)
        whole, self.rest = (data[:end], data[end:]) if end >= 4 else (b"", data)
        if _USAGE.search(whole):
            whole = b"".join(event for event in _EVENT.findall(whole) if not self._is_hidden(event))
        self._passed.append(whole)
        return whole

    def _is_hidden(self, event: bytes) -> bool:
        if not _USAGE.search(event):
            return False
        for chunk in _chunks(event):
            self.usage = read_usage(chunk) or self.usage
            return self.hides_usage and not chunk.get("choices")
        return False

    def content(self) -> ReplyContent:
        """Everything that was said so far, put together."""
        pieces = _Pieces()
        for chunk in _chunks(b"".join(self._passed)):
            pieces.add(chunk)
        message = pieces.message()
        size = len(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
        least = max(estimate_tokens(size), pieces.count) if pieces.count else 0
        return ReplyContent(message=message, least_tokens=least, usage=self.usage)


def _chunks(events: bytes) -> Iterator[dict[str, Any]]:
    for line in events.splitlines():
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            try:
                chunk = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            if isinstance(chunk, dict):
                yield chunk


class _Pieces:
    """A message that comes in deltas."""

    def __init__(self) -> None:
        self.count = 0
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None

    def add(self, chunk: Mapping[str, Any]) -> None:
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        self.count += 1
        if isinstance(finish := choice.get("finish_reason"), str):
            self._finish = finish
        delta = choice.get("delta")
        for name, value in delta.items() if isinstance(delta, dict) else ():
            if isinstance(value, str) and name != "role":
                self._texts.setdefault(name, []).append(value)
            elif name == "tool_calls" and isinstance(value, list):
                self._add_calls(value)

    def _add_calls(self, calls: list[Any]) -> None:
        for call in calls:
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict):
                continue
            index = call.get("index")
            known = self._calls.setdefault(
                index if isinstance(index, int) else 0, {"id": "", "name": "", "arguments": ""}
            )
            for key, value in {"id": call.get("id"), **function}.items():
                if key in known and isinstance(value, str):
                    known[key] += value

    def message(self) -> dict[str, Any]:
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for _, call in sorted(self._calls.items())
        ]
        return {
            "role": "assistant",
            **texts,
            **({"tool_calls": calls} if calls else {}),
            "finish_reason": self._finish,
        }
