"""A chat completion as a reply of the Messages API, whole or as a stream.

Text passes on as it comes. A call's arguments are kept until the call is whole: endpoints mix the pieces of parallel calls, some give
all of them the same index, and what a model wrote may be no JSON, where this wire promises an object. While nothing else can be said,
pings keep the client waiting. Usage comes last in a chat, so a reply begins without it and its `message_delta` has all of it.
"""

import json
import math
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from overlord.domain.wires.wire import WireError

UNREADABLE = "unreadable_arguments"
"""The one key of a call's input, where its arguments were no JSON object. No tool knows it: the client says so to the model."""
_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_MOST_TOKENS = 10**9
_PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def reply_of_chat(reply: bytes, *, model: str) -> bytes:
    """Raises WireError when it is no completion."""
    try:
        value = json.loads(reply)
        choice = value["choices"][0]
        message = choice["message"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise WireError("the endpoint's reply is no chat completion") from None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise WireError("the endpoint's reply is no chat completion")
    calls = _Calls()
    calls.add(message.get("tool_calls"))
    text = "".join(_texts(message))
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [{**call.begun(), "input": call.read()[1]} for call in calls.whole]
    usage = _usage(value)
    return json.dumps(
        {
            **_message(model),
            "content": blocks,
            "stop_reason": _stop_reason(choice.get("finish_reason"), has_calls=bool(calls.whole)),
            "usage": {"input_tokens": 0, "output_tokens": 0} if usage is None else usage,
        }
    ).encode()


def error_event(kind: str, message: str) -> bytes:
    """The event that ends a stream without its reply."""
    return _event("error", {"error": {"type": kind, "message": message}})


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    _arguments: list[str] = field(default_factory=list)

    def add(self, function: Mapping[str, Any]) -> None:
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name != self.name:  # some endpoints repeat it in each piece
            self.name += name
        if isinstance(arguments, str):
            self._arguments.append(arguments)
        elif isinstance(arguments, dict):
            self._arguments.append(json.dumps(arguments))

    def begun(self) -> dict[str, Any]:
        if not self.id:
            self.id = f"toolu_{uuid.uuid4().hex[:24]}"
        return {"type": "tool_use", "id": self.id, "name": self.name}

    def read(self) -> tuple[str, dict[str, Any]]:
        """The arguments as text and as an object, whatever was written."""
        text = "".join(self._arguments).strip() or "{}"
        try:
            value = json.loads(text, parse_constant=_finite, parse_float=_finite)
            if isinstance(value, dict):
                return text, value
        except (ValueError, RecursionError):
            pass
        value = {UNREADABLE: text}
        return json.dumps(value), value


class _Calls:
    """The calls of a reply, whose pieces come in any order."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}

    @property
    def whole(self) -> list[_Call]:
        """Those with a name; without one there is nothing to call."""
        return [call for call in self._calls if call.name]

    def add(self, pieces: object) -> None:
        for place, piece in enumerate(pieces if isinstance(pieces, list) else ()):
            function = piece.get("function") if isinstance(piece, dict) else None
            if not isinstance(piece, dict) or not isinstance(function, dict):
                continue
            index, name = piece.get("index"), piece.get("id")
            known = self._at.get(index if isinstance(index, int) else place)
            if known is None or (isinstance(name, str) and name and known.id not in ("", name)):
                known = _Call()
                self._calls.append(known)
                self._at[index if isinstance(index, int) else place] = known
            if isinstance(name, str) and name:
                known.id = name
            known.add(function)


@dataclass(slots=True)
class ChatTranslator:
    """Makes events of the Messages API out of the events of a chat completion's stream."""

    model: str
    _begun: bool = False
    _over: bool = False
    _text_is_open: bool = False
    _index: int = 0
    _calls: _Calls = field(default_factory=_Calls)
    _finish: str | None = None
    _usage: dict[str, int] | None = None

    def feed(self, events: bytes) -> bytes:
        """Take whole events; give what they are in the wire."""
        given: list[bytes] = []
        for line in events.splitlines():
            if self._over:
                break
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                given.append(self.end())
            else:
                given += self._read(data)
        if not given and self._begun and not self._over and events:
            return _PING
        return b"".join(given)

    def end(self) -> bytes:
        """What is missing of the reply; an error where the stream ended without a word of why."""
        if self._over:
            return b""
        self._over = True
        if self._finish is None:
            return error_event("api_error", "the model's reply broke off before its end")
        given = [*self._begin(), *self._close_text()]
        for call in self._calls.whole:
            given += self._call(call)
        usage = {"output_tokens": 0} if self._usage is None else self._usage
        reason = _stop_reason(self._finish, has_calls=bool(self._calls.whole))
        delta = {"stop_reason": reason, "stop_sequence": None}
        given += [_event("message_delta", {"delta": delta, "usage": usage}), _event("message_stop", {})]
        return b"".join(given)

    def _read(self, data: bytes) -> Iterator[bytes]:
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            return
        if not isinstance(chunk, dict):
            return
        if error := chunk.get("error"):
            self._over = True
            message = error.get("message") if isinstance(error, dict) else error
            yield error_event("api_error", str(message or "the endpoint reported an error")[:1000])
            return
        self._usage = _usage(chunk) or self._usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(choice, dict):
            yield from self._begin()
            yield from self._say(choice)

    def _say(self, choice: Mapping[str, Any]) -> Iterator[bytes]:
        delta = choice.get("delta")
        if isinstance(delta, dict):
            for text in _texts(delta):
                if not self._text_is_open:
                    self._text_is_open = True
                    yield self._block("start", content_block={"type": "text", "text": ""})
                yield self._block("delta", delta={"type": "text_delta", "text": text})
            self._calls.add(delta.get("tool_calls"))
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish

    def _begin(self) -> Iterator[bytes]:
        if not self._begun:
            self._begun = True
            usage = {"input_tokens": 0, "output_tokens": 0}
            yield _event(
                "message_start", {"message": {**_message(self.model), "content": [], "usage": usage}}
            )

    def _close_text(self) -> Iterator[bytes]:
        if self._text_is_open:
            self._text_is_open = False
            yield self._block("stop")
            self._index += 1

    def _call(self, call: _Call) -> Iterator[bytes]:
        yield self._block("start", content_block={**call.begun(), "input": {}})
        yield self._block("delta", delta={"type": "input_json_delta", "partial_json": call.read()[0]})
        yield self._block("stop")
        self._index += 1

    def _block(self, what: str, **said: Any) -> bytes:
        return _event(f"content_block_{what}", {"index": self._index, **said})


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
    for text in (content, message.get("refusal")):
        if isinstance(text, str) and text:
            yield text


def _message(model: str) -> dict[str, Any]:
    """What every reply begins with. Its name is new each time: Claude Code takes two replies of one name for pieces of one."""
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _event(name: str, said: Mapping[str, Any]) -> bytes:
    # In ASCII: half of a character beyond the first plane, which is no UTF-8 alone, reaches the client and finds its other half.
    return f"event: {name}\ndata: {json.dumps({'type': name, **said})}\n\n".encode()


def _stop_reason(finish: object, *, has_calls: bool) -> str:
    found = _STOP_REASONS.get(finish, "end_turn") if isinstance(finish, str) else "end_turn"
    return "tool_use" if has_calls and found == "end_turn" else found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not JSON")
    return value


def _usage(value: Mapping[str, Any]) -> dict[str, int] | None:
    """A chat's usage in this wire, where what was read from a cache or written to one is no part of `input_tokens`."""
    usage = value.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not _is_count(prompt) or not _is_count(completion):
        return None
    details = usage.get("prompt_tokens_details")
    read, written = (
        details.get(key) if isinstance(details, dict) else None
        for key in ("cached_tokens", "cache_write_tokens")
    )
    cached = min(read, prompt) if _is_count(read) else 0
    new = min(written, prompt - cached) if _is_count(written) else 0
    return {
        "input_tokens": prompt - cached - new,
        "cache_creation_input_tokens": new,
        "cache_read_input_tokens": cached,
        "output_tokens": completion,
    }


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MOST_TOKENS
