"""OpenAI's Responses API: what Codex speaks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.wires import responses_chat, responses_request
from overlord.domain.wires.responses_reply import ResponsesTranslator, event, failed_response
from overlord.domain.wires.translation.event_stream import (
    EventCutter,
    content_of,
    list_of,
    object_of,
    read_object,
    read_objects,
    text_of,
    unreadable,
    usage_of,
)
from overlord.domain.wires.wire import (
    Dialect,
    ModelRequest,
    ReplyContent,
    StreamReader,
    StreamTranslator,
    Wire,
)

_FINISHES = {"max_output_tokens": "length", "content_filter": "content_filter"}
_DELTAS = {
    "response.output_text.delta": "text",
    "response.reasoning_summary_text.delta": "thought",
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}
_MOST_NUMBER = 999_999
"""No event needs its number more; one that ends a stream of another's has no other."""


class ResponsesDialect(Dialect):
    """`Dialect` of the Responses API."""

    wire = Wire.RESPONSES

    @override
    def read(
        self,
        body: Mapping[str, Any],
        *,
        names: frozenset[str],
        completion: int,
        model: str = "",
        stream: bool = False,
    ) -> ModelRequest:
        return responses_request.read_request(body, names=names, completion=completion)

    @override
    def written(self, request: ModelRequest, *, model: str, limit_parameter: str) -> bytes:
        return responses_request.write_request(request, model=model)

    @override
    def to_chat(self, request: ModelRequest) -> ModelRequest:
        return responses_chat.to_chat(request)

    @override
    def reply_of_chat(self, request: ModelRequest, reply: bytes, *, model: str) -> bytes:
        return ResponsesTranslator(request, model).whole(reply)

    @override
    def translator(self, request: ModelRequest, *, model: str) -> StreamTranslator:
        return ResponsesTranslator(request, model)

    @override
    def reader(self, request: ModelRequest) -> StreamReader:
        return ResponsesReader()

    @override
    def read_whole(self, data: bytes) -> ReplyContent:
        return read_whole(data)

    @override
    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        return {"error": {"message": message, "type": "overlord", "param": None, "code": code}}

    @override
    def stream_error(self, code: str, message: str) -> bytes:
        return event("response.failed", _MOST_NUMBER, response=failed_response(code, message))


@dataclass(slots=True)
class ResponsesReader(EventCutter):
    """`StreamReader` of the Responses API's events."""

    usage: TokenUsage | None = None

    @override
    def feed(self, data: bytes) -> bytes:
        whole = EventCutter.feed(self, data)
        if b'"usage"' in whole:
            for said in read_objects(whole):
                self.usage = read_usage(said.get("response")) or self.usage
        return whole

    def content(self) -> ReplyContent:
        items: dict[int, dict[str, Any]] = {}
        pieces: dict[tuple[int, str], list[str]] = {}
        response: Mapping[str, Any] = {}
        events = 0
        for said in self.passed():
            events += 1
            kind, given = text_of(said.get("type")), said.get("output_index")
            index = given if type(given) is int else len(items)
            if kind.startswith("response.output_item.") and isinstance(said.get("item"), dict):
                items[index] = dict(said["item"])
            elif kind in _DELTAS:
                items.setdefault(index, {})
                pieces.setdefault((index, _DELTAS[kind]), []).append(text_of(said.get("delta")))
            elif isinstance(said.get("response"), dict):
                response = said["response"]
        for (index, key), texts in pieces.items():
            items[index][f"said_{key}"] = "".join(texts)
        return content_of(_message([items[index] for index in sorted(items)], response), self.usage, events)


def read_whole(data: bytes) -> ReplyContent:
    """A reply that came in one piece; anything at all."""
    value = read_object(data)
    if value is None or not isinstance(value.get("output"), list):
        return unreadable(data)
    return content_of(_message(value["output"], value), read_usage(value), 1)


def read_usage(response: object) -> TokenUsage | None:
    """The usage of a response; None when there is none, or none that can be."""
    usage = object_of(object_of(response).get("usage"))
    cached = object_of(usage.get("input_tokens_details")).get("cached_tokens")
    return usage_of(usage.get("input_tokens"), cached, usage.get("output_tokens"))


def _message(items: Sequence[object], response: Mapping[str, Any]) -> Mapping[str, Any]:
    """A reply's items as one message of a chat completion."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Mapping[str, Any]] = []
    for item in map(object_of, items):
        kind = text_of(item.get("type"))
        if kind in {"function_call", "custom_tool_call"}:
            calls.append(_call(item))
        elif kind == "reasoning" or "said_thought" in item:
            thoughts += [_part_text(part) for part in list_of(item.get("summary"))] or [
                _said(item, "thought")
            ]
        else:
            texts += [_part_text(part) for part in list_of(item.get("content"))] or [_said(item, "text")]
    thought = "".join(thoughts)
    return {
        "role": "assistant",
        "content": "".join(texts),
        **({"reasoning_content": thought} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
        "finish_reason": _finish(response, has_calls=bool(calls)),
    }


def _call(item: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = text_of(item.get("arguments")) or _said(item, "arguments")
    if item.get("type") == "custom_tool_call":
        given = text_of(item.get("input")) or _said(item, "input")
        arguments = json.dumps({responses_chat.CUSTOM_ARGUMENT: given}, ensure_ascii=False)
    namespace, name = text_of(item.get("namespace")), text_of(item.get("name"))
    full = f"{namespace}__{name}" if namespace else name
    function = {"name": full, "arguments": arguments}
    return {"id": text_of(item.get("call_id")), "type": "function", "function": function}


def _said(item: Mapping[str, Any], key: str) -> str:
    """What came of an item that was never done."""
    return text_of(item.get(f"said_{key}"))


def _part_text(part: object) -> str:
    return text_of(object_of(part).get("text")) or text_of(object_of(part).get("refusal"))


def _finish(response: Mapping[str, Any], *, has_calls: bool) -> str | None:
    status = response.get("status")
    if status == "incomplete":
        reason = text_of(object_of(response.get("incomplete_details")).get("reason"))
        return _FINISHES.get(reason, reason or None)
    if status == "completed":
        return "tool_calls" if has_calls else "stop"
    return None
