"""A stream on its way to the session: events as they come, until it ends, is cut, or nobody listens any more."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.domain.wires.wire import StreamReader
from overlord.errors import ModelUnavailable
from overlord.session_api.gateway.client_request import EndpointRequest
from overlord.session_api.gateway.meter import CLIENT_GONE, Meter

MAX_REPLY_BYTES = 16 * 1024 * 1024
EVENT_STREAM = "text/event-stream; charset=utf-8"
_HEADERS = [(b"content-type", EVENT_STREAM.encode()), (b"cache-control", b"no-store")]


class OutgoingStream:
    """What a client gets of an endpoint's stream: the same events, or what they are in the client's wire. The reader sees what the
    endpoint said, in any case."""

    def __init__(self, sent: EndpointRequest, reader: StreamReader) -> None:
        self.reader = reader
        self.has_begun = False
        """Whether an event came: from then on the reply is not asked for again, also where the client's wire has nothing to say yet."""
        client, self._client = sent.client, sent.client.dialect
        self._translator = (
            self._client.translator(client.request, model=sent.model) if sent.is_translated else None
        )

    def feed(self, data: bytes) -> bytes:
        events = self.reader.feed(data)
        self.has_begun = self.has_begun or bool(events)
        return events if self._translator is None or not events else self._translator.feed(events)

    def end(self) -> bytes:
        """What is left once everything came; what never became an event is taken for a last one."""
        rest = self.reader.rest
        if self._translator is None:
            return rest
        last = self._translator.feed(rest + b"\n\n") if rest.strip() else b""
        return last + self._translator.end()

    def broken(self, message: str) -> bytes:
        """A last event that says that the end is missing, in the shape its client knows."""
        return self._client.stream_error("model_unavailable", message)


class Relay(Response):
    """Passes a stream on. It owns the connection to the endpoint and the meter, and closes both in the end."""

    def __init__(
        self,
        first: bytes,
        chunks: AsyncIterator[bytes],
        stream: OutgoingStream,
        *,
        meter: Meter,
        owned: AsyncExitStack,
    ) -> None:
        super().__init__()
        self._first = first
        self._chunks = chunks
        self._stream = stream
        self._meter = meter
        self._owned = owned

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._owned:
            passing = asyncio.create_task(self._pass_on(send))
            leaving = asyncio.create_task(_client_gone(receive))
            try:
                await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not passing.done():
                    self._meter.status = CLIENT_GONE
                await _ended(passing, leaving)
            if passing.cancelled():
                return
            passing.result()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass_on(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        try:
            await _send_body(send, self._first)
            async for chunk in self._chunks:
                await _send_body(send, self._stream.feed(chunk))
                if self._stream.reader.size > MAX_REPLY_BYTES:
                    await self._break_off(send, f"the reply is larger than {MAX_REPLY_BYTES} bytes")
                    return
            await _send_body(send, self._stream.end())
        except ModelUnavailable as error:
            await self._break_off(send, str(error))

    async def _break_off(self, send: Send, message: str) -> None:
        """Say in the stream itself that its end is missing, in the shape clients know."""
        self._meter.status, self._meter.trouble = 502, message
        await _send_body(send, self._stream.broken(message))


async def _send_body(send: Send, data: bytes) -> None:
    if data:
        await send({"type": "http.response.body", "body": data, "more_body": True})


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
