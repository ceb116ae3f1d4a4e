"""A program that stands where the Minion does, and the session API it talks to: tests wait for what it says, never for time."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

PUPPET = """
import os, socket, sys, signal, json, time
door = socket.socket(socket.AF_UNIX)
door.connect(os.environ["OVERLORD_URL"].removeprefix("unix://"))
lines = door.makefile("r")
def say(text):
    door.sendall(text.encode() + b"\\n")  # unbuffered: also a signal's function may say something
def hear():
    return lines.readline().strip()
def rest():
    while True: time.sleep(1000)
"""
"""What every puppet starts with: its line to the session API."""
DEADLINE_S = 180


class Line:
    """One connection a puppet (or a child of it) made to the session API."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def hear(self) -> str:
        """The next thing it says; "" once every process that held this line is dead."""
        async with asyncio.timeout(DEADLINE_S):
            try:
                return (await self._reader.readline()).decode().rstrip("\n")
            except ConnectionResetError:
                return ""

    def say(self, text: str) -> None:
        self._writer.write(f"{text}\n".encode())

    def hang_up(self) -> None:
        self._writer.close()


class SessionApi:
    """A session API's directory with a socket in it, open to whoever may run the session."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: asyncio.Queue[Line] = asyncio.Queue()

    async def line(self) -> Line:
        """The next connection made to this session API."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.lines.get()


@contextlib.asynccontextmanager
async def open_door() -> AsyncIterator[SessionApi]:
    path = Path(tempfile.mkdtemp(prefix="door-"))
    path.chmod(0o755)
    session_api, lines = SessionApi(path), list[Line]()

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(reader, writer)
        lines.append(line)
        session_api.lines.put_nowait(line)

    server = await asyncio.start_unix_server(answer, path / "s")
    (path / "s").chmod(0o666)
    try:
        yield session_api
    finally:
        server.close()
        for line in lines:
            line.hang_up()
        await server.wait_closed()
        shutil.rmtree(path)
