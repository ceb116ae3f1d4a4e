"""A daemon's `/mcp`, asked by the library's own client with tokens."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from overlord.domain.access import AccessRight
from overlord.domain.disciplines.call import Call, CallResult, CallStatus
from overlord.entrypoints.mcp.http import mcp_route
from overlord.entrypoints.web.server import page_served
from overlord.failpoints import Failpoint
from overlord.store import access
from overlord.store.disciplines import calls
from tests.mcp.asking import HANDSHAKE
from tests.memory.world import MemoryWorld, made_memory_world


@dataclass(slots=True, kw_only=True)
class HttpStage:
    """A world whose loop stands still, with the address of its `/mcp`."""

    world: MemoryWorld
    address: str

    async def token(self, name: str = "ci", right: AccessRight = AccessRight.ACT, **more: Any) -> str:
        """The secret of a new one."""
        at = self.world.clock.now()
        made = await self.world.overlord.parts.database.write(
            Failpoint.ACCESS_GRANTED,
            lambda c: access.create(c, name, right, actor="cli:tester", at=at, **more),
        )
        return made[1]

    async def revoke(self, name: str = "ci") -> None:
        """A token counts no more."""
        at = self.world.clock.now()
        await self.world.overlord.parts.database.write(
            Failpoint.ACCESS_REVOKED, lambda c: access.revoke(c, name, actor="cli:tester", at=at)
        )

    @contextlib.asynccontextmanager
    async def client(self, token: str, mode: str = HANDSHAKE) -> AsyncIterator[Client]:
        """One with a token."""
        async with self.http(token) as http:
            transport = streamable_http_client(f"{self.address}mcp", http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=30) as made:
                yield made

    def http(self, token: str = "") -> httpx2.AsyncClient:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx2.AsyncClient(headers=headers, timeout=30, base_url=self.address)

    async def requested(self, count: int = 1) -> Call:
        """The last call, once there are so many."""
        running = self.world.overlord
        while True:
            seen = running.watchers.count
            found = await running.parts.database.read(calls.latest)
            if len(found) >= count:
                return found[0]
            await running.watchers.wait(seen, timeout_s=30)

    async def end(self, call: Call, *, patch: bytes = b"", changed: tuple[str, ...] = ()) -> None:
        """In the engine's place."""
        parts = self.world.overlord.parts
        result = CallResult(
            status=CallStatus.PASS,
            phase=call.kind.phase,
            skill=call.kind.skill,
            verified=True,
            why="It fails.",
            changed=changed,
        )
        digest = parts.evidence.put(patch) if patch else ""
        at = datetime.now(UTC)
        await parts.database.write(
            Failpoint.CALL_ENDED, lambda c: calls.end(c, call, result, patch=digest, at=at)
        )
        parts.notify()


@contextlib.asynccontextmanager
async def made_http_stage(
    route: Mapping[str, Any] = MappingProxyType({}), **settings: Any
) -> AsyncIterator[HttpStage]:
    """One. `route`: what `mcp_route` is given."""
    async with made_memory_world(None, **{"page": {"address": "127.0.0.1:0"}, **settings}) as world:
        await world.start()
        async with page_served(world.overlord, beside=partial(mcp_route, **route)) as address:
            yield HttpStage(world=world, address=address)
