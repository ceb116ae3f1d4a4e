"""Answers made smaller on their way: whole pages and figures, never a stream of events or a file.

Compressed beside words of a stranger's choosing, a secret shows in the length of an answer (BREACH). Two things are against that: what
another site had a browser ask for is sent as it is, and the one secret that pages hold, the token of their forms, is written another
way in each answer (`Visitor.csrf`).
"""

import asyncio
import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

KINDS = frozenset(
    {
        "text/html",
        "text/csv",
        "text/plain",
        "application/json",
        "application/problem+json",
        "application/openapi+json",
    }
)
LEAST_BYTES = 1_000
MANY_BYTES = 100_000
"""From here on it is done beside the loop."""
LEVEL = 5
OWN = frozenset({"same-origin", "none", ""})
"""Where a request comes from (`Sec-Fetch-Site`): a page of ours, the address bar, a program that is no browser."""


class Compression:
    """Compresses what whoever asks can read compressed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _may_be_compressed(Headers(scope=scope)):
            await self._app(scope, receive, _Compressed(send))
        else:
            await self._app(scope, receive, send)


def _may_be_compressed(asked: Headers) -> bool:
    return "gzip" in asked.get("accept-encoding", "") and asked.get("sec-fetch-site", "") in OWN


class _Compressed:
    """Holds an answer's start back until its first bytes say whether it is whole."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if _kind_of(message) not in KINDS:  # a stream's first bytes may be long in coming
                await self._send(message)
                return
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                message = {**message, "body": await _smaller(start, message.get("body", b""))}
            await self._send(start)
        await self._send(message)


async def _smaller(start: Message, content: bytes) -> bytes:
    """The content as it is sent; what stands above it is changed along."""
    headers = MutableHeaders(raw=start["headers"])
    if "content-encoding" in headers or len(content) < LEAST_BYTES:
        return content
    if len(content) < MANY_BYTES:
        small = gzip.compress(content, LEVEL, mtime=0)
    else:
        small = await asyncio.to_thread(gzip.compress, content, LEVEL, mtime=0)
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(len(small))
    headers.add_vary_header("accept-encoding")
    return small


def _kind_of(start: Message) -> str:
    return Headers(raw=start["headers"]).get("content-type", "").partition(";")[0].strip()
