"""Anthropic's Messages API, `/v1/messages`: what Claude Code speaks."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from overlord.domain.wires import messages_of_chat, messages_reader, messages_request, messages_to_chat
from overlord.domain.wires.messages_of_chat import ChatTranslator
from overlord.domain.wires.messages_reader import MessagesStreamReader
from overlord.domain.wires.wire import (
    Dialect,
    ModelRequest,
    ReplyContent,
    StreamReader,
    StreamTranslator,
    Wire,
)

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
"""What the API calls an error of each status."""

count_tokens = messages_request.count_tokens
"""For `/v1/messages/count_tokens`."""


class MessagesDialect(Dialect):
    """`Dialect` of the Messages API."""

    wire = Wire.MESSAGES

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
        return messages_request.read_request(body, names=names, completion=completion)

    @override
    def written(self, request: ModelRequest, *, model: str, limit_parameter: str) -> bytes:
        return messages_request.write_request(request, model=model)

    @override
    def to_chat(self, request: ModelRequest) -> ModelRequest:
        return messages_to_chat.to_chat(request)

    @override
    def reply_of_chat(self, request: ModelRequest, reply: bytes, *, model: str) -> bytes:
        return messages_of_chat.reply_of_chat(reply, model=model)

    @override
    def translator(self, request: ModelRequest, *, model: str) -> StreamTranslator:
        return ChatTranslator(model=model)

    @override
    def reader(self, request: ModelRequest) -> StreamReader:
        return MessagesStreamReader()

    @override
    def read_whole(self, data: bytes) -> ReplyContent:
        return messages_reader.read_whole(data)

    @override
    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        kind = _KINDS.get(status, "invalid_request_error" if 400 <= status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "code": code, "message": message}}

    @override
    def stream_error(self, code: str, message: str) -> bytes:
        return messages_of_chat.error_event("api_error", message)
