"""Endpoints that speak another wire than chat completions: they answer what a test tells them, behind a key, and keep what came."""

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.domain.wires.wire import Wire
from overlord.embedded.server import cut_connection, serve

KEY_HEADERS = {Wire.MESSAGES: "x-api-key", Wire.GEMINI: "x-goog-api-key"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """One request as it came."""

    path: str
    query: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One answer: its bytes in pieces, and whether the connection is cut after them."""

    pieces: Sequence[bytes]
    status: int = 200
    is_stream: bool = False
    is_cut: bool = False
    retry_after_s: int = 0


class _Spoken(Response):
    def __init__(self, said: Said) -> None:
        super().__init__()
        self._said = said

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = b"text/event-stream" if self._said.is_stream else b"application/json"
        headers = [(b"content-type", kind)]
        if self._said.retry_after_s:
            headers.append((b"retry-after", str(self._said.retry_after_s).encode()))
        await send({"type": "http.response.start", "status": self._said.status, "headers": headers})
        for piece in self._said.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if self._said.is_cut:
            await cut_connection(scope, receive, flush=True)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@dataclass(slots=True, eq=False)
class WireEndpoint:
    """Answers each request with the next of its answers; the last one again and again."""

    wire: Wire
    key: str = "sk-endpoint-0123456789abcdef"
    names: tuple[str, ...] = ("scripted",)
    requests: list[Came] = field(default_factory=list)
    _answers: list[Said] = field(default_factory=list)

    def will(self, *answers: Said) -> None:
        self._answers.extend(answers)

    def serve(self) -> AbstractAsyncContextManager[str]:
        return serve(self, host="127.0.0.1", port=0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        await (await self._answer(request))(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        name = KEY_HEADERS.get(self.wire, "authorization")
        shown = request.headers.get(name, "").removeprefix("Bearer ")
        if not secrets.compare_digest(shown.encode(), self.key.encode()):
            return JSONResponse({"error": {"type": "authentication_error", "message": "invalid key"}}, 401)
        if request.method == "GET":
            return JSONResponse(self._list())
        self.requests.append(
            Came(
                path=request.url.path,
                query=request.url.query,
                headers=dict(request.headers),
                body=json.loads(await request.body()),
            )
        )
        return _Spoken(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])

    def _list(self) -> dict[str, Any]:
        if self.wire is Wire.GEMINI:
            return {"models": [{"name": f"models/{name}"} for name in self.names]}
        return {"data": [{"id": name} for name in self.names]}


def events(*items: Mapping[str, Any]) -> Said:
    """A stream of events, each in a piece of its own; those with a `type` carry it as their name."""
    return Said(pieces=[_event(item) for item in items], is_stream=True)


def whole(value: Mapping[str, Any], status: int = 200, retry_after_s: int = 0) -> Said:
    return Said(pieces=[json.dumps(value).encode()], status=status, retry_after_s=retry_after_s)


def _event(item: Mapping[str, Any]) -> bytes:
    name = f"event: {item['type']}\n".encode() if "type" in item else b""
    return name + b"data: " + json.dumps(item).encode() + b"\n\n"
