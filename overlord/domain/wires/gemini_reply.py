"""A chat completion as a reply of Google's wire: whole, or as the chunks of a stream.

Words go on as they come. A call goes on when it is whole, since its arguments are an object there. The last chunk says why the reply
ended and what it used.
"""

from collections.abc import Mapping
from typing import Any

from overlord.domain.wires.gemini_chat import RAW_ARGUMENTS, names_of
from overlord.domain.wires.translation.completion import (
    Completion,
    Piece,
    PieceKind,
    ToolCall,
    read_completion,
)
from overlord.domain.wires.translation.event_stream import read_object, write_json
from overlord.domain.wires.wire import ModelRequest, WireError

ENDED_EARLY = "the endpoint's reply ended before it was whole"
_FINISHES = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
_LEVELS_AROUND = 40
"""More than a reply has around a call's arguments: what can be written so deep can be written there."""
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "RESOURCE_EXHAUSTED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    424: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def error_body(status: int, code: str, message: str) -> dict[str, Any]:
    """An error in Google's shape: our own code is its reason."""
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code, "domain": "overlord"}
    name = _STATUSES.get(status, "INTERNAL" if status >= 500 else "FAILED_PRECONDITION")
    return {"error": {"code": status, "message": message, "status": name, "details": [reason]}}


def event(value: object) -> bytes:
    """A chunk as the stream has it."""
    return b"data: " + write_json(value) + b"\r\n\r\n"


def error_chunk(status: int, code: str, message: str) -> bytes:
    """What ends a stream that is not whole.

    It is no event: Google's own client looks for an error where a piece of the stream is plain JSON, and an event of one it takes for an
    empty chunk. Gemini CLI then ends with 0; at this it ends with an error.
    """
    return write_json(error_body(status, code, message)) + b"\r\n\r\n"


class GeminiTranslator:
    """`StreamTranslator` for one reply."""

    def __init__(self, request: ModelRequest, model: str) -> None:
        self._model = model
        self._names = names_of(request)
        self._turn = len(request.messages)
        self._said = Completion()
        self._ended = False

    def feed(self, events: bytes) -> bytes:
        if self._ended:
            return b""
        out = [event(self._chunk([part])) for piece in self._said.feed(events) if (part := _part(piece))]
        if self._said.error is not None:
            out.append(self._fail(self._said.error))
        return b"".join(out)

    def end(self) -> bytes:
        if self._ended:
            return b""
        if self._said.finish is None:
            return self._fail(ENDED_EARLY)
        self._ended = True
        return event(self._chunk([self._call(call) for call in self._said.calls], is_last=True))

    def whole(self, reply: bytes) -> bytes:
        """A reply that came in one piece."""
        self._said, pieces = read_completion(reply)
        parts = [part for piece in pieces if (part := _part(piece))]
        return write_json(self._chunk([*parts, *map(self._call, self._said.calls)], is_last=True))

    def _fail(self, message: str) -> bytes:
        self._ended = True
        return error_chunk(502, "model_unavailable", message)

    def _chunk(self, parts: list[dict[str, Any]], *, is_last: bool = False) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        chunk: dict[str, Any] = {"candidates": [candidate]}
        if is_last:
            candidate["finishReason"] = _FINISHES.get(self._said.finish or "", "STOP")
            if usage := self._usage():
                chunk["usageMetadata"] = usage
        return {**chunk, "modelVersion": self._model, "responseId": self._said.id}

    def _usage(self) -> Mapping[str, Any] | None:
        used = self._said.usage
        if used is None:
            return None
        counts = {
            "promptTokenCount": used.prompt,
            "candidatesTokenCount": used.completion - self._said.reasoning_tokens,
            "totalTokenCount": used.total,
        }
        optional = {
            "cachedContentTokenCount": used.cached,
            "thoughtsTokenCount": self._said.reasoning_tokens,
        }
        return counts | {key: count for key, count in optional.items() if count}

    def _call(self, call: ToolCall) -> dict[str, Any]:
        called = {"name": self._names.split(call.name).name, "args": _arguments(call.arguments)}
        return {"functionCall": called | {"id": call.id or f"call_{self._turn}_{call.position}"}}


def _part(piece: Piece) -> dict[str, Any] | None:
    if piece.kind is PieceKind.CALL:
        return None
    return {"text": piece.text} | ({"thought": True} if piece.kind is PieceKind.THOUGHT else {})


def _arguments(text: str) -> Mapping[str, Any]:
    """The object that a call's arguments are; what a model said in its place is kept as text."""
    value = read_object(text) if text.strip() else {}
    inside: object = value
    for _ in range(_LEVELS_AROUND):
        inside = [inside]
    try:
        write_json(inside)
    except WireError:
        value = None
    return {RAW_ARGUMENTS: text} if value is None else value
