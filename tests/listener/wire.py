"""A stranger on a TCP connection: sends bytes, reads what comes back. And the forge, who knows the secret."""

import asyncio
import contextlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from overlord.entrypoints.listen.listener import listening
from overlord.settings.model import Listen
from tests.quick import made_quick_world
from tests.world import World

DEADLINE_S = 180.0
SECRET = "canary-webhook-secret"
_numbers = count(1)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back before the connection was closed. Status 0: nothing did."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def said(self) -> Any:
        return json.loads(self.body)


class Line:
    """One connection to a listener."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def rest(self) -> bytes:
        """Everything until the other side closes or cuts."""
        found = b""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(DEADLINE_S):
                while chunk := await self._reader.read(65_536):
                    found += chunk
        return found

    async def answer(self) -> Answer:
        head, _, body = (await self.rest()).partition(b"\r\n\r\n")
        if not head:
            return Answer(status=0, headers={}, body=b"")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return Answer(status=int(status.split()[1]), headers=headers, body=body)


@contextlib.asynccontextmanager
async def line(place: str) -> AsyncIterator[Line]:
    host, _, port = place.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Line(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def exchange(place: str, request: bytes) -> Answer:
    """One request on a connection of its own."""
    async with line(place) as made:
        made.send(request)
        return await made.answer()


async def get(place: str, path: str, *, host: str = "") -> Answer:
    """A request by the listener's own address, or by another name."""
    return await exchange(place, f"GET {path} HTTP/1.1\r\nhost: {host or place}\r\n\r\n".encode())


def signature(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()


def event(name: str = "acme/calc") -> bytes:
    return json.dumps({"action": "labeled", "repository": {"full_name": name}}).encode()


def posted(body: bytes, *, without: str = "", more: bytes = b"", **headers: str | bytes) -> bytes:
    """A delivery as the forge sends it; `headers` (with _ for -) are put in place of what it would say."""
    given: dict[str, str | bytes] = {
        "host": "x",
        "content-type": "application/json",
        "content-length": str(len(body)),
        "x-github-event": "issues",
        "x-github-delivery": f"72d3162e-cc78-11e3-81ab-{next(_numbers):012}",
        "x-hub-signature-256": signature(body),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    given.pop(without, None)
    lines = [
        name.encode() + b": " + (value if isinstance(value, bytes) else value.encode())
        for name, value in given.items()
    ]
    return b"POST /webhooks/github HTTP/1.1\r\n" + b"\r\n".join(lines) + b"\r\n" + more + b"\r\n" + body


@contextlib.asynccontextmanager
async def heard_world(
    *, secret: str = SECRET, patience_s: float = 10.0, most_connections: int = 32, **overrides: Any
) -> AsyncIterator[tuple[World, str]]:
    """A world that has polled once and not again for a day, and the place its operator's listener is at."""
    async with made_quick_world(poll_s=86_400, **overrides) as world:
        await world.settle()
        listen = Listen(address="127.0.0.1:0", webhook_secret=secret)
        async with listening(
            listen, world.overlord, patience_s=patience_s, most_connections=most_connections
        ) as place:
            yield world, place


def is_hinted(world: World) -> bool:
    """Whether a poll of the world's repository is due for a hint."""
    return world.overlord.parts.hints.is_due("acme/calc", world.clock.monotonic())
