"""External services of GitHub's client that speak byte by byte, well or badly, and the client that asks them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from overlord.adapters.github.client import GitHubClient, SignIn
from overlord.metrics import Meters

SECRET = "ghp_secret"
SIGN_IN = SignIn(token=SECRET)
BODY = b'{"is": "well"}'
Respond = Callable[[int, bytes], bytes]
"""From how many were asked before, and a request's head, to all that is said."""


@dataclass(slots=True)
class Wire:
    """A server that answers what it is told to, and then may hang up."""

    respond: Respond
    hangs_up: bool = False
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await head_of(reader):
                self.bodies.append(await reader.readexactly(_length(head)))
                self.heads.append(head)
                writer.write(self.respond(len(self.heads) - 1, head))
                await writer.drain()
                if self.hangs_up:
                    break
        finally:
            writer.close()
            await writer.wait_closed()
            self.hung_up.set()


async def head_of(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def _length(head: bytes) -> int:
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(lengths[0].partition(b":")[2]) if lengths else 0


@asynccontextmanager
async def wire(respond: Respond, *, hangs_up: bool = False) -> AsyncIterator[Wire]:
    spoken = Wire(respond, hangs_up)
    async with await asyncio.start_server(spoken.talk, "127.0.0.1", 0) as server:
        spoken.url = "http://{}:{}".format(*server.sockets[0].getsockname())
        yield spoken


@asynccontextmanager
async def client_of(
    url: str, *, timeout_s: float = 20.0, meters: Meters | None = None
) -> AsyncIterator[GitHubClient]:
    client = GitHubClient(url, timeout_s=timeout_s, meters=meters)
    try:
        yield client
    finally:
        await client.close()


def answer(body: bytes = BODY, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    said = f"content-length: {len(body) if length is None else length}"
    lines = [f"HTTP/1.1 {status}", "content-type: application/json", said, *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ask(
    client: GitHubClient, method: str = "GET", path: str = "/thing", data: object = b""
) -> Awaitable[object]:
    return client.ask(method, path, SIGN_IN, {}, data)


@dataclass(slots=True)
class Silent:
    """A server that never answers, and counts who waits for it."""

    now: int = 0
    most: int = 0
    seen: int = 0
    url: str = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await head_of(reader)
        self.now, self.seen = self.now + 1, self.seen + 1
        self.most = max(self.most, self.now)
        await reader.read()
        self.now -= 1
        writer.close()


@asynccontextmanager
async def silence() -> AsyncIterator[Silent]:
    silent = Silent()
    async with await asyncio.start_server(silent.talk, "127.0.0.1", 0) as server:
        silent.url = "http://{}:{}".format(*server.sockets[0].getsockname())
        yield silent
