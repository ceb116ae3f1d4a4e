"""`ports.Model` in memory: the scripted model is asked in this process, without a socket between."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message

from overlord.domain.wires.wire import Wire
from overlord.embedded.server import CUT
from overlord.errors import ModelUnavailable
from overlord.ports.model import NO_HEADERS


@dataclass(slots=True)
class Told:
    """What an application answered to one request."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)
    is_whole: bool = False

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message.get("headers", ())}
        elif message["type"] == "http.response.body":
            self.pieces += [message["body"]] if message.get("body") else []
            self.is_whole = not message.get("more_body", False)


class _Line:
    """The connection a request came on: it can be cut."""

    def close(self) -> None:
        """Nobody listens any more in any case."""

    abort = close


async def asked(
    app: ASGIApp, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> Told:
    """One request to an application in this process; whoever waits for the client to go, sees it gone."""
    given, told = [body], Told()

    async def receive() -> Message:
        if given:
            return {"type": "http.request", "body": given.pop(), "more_body": False}
        return {"type": "http.disconnect"}

    plain, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
        "server": ("memory", 80),
        "client": ("memory", 1),
        "extensions": {CUT: _Line()},
    }
    await app(scope, receive, told.take)
    return told


class _Reply:
    """`ports.ModelResponse`."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self.status = told.status
        self.headers = told.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self._told.pieces:
            yield piece
        if not self._told.is_whole:
            raise ModelUnavailable("the model's reply was cut off")


class MemoryModel:
    """An endpoint with one key, over chat completions."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}

    @asynccontextmanager
    async def complete(
        self,
        body: bytes,
        wire: Wire = Wire.CHAT,
        *,
        model: str = "",
        stream: bool = False,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> AsyncIterator[_Reply]:
        assert wire is Wire.CHAT, "in memory there is no other wire"
        told = await asked(self._app, "POST", "/v1/chat/completions", body, self._headers)
        if not told.status:
            raise ModelUnavailable("the model gave no reply")
        yield _Reply(told)

    @asynccontextmanager
    async def models(self, wire: Wire = Wire.CHAT, *, signed: bool = True) -> AsyncIterator[_Reply]:
        assert wire is Wire.CHAT, "in memory there is no other wire"
        told = await asked(self._app, "GET", "/v1/models", headers=self._headers if signed else None)
        if not told.status:
            raise ModelUnavailable("the model gave no reply")
        yield _Reply(told)
