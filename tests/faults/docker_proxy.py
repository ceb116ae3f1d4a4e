"""A stand-in in front of a Docker engine: bytes go through, but for the one request that is told to go wrong.

It reads the requests of each connection and lets the replies pass as they are. What it does to a request of a method
and a path is one of `Kind`; `seen` lists every request that was let through or not, in order.
"""

import asyncio
import contextlib
import os
import re
import signal
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    """What happens to a request."""

    CUT = "cut"
    """The connection ends before the engine hears of it."""
    LOSE = "lose"
    """The engine does it; the connection ends in place of the reply."""
    HANG = "hang"
    """Nothing more happens, and the engine never hears of it."""
    HANG_AFTER = "hang after"
    """The engine does it; the reply never comes."""
    FAIL = "fail"
    """The engine never hears of it; the reply is its error 500."""
    KILL = "kill"
    """The engine does it; whoever asked is killed in place of the reply."""


_AFTER = {Kind.LOSE, Kind.HANG_AFTER, Kind.KILL}
_PEER = struct.Struct("3i")
_ERROR = b'{"message":"failed by hand"}'
_FAILURE = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)


@dataclass(slots=True, kw_only=True)
class Trouble:
    """Requests that go wrong: those whose method and path match, so many, after so many more."""

    pattern: re.Pattern[str]
    kind: Kind
    times: int
    after: int
    happened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the last of them went wrong."""

    def meets(self, request: str) -> bool:
        if self.times == 0 or not self.pattern.search(request):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        self.times -= 1
        if self.times == 0:
            self.happened.set()
        return True


class DockerProxy:
    """Listens at `address` and speaks to the engine's socket at `engine`."""

    def __init__(self, path: Path, engine: Path) -> None:
        self.address = f"unix://{path}"
        self.seen: list[str] = []
        self._path = path
        self._engine = engine
        self._troubles: list[Trouble] = []
        self._links: set[_Link] = set()
        self._server: asyncio.AbstractServer | None = None

    def will(self, kind: Kind, request: str, *, times: int = 1, after: int = 0) -> Trouble:
        """Let requests go wrong: those that a pattern finds in `POST /containers/create?name=…`."""
        trouble = Trouble(pattern=re.compile(request), kind=kind, times=times, after=after)
        self._troubles.append(trouble)
        return trouble

    async def open(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self._path)

    async def close(self) -> None:
        """The socket is gone, and every connection with it."""
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)
        self._server = None
        for link in list(self._links):
            link.end()

    def trouble_for(self, request: str) -> Kind | None:
        trouble = next((item for item in self._troubles if item.meets(request)), None)
        self.seen.append(request if trouble is None else f"{request} ({trouble.kind})")
        return None if trouble is None else trouble.kind

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(self, writer)
        self._links.add(link)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await link.run(reader, self._engine)
        finally:
            link.end()
            self._links.discard(link)


class _Link:
    """One connection of a client's."""

    def __init__(self, proxy: DockerProxy, client: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = client
        self._kind: Kind | None = None
        self._engine: asyncio.StreamWriter | None = None
        self._replies: asyncio.Task[None] | None = None

    async def run(self, client: asyncio.StreamReader, engine: Path) -> None:
        replies, self._engine = await asyncio.open_unix_connection(engine)
        self._replies = asyncio.create_task(self._pass_back(replies))
        while True:
            head = await client.readuntil(b"\r\n\r\n")
            method, path, _ = head.split(b" ", 2)
            self._kind = self._proxy.trouble_for(_without_version(f"{method.decode()} {path.decode()}"))
            if self._kind is Kind.CUT:
                return
            is_passed = self._kind in _AFTER or self._kind is None
            async for piece in _request(head, client):
                if is_passed:
                    self._engine.write(piece)
                    await self._engine.drain()
            if self._kind is Kind.FAIL:
                self._client.write(_FAILURE % (len(_ERROR), _ERROR))

    async def _pass_back(self, replies: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await replies.read(65536):
                if self._kind is Kind.KILL:
                    _kill_peer(self._client)
                if self._kind in {Kind.LOSE, Kind.KILL}:
                    break
                if self._kind is not Kind.HANG_AFTER:
                    self._client.write(data)
                    await self._client.drain()
        self._client.close()

    def end(self) -> None:
        for writer in (self._client, self._engine):
            if writer is not None:
                writer.close()
        if self._replies is not None:
            self._replies.cancel()


def _kill_peer(client: asyncio.StreamWriter) -> None:
    """End the process at the other end of a connection."""
    told = client.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    with contextlib.suppress(ProcessLookupError):
        os.kill(_PEER.unpack(told)[0], signal.SIGKILL)


async def _request(head: bytes, client: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """A request as it came: its head, and its body by length or in chunks."""
    yield head
    told = head.lower()
    if found := re.search(rb"\r\ncontent-length: *(\d+)", told):
        yield await client.readexactly(int(found[1]))
    while b"\r\ntransfer-encoding: chunked" in told:
        line = await client.readuntil(b"\r\n")
        yield line + await client.readexactly(int(line, 16) + 2)
        if int(line, 16) == 0:
            return


def _without_version(request: str) -> str:
    return re.sub(r" /v[\d.]+/", " /", request, count=1)
