"""A Docker engine that is only its words: a test says what a container's state is, and when a reply or an event is sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

NEVER = "0001-01-01T00:00:00Z"
VERSION = {"ApiVersion": "1.41", "MinAPIVersion": "1.24"}


def running(*, finished: str = NEVER) -> dict[str, Any]:
    """The state of a container that runs. `finished`: when it ended before."""
    return {"Status": "running", "Running": True, "FinishedAt": finished, "ExitCode": 0} | _QUIET


def exited(code: int = 0) -> dict[str, Any]:
    """The state of a container that ended."""
    finished = "2026-11-25T01:53:13.356648075Z"
    return {"Status": "exited", "Running": False, "FinishedAt": finished, "ExitCode": code} | _QUIET


_QUIET = {"OOMKilled": False, "Error": ""}


class SpokenEngine:
    """Listens at a unix socket. It has one container, labelled as one session's."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.state = running()
        self.replies = asyncio.Event()
        """While it is not set, what a container was when it was asked about is not yet replied."""
        self.replies.set()
        self.asked = asyncio.Event()
        """Set once a reply about the container was made, sent or not."""
        self.followed = asyncio.Event()
        """Set once somebody follows the events."""
        self._labels = dict(labels)
        self._events: list[asyncio.StreamWriter] = []

    async def send_event(self, action: str) -> None:
        """Tell whoever follows the events."""
        event = {"Action": action, "Actor": {"Attributes": self._labels}, "timeNano": 1_764_000_000 * 10**9}
        line = json.dumps(event).encode() + b"\n"
        for writer in self._events:
            writer.write(b"%x\r\n%b\r\n" % (len(line), line))
            await writer.drain()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode().split("?")[0]
                await self._reply(path, writer)
        writer.close()

    async def _reply(self, path: str, writer: asyncio.StreamWriter) -> None:
        if path.endswith("/events"):
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            self._events.append(writer)
            self.followed.set()
            return
        body = json.dumps(await self._body(path)).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        writer.write(body)
        await writer.drain()

    async def _body(self, path: str) -> object:
        if path.endswith("/version"):
            return VERSION
        if path.endswith("/info"):
            return {"SystemTime": datetime.now(UTC).isoformat()}
        if path.endswith("/containers/json"):
            return []
        shown = {"Config": {"Labels": self._labels}, "State": self.state}
        self.asked.set()
        await self.replies.wait()
        return shown


@asynccontextmanager
async def spoken_engine(path: Path, labels: Mapping[str, str]) -> AsyncIterator[SpokenEngine]:
    engine = SpokenEngine(labels)
    async with await asyncio.start_unix_server(engine.serve, path):
        yield engine
