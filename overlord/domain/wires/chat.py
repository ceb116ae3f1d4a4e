"""OpenAI's chat completions: what the native agent speaks, and what every other wire can be translated to."""

import json
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from overlord.domain.wires import chat_reply, chat_request
from overlord.domain.wires.chat_reply import ChatStreamReader
from overlord.domain.wires.wire import (
    Dialect,
    ModelRequest,
    ReplyContent,
    StreamReader,
    StreamTranslator,
    Wire,
)


class _Same:
    """A stream that is in the wire already."""

    def feed(self, events: bytes) -> bytes:
        return events

    def end(self) -> bytes:
        return b""


class ChatDialect(Dialect):
    """`Dialect` of chat completions."""

    wire = Wire.CHAT

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
        return chat_request.read_request(body, names=names, completion=completion)

    @override
    def written(self, request: ModelRequest, *, model: str, limit_parameter: str) -> bytes:
        return chat_request.write_request(request, model=model, limit_parameter=limit_parameter)

    @override
    def to_chat(self, request: ModelRequest) -> ModelRequest:
        return request

    @override
    def reply_of_chat(self, request: ModelRequest, reply: bytes, *, model: str) -> bytes:
        return reply

    @override
    def translator(self, request: ModelRequest, *, model: str) -> StreamTranslator:
        return _Same()

    @override
    def reader(self, request: ModelRequest) -> StreamReader:
        return ChatStreamReader(hides_usage=not request.wants_usage)

    @override
    def read_whole(self, data: bytes) -> ReplyContent:
        return chat_reply.read_whole(data)

    @override
    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        return {"error": {"code": code, "message": message, "type": "overlord"}}

    @override
    def stream_error(self, code: str, message: str) -> bytes:
        return b"data: " + json.dumps(self.error(502, code, message)).encode() + b"\n\n"
