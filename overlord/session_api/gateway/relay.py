"""A stream on its way to the session: events as they come, until it ends, is cut, or nobody listens any more."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from overlord.errors import ModelUnavailable
from overlord.session_api.gateway.meter import CLIENT_GONE, Meter
from overlord.session_api.gateway.reply import StreamReader

MAX_REPLY_BYTES = 16 * 1024 * 1024
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


class Relay(Response):
    """Passes a stream on. It owns the connection to the endpoint and the meter, and closes both in the end."""

    def __init__(
        self,
        first: bytes,
        chunks: AsyncIterator[bytes],
        reader: StreamReader,
        meter: Meter,
        owned: AsyncExitStack,
    ) -> None:
        super().__init__()
        self._first = first
        self._chunks = chunks
        self._reader = reader
        self._meter = meter
        self._owned = owned

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._owned:
            passing = asyncio.create_task(self._pass_on(send))
            retention_item = asyncio.create_task(_client_gone(receive))
            try:
                await asyncio.wait({passing, retention_item}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not passing.done():
                    self._meter.status = CLIENT_GONE
                await _ended(passing, retention_item)
            if passing.cancelled():
                return
            passing.result()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass_on(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        try:
            await _send_body(send, self._first)
            async for chunk in self._chunks:
                await _send_body(send, self._reader.feed(chunk))
                if self._reader.size > MAX_REPLY_BYTES:
                    await self._break_off(send, f"the reply is larger than {MAX_REPLY_BYTES} bytes")
                    return
            await _send_body(send, self._reader.rest)
        except ModelUnavailable as error:
            await self._break_off(send, str(error))

    async def _break_off(self, send: Send, message: str) -> None:
        """Say in the stream itself that its end is missing, in the shape clients know."""
        self._meter.status, self._meter.trouble = 502, message
        problem = {"error": {"code": "model_unavailable", "message": message, "type": "overlord"}}
        await _send_body(send, b"data: " + json.dumps(problem).encode() + b"\n\n")


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
