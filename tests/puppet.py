"""A program that stands where the Minion does, and the session API it talks to: tests wait for what it says, never for time."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from overlord.domain.launch import SessionAccess

PUPPET = """
import os, socket, sys, signal, json, time
def reach():
    if at := os.environ.get("OVERLORD_CONNECT"):
        host, _, port = at.rpartition(":")
        for _ in range(200):  # nodes hear of each other's names a moment later
            try: line = socket.create_connection((host, int(port)), 5)
            except OSError: time.sleep(0.1)
            else: line.settimeout(None); return line
    line = socket.socket(socket.AF_UNIX)
    line.connect(os.environ["OVERLORD_URL"].removeprefix("unix://"))
    return line
door = reach()
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
        self.url = ""
        """Where puppets on other machines reach it."""

    @property
    def access(self) -> SessionAccess | None:
        return SessionAccess(url=self.url, token="of-the-session", authority="-") if self.url else None

    async def line(self) -> Line:
        """The next connection made to this session API."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.lines.get()


@contextlib.asynccontextmanager
async def open_door(host: str = "", port: int = 0) -> AsyncIterator[SessionApi]:
    """A session API; with an address of this machine, also one for other machines there."""
    path = Path(tempfile.mkdtemp(prefix="door-"))
    path.chmod(0o755)
    session_api, lines = SessionApi(path), list[Line]()

    def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(reader, writer)
        lines.append(line)
        session_api.lines.put_nowait(line)

    server = await asyncio.start_unix_server(answer, path / "s")
    (path / "s").chmod(0o666)
    servers = [server]
    if host:
        servers.append(await asyncio.start_server(answer, host, port))
        port = servers[1].sockets[0].getsockname()[1]
        session_api.url = f"https://{host}:{port}"
    try:
        yield session_api
    finally:
        for each in servers:
            each.close()
        for line in lines:
            line.hang_up()
        for each in servers:
            await each.wait_closed()
        shutil.rmtree(path)
