"""MCP on standard input and output: one message a line, and nothing else is ever written there.

While it is served, descriptor 0 is empty and descriptor 1 leads to standard error, so that no program of ours and no stray print meets
the protocol. The input is read in a thread of its own that holds nothing up at the end; a line that is too long is passed over, and
answered.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from overlord.entrypoints.mcp.backend import Backend
from overlord.entrypoints.mcp.server import McpServer
from overlord.entrypoints.mcp.tools import TOOLS
from overlord.entrypoints.process_environment import environment

MOST_BYTES = 4 << 20
"""Of one message, as over HTTP."""
READ_BYTES = 1 << 16
AHEAD = 16
"""Lines that are read before those before them were taken."""
ENDS = 400
"""As much of both ends of a line that is too long is looked at for the number of its request."""
Reading = MemoryObjectReceiveStream[SessionMessage | Exception]
Writing = MemoryObjectSendStream[SessionMessage]
_FIRST_ID = re.compile(
    rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*,'
)
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*\}\s*$')


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was passed over."""

    request_id: int | str | None
    """The request's, where it could be told."""


@dataclass(slots=True)
class Lines:
    """Bytes as they come, cut into lines."""

    most: int = MOST_BYTES
    _kept: bytearray = field(default_factory=bytearray)
    _is_over: bool = False

    def cut(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that are whole now. Data that is empty is the end, and what is there is the last line."""
        pieces = data.split(b"\n") if data else [b"", b""]
        for number, piece in enumerate(pieces):
            self._keep(piece)
            if number < len(pieces) - 1 and (line := self._line()) is not None:
                yield line

    def _keep(self, piece: bytes) -> None:
        self._kept += piece
        if len(self._kept) > self.most:
            self._is_over = True
        if self._is_over and len(self._kept) > 2 * ENDS:
            del self._kept[ENDS:-ENDS]

    def _line(self) -> bytes | TooLong | None:
        kept, is_over = bytes(self._kept), self._is_over
        self._kept, self._is_over = bytearray(), False
        if is_over:
            found = _FIRST_ID.search(kept[:ENDS]) or _LAST_ID.search(kept[-ENDS:])
            return TooLong(json.loads(found[1]) if found else None)
        return kept if kept.strip() else None


async def run_stdio(backend: Backend) -> None:
    """Serve the client on standard input and output until it closes them, or a signal ends us. What it waits for then is cancelled."""
    server = McpServer(backend_of=lambda _: backend, tools=TOOLS, leaving_cancels=True).library_server()
    with _claimed() as (wire_in, wire_out), _ended_by_signals() as scope, scope:
        async with _streams(wire_in, wire_out) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


def main(directory: str) -> None:
    """Serve the checkout that a directory is in, that of the working directory where none is named. Raises OverlordError."""
    asyncio.run(_serve(Path(directory or ".").absolute()))


async def _serve(directory: Path) -> None:
    from overlord.entrypoints.mcp.checkout_backend import opened

    async with opened(directory, environment()) as backend:
        await run_stdio(backend)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[anyio.CancelScope]:
    scope, loop = anyio.CancelScope(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, scope.cancel)
    try:
        yield scope
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _claimed() -> Iterator[tuple[int, int]]:
    """The descriptors of the client; those of the process lead elsewhere meanwhile."""
    wire_in, wire_out = _high(0), _high(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(empty, 0)
        os.dup2(2, 1)
        yield wire_in, wire_out
    finally:
        os.dup2(wire_in, 0)
        os.dup2(wire_out, 1)
        os.close(empty)
        os.close(wire_out)  # the other one a thread may still be reading from


def _high(descriptor: int) -> int:
    """A copy that no program of ours inherits."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


@contextlib.asynccontextmanager
async def _streams(wire_in: int, wire_out: int) -> AsyncIterator[tuple[Reading, Writing]]:
    """What the library reads from and writes to. Once the client is gone, what it waited for is ended."""
    into, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outof = anyio.create_memory_object_stream[SessionMessage](0)
    arriving = _Arriving(wire_in)

    async def take() -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with into, answering:
                async for line in arriving.lines():
                    message, refusal = _parsed(line)
                    if message is not None:
                        await into.send(SessionMessage(message))
                    if refusal is not None:
                        await answering.send(SessionMessage(refusal))

    async def give() -> None:
        async with outof:
            async for sent in outof:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await asyncio.to_thread(_write, wire_out, text.encode() + b"\n")
                except OSError:
                    group.cancel_scope.cancel()  # nobody reads it any more
                    return

    answering = writing.clone()
    async with anyio.create_task_group() as group:
        group.start_soon(take)
        group.start_soon(give)
        yield reading, writing
        group.cancel_scope.cancel()


class _Arriving:
    """Lines of a descriptor, read in a thread, a few ahead. The thread ends with the process: nobody waits for it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | TooLong | None] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD)

    async def lines(self) -> AsyncIterator[bytes | TooLong]:
        threading.Thread(target=self._read, name="mcp-input", daemon=True).start()
        while (line := await self._queue.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        lines, data = Lines(), b" "
        with contextlib.suppress(RuntimeError):  # the loop is over
            while data:
                try:
                    data = os.read(self._descriptor, READ_BYTES)
                except OSError:
                    data = b""
                for line in lines.cut(data):
                    self._room.acquire()
                    self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)


def _parsed(line: bytes | TooLong) -> tuple[types.JSONRPCMessage | None, types.JSONRPCError | None]:
    """A message, or what is answered for want of one."""
    if isinstance(line, TooLong):
        said = f"a message has at most {MOST_BYTES:,} bytes; give the path of a file instead of what is in it"
        return None, _error(line.request_id, types.INVALID_REQUEST, said)
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False), None
    except ValueError:
        return None, _error(None, types.PARSE_ERROR, "that line is no message of JSON-RPC")


def _error(request_id: int | str | None, code: int, said: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=said))


def _write(descriptor: int, data: bytes) -> None:
    """All of it. Raises OSError."""
    while data:
        data = data[os.write(descriptor, data) :]
