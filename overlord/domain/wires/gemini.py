"""Google's `generateContent` and `streamGenerateContent`: what Gemini CLI speaks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from overlord.domain.budgets.budget import TokenUsage, estimate_tokens
from overlord.domain.wires import gemini_chat, gemini_request
from overlord.domain.wires.gemini_reply import GeminiTranslator, error_body, error_chunk
from overlord.domain.wires.translation.completion import arguments_text
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
    write_json,
)
from overlord.domain.wires.wire import (
    Dialect,
    ModelRequest,
    ReplyContent,
    StreamReader,
    StreamTranslator,
    Wire,
    WireError,
)

IMAGE_TOKENS = 1300
"""About what an image costs at most, whatever its size in bytes."""
_FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "FINISH_REASON_UNSPECIFIED": None}


class GeminiDialect(Dialect):
    """`Dialect` of Google's wire."""

    wire = Wire.GEMINI

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
        return gemini_request.read_request(
            body, names=names, completion=completion, model=model, stream=stream
        )

    @override
    def written(self, request: ModelRequest, *, model: str, limit_parameter: str) -> bytes:
        return gemini_request.write_request(request)

    @override
    def to_chat(self, request: ModelRequest) -> ModelRequest:
        return gemini_chat.to_chat(request)

    @override
    def reply_of_chat(self, request: ModelRequest, reply: bytes, *, model: str) -> bytes:
        return GeminiTranslator(request, model).whole(reply)

    @override
    def translator(self, request: ModelRequest, *, model: str) -> StreamTranslator:
        return GeminiTranslator(request, model)

    @override
    def reader(self, request: ModelRequest) -> StreamReader:
        return GeminiReader()

    @override
    def read_whole(self, data: bytes) -> ReplyContent:
        value = read_object(data)
        if value is None or not isinstance(value.get("candidates"), list):
            return unreadable(data)
        return content_of(_message([value]), read_usage(value), 1)

    @override
    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        return error_body(status, code, message)

    @override
    def stream_error(self, code: str, message: str) -> bytes:
        return error_chunk(502, code, message)


@dataclass(slots=True)
class GeminiReader(EventCutter):
    """`StreamReader` of Google's chunks."""

    usage: TokenUsage | None = None

    @override
    def feed(self, data: bytes) -> bytes:
        whole = EventCutter.feed(self, data)
        if b'"usageMetadata"' in whole:
            for said in read_objects(whole):
                self.usage = read_usage(said) or self.usage
        return whole

    def content(self) -> ReplyContent:
        chunks = list(self.passed())
        return content_of(_message(chunks), self.usage, len(chunks))


def read_usage(chunk: Mapping[str, Any]) -> TokenUsage | None:
    """The usage of a reply or a chunk; None when there is none, or none that can be. Thoughts are part of the completion."""
    usage = object_of(chunk.get("usageMetadata"))
    counts = [usage.get(key, 0) for key in ("candidatesTokenCount", "thoughtsTokenCount")]
    if not all(type(count) is int and count >= 0 for count in counts):
        return None
    return usage_of(usage.get("promptTokenCount"), usage.get("cachedContentTokenCount"), sum(counts))


def count_tokens(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """An answer to `:countTokens`, which no endpoint is asked for: an estimate that errs on the dear side. Raises WireError."""
    asked = body.get("generateContentRequest", body)
    if not isinstance(asked, dict) or not isinstance(asked.get("contents"), list):
        raise WireError("countTokens needs contents: a list of what was said")
    images = [
        part["inlineData"]
        for content in asked["contents"]
        for part in list_of(object_of(content).get("parts"))
        if isinstance(object_of(part).get("inlineData"), dict)
    ]
    data = sum(len(text_of(image.get("data"))) for image in images)
    size = max(0, len(write_json(asked)) - data)
    return {"totalTokens": estimate_tokens(size) + IMAGE_TOKENS * len(images)}


def _message(chunks: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The chunks of a reply as one message of a chat completion."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Mapping[str, Any]] = []
    finish = None
    for chunk in chunks:
        candidate = object_of(next(iter(list_of(chunk.get("candidates"))), None))
        finish = text_of(candidate.get("finishReason")) or finish
        for part in map(object_of, list_of(object_of(candidate.get("content")).get("parts"))):
            if isinstance(part.get("functionCall"), dict):
                calls.append(_call(part["functionCall"], len(calls)))
            else:
                (thoughts if part.get("thought") is True else texts).append(text_of(part.get("text")))
    thought = "".join(thoughts)
    return {
        "role": "assistant",
        "content": "".join(texts),
        **({"reasoning_content": thought} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
        "finish_reason": _finish(finish, has_calls=bool(calls)),
    }


def _finish(reason: str | None, *, has_calls: bool) -> str | None:
    if reason is None:
        return None
    finish = _FINISHES.get(reason, "content_filter")
    return "tool_calls" if finish == "stop" and has_calls else finish


def _call(call: Mapping[str, Any], position: int) -> Mapping[str, Any]:
    arguments = arguments_text(object_of(call.get("args"))) or "{}"
    function = {"name": text_of(call.get("name")), "arguments": arguments}
    return {"id": text_of(call.get("id")) or f"call_{position}", "type": "function", "function": function}
