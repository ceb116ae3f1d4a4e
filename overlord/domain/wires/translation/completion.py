"""A chat completion as the translators of other wires read it, whole or piece by piece.

Endpoints differ: a call's id or number may be missing, its arguments may be an object, thoughts have two names. All of this is
made one here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.wires.translation.event_stream import (
    is_count,
    list_of,
    object_of,
    read_object,
    read_objects,
    text_of,
    usage_of,
)
from overlord.domain.wires.wire import WireError

_THOUGHTS = ("reasoning_content", "reasoning")


class PieceKind(StrEnum):
    """What a piece of a reply is of."""

    THOUGHT = "thought"
    TEXT = "text"
    CALL = "call"


@dataclass(slots=True)
class ToolCall:
    """A call as far as it came."""

    position: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """Its arguments, as the model wrote them."""
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one chunk adds: text, or arguments of a call."""

    kind: PieceKind
    text: str
    call: ToolCall | None = None


@dataclass(slots=True)
class Completion:
    """A chat completion as far as it came."""

    id: str = ""
    created: int = 0
    finish: str | None = None
    usage: TokenUsage | None = None
    reasoning_tokens: int = 0
    error: str | None = None
    """What an endpoint said in place of the rest."""
    calls: list[ToolCall] = field(default_factory=list)
    _keys: dict[int | str, ToolCall] = field(default_factory=dict)

    def feed(self, events: bytes) -> Iterator[Piece]:
        """The pieces of a stream's whole events. After an error there are none."""
        for chunk in read_objects(events):
            if self.error is None:
                yield from self._chunk(chunk)

    def _chunk(self, chunk: Mapping[str, Any]) -> Iterator[Piece]:
        self.read_head(chunk)
        choice = object_of(next(iter(list_of(chunk.get("choices"))), None))
        self.finish = text_of(choice.get("finish_reason")) or self.finish
        if self.finish == "error":
            self.error = self.error or _error_text(choice.get("error"))
        yield from self.read_message(object_of(choice.get("delta")))

    def read_head(self, chunk: Mapping[str, Any]) -> None:
        """What is beside the choices: the id, the time, the usage, or an error."""
        if error := chunk.get("error"):
            self.error = _error_text(error)
        self.id = self.id or text_of(chunk.get("id"))
        self.created = self.created or _time(chunk.get("created"))
        usage = object_of(chunk.get("usage"))
        cached = object_of(usage.get("prompt_tokens_details")).get("cached_tokens")
        read = usage_of(usage.get("prompt_tokens"), cached, usage.get("completion_tokens"))
        if read is not None:
            self.usage = read
            thought = object_of(usage.get("completion_tokens_details")).get("reasoning_tokens")
            self.reasoning_tokens = min(thought, read.completion) if is_count(thought) else 0

    def read_message(self, message: Mapping[str, Any]) -> Iterator[Piece]:
        """The pieces of a delta, or of a whole message."""
        thought = next((text for name in _THOUGHTS if (text := text_of(message.get(name)))), "")
        if thought:
            yield Piece(kind=PieceKind.THOUGHT, text=thought)
        if text := _content_text(message.get("content")) + text_of(message.get("refusal")):
            yield Piece(kind=PieceKind.TEXT, text=text)
        for call in list_of(message.get("tool_calls")):
            if isinstance(call, dict):
                yield self._call(call)

    def _call(self, said: Mapping[str, Any]) -> Piece:
        function = object_of(said.get("function"))
        call = self._call_of(said.get("index"), text_of(said.get("id")))
        call.id = call.id or text_of(said.get("id"))
        call.name += text_of(function.get("name"))
        text = arguments_text(function.get("arguments"))
        call.pieces.append(text)
        return Piece(kind=PieceKind.CALL, text=text, call=call)

    def _call_of(self, index: object, call_id: str) -> ToolCall:
        """By its number; where there is none, by its id; where there is neither, it is the last one."""
        if type(index) is int:
            key: int | str = index
        elif call_id or not self.calls:
            key = call_id
        else:
            return self.calls[-1]
        if key not in self._keys:
            self._keys[key] = ToolCall(position=len(self.calls))
            self.calls.append(self._keys[key])
        return self._keys[key]


def read_completion(reply: bytes) -> tuple[Completion, list[Piece]]:
    """A whole chat completion, and its pieces in order; raises WireError when it is none."""
    value = read_object(reply)
    choice = object_of(next(iter(list_of(value.get("choices"))), None)) if value is not None else {}
    message = choice.get("message")
    if value is None or not isinstance(message, dict):
        raise WireError("the endpoint's reply is no chat completion")
    read = Completion(finish=text_of(choice.get("finish_reason")) or None)
    read.read_head(value)
    calls = list_of(message.get("tool_calls"))
    numbered = [{**call, "index": i} for i, call in enumerate(calls) if isinstance(call, dict)]
    return read, list(read.read_message({**message, "tool_calls": numbered}))


def _time(value: object) -> int:
    return value if type(value) is int and 0 <= value < 2**40 else 0


def arguments_text(value: object) -> str:
    """A call's arguments as text, where some endpoints give an object; nothing of what is nested too deeply."""
    if not isinstance(value, dict):
        return text_of(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _content_text(content: object) -> str:
    parts = [text_of(object_of(part).get("text")) for part in list_of(content)]
    return text_of(content) or "".join(parts)


def _error_text(error: object) -> str:
    message = object_of(error).get("message")
    return (text_of(message) or text_of(error) or "the endpoint broke off its reply")[:1000]
