"""The library's own client, at a server over a database of tests."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import Call, CallResult, CallState, CallStatus
from overlord.entrypoints.mcp.server import McpServer
from overlord.entrypoints.mcp.tools import TOOLS
from overlord.failpoints import Failpoint
from overlord.settings.load import load
from overlord.store.database import Database
from overlord.store.disciplines import calls
from overlord.wakeup import Wakeup, notify
from tests.mcp.stored_backend import ROOT, StoredBackend
from tests.records import REPO

REPOSITORY = Path(__file__).parents[2]
RED = {"project_root": ROOT, "spec": "the parser refuses an empty text"}
HANDSHAKE = "legacy"
"""How Claude Code, Codex and OpenCode begin."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """A database, a backend over it, and whoever ends calls in the engine's place."""

    home: Path
    database: Database
    backend: StoredBackend
    told: list[tuple[float, str]] = field(default_factory=list)
    """The progress that clients were told."""
    heard: Wakeup = field(default_factory=Wakeup)

    @contextlib.asynccontextmanager
    async def client(self, mode: str = HANDSHAKE) -> AsyncIterator[Client]:
        """A client of a server in this process."""
        server = McpServer(backend_of=lambda _: self.backend, tools=TOOLS, leaving_cancels=True)
        async with Client(server.library_server(), mode=mode, read_timeout_seconds=30) as made:
            yield made

    @contextlib.asynccontextmanager
    async def program(self, right: AccessRight = AccessRight.ADMIN) -> AsyncIterator[Client]:
        """A client of a program that serves standard input and output."""
        async with Client(self.parameters(right), mode=HANDSHAKE, read_timeout_seconds=30) as made:
            yield made

    def parameters(self, right: AccessRight = AccessRight.ADMIN) -> StdioServerParameters:
        arguments = ["-m", "tests.mcp.stored_backend", str(self.home), right]
        return StdioServerParameters(command=sys.executable, args=arguments, cwd=REPOSITORY)

    async def hear(self, progress: float, total: float | None, message: str | None) -> None:
        assert total is None, "nobody knows how long it takes"
        self.told.append((progress, message or ""))
        self.heard.notify()

    async def hears(self, count: int) -> None:
        """Once clients were told of so much progress."""
        while len(self.told) < count:
            seen = self.heard.count
            if len(self.told) < count:
                await self.heard.wait(seen, timeout_s=30)

    async def requested(self, count: int = 1) -> Call:
        """The last call, once there are so many."""
        while True:
            found = await self.database.read(calls.latest)
            if len(found) >= count:
                return found[0]
            await self._turn()

    async def has_state(self, number: int, state: CallState) -> Call:
        """A call, once it is in that state."""
        while (call := await self.database.read(lambda c: calls.get(c, number))).state is not state:
            await self._turn()
        return call

    async def stage(self, call: Call, words: str) -> None:
        await self.database.write(Failpoint.CALL_STARTED, lambda c: calls.stage(c, call.id, words))
        self._wake()

    async def end(self, call: Call, *, patch: str = "", **given: Any) -> Call:
        """In the engine's place."""
        result = CallResult(
            **{
                "status": CallStatus.PASS,
                "phase": call.kind.phase,
                "skill": call.kind.skill,
                "verified": True,
                "why": "The test fails for an assertion.",
                "message": "A test of the empty text.",
                "file_path": "tests/test_parser.py",
                "evidence": "e" * 64,
                **given,
            }
        )
        at = datetime.now(UTC)
        ended = await self.database.write(
            Failpoint.CALL_ENDED, lambda c: calls.end(c, call, result, patch=patch, at=at)
        )
        self._wake()
        return ended

    def _wake(self) -> None:
        self.backend.wakeup.notify()
        notify(self.home / "wakeup")

    async def _turn(self) -> None:
        """Let the program and this process go on."""
        await asyncio.to_thread(lambda: None)


@contextlib.asynccontextmanager
async def staged(home: Path, **settings: Any) -> AsyncIterator[Stage]:
    """One, with its database."""
    home.chmod(0o700)
    database = await Database.open(home / "overlord.db", exclusive=False)
    try:
        backend = StoredBackend(database, load({"OVERLORD_HOME": str(home)}, repositories=[REPO], **settings))
        yield Stage(home=home, database=database, backend=backend)
    finally:
        await database.close()


def data_of(result: types.CallToolResult) -> dict[str, Any]:
    """The structured answer of a tool that did what it was asked."""
    assert not result.is_error, words_of(result)
    assert result.structured_content is not None
    return dict(result.structured_content)


def words_of(result: types.CallToolResult) -> str:
    """What a model reads."""
    return "".join(part.text for part in result.content if isinstance(part, types.TextContent))
