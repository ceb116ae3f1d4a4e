"""A session's real door with embedded models behind it: tests speak HTTP over its socket, as a Minion does."""

import asyncio
import contextlib
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from minion.protocol import COMPLETIONS_PATH, SessionKind
from overlord.adapters.git.mirrors import GitMirrors
from overlord.adapters.mcp import HttpMcp
from overlord.adapters.model import OpenAIModel
from overlord.domain.session import Session
from overlord.embedded.model import EmbeddedModel
from overlord.home import Home
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.server import SessionApiServer
from overlord.settings.current import CurrentSettings
from overlord.settings.load import Settings, load
from overlord.store.database import Database
from overlord.wakeup import Wakeup
from tests.records import REPO
from tests.session_api.wire_endpoints import WireEndpoint
from tests.stored import claim, opened, prepare
from tests.turning import WorldClock

CANARY = "sk-canary-0123456789abcdef"
DEADLINE_S = 180.0
Endpoint = EmbeddedModel | WireEndpoint


@dataclass
class Gate:
    """One open door, what is behind it, and what was waited for."""

    keeper: SessionApiServer
    database: Database
    session: Session
    home: Home
    clock: WorldClock
    pauses: list[float] = field(default_factory=list)

    async def client(self, session: str | None = None) -> httpx.AsyncClient:
        socket = str(self.home.socket(session or self.session.id))
        return httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(uds=socket), base_url="http://door", timeout=DEADLINE_S
        )

    async def ask(self, session: str | None = None, /, **fields: Any) -> httpx.Response:
        """One chat completion, sent and read to its end."""
        async with await self.client(session) as client:
            return await client.post(COMPLETIONS_PATH, content=request(**fields))

    async def another_session(self, number: int = 8, space: str = REPO, **given: Any) -> Session:
        """A session API for a further session, of another job."""

        def made(connection: sqlite3.Connection) -> Session:
            return prepare(connection, claim(connection, number, space), **given)

        session = await self.database.write("by hand", made)
        await self.keeper.reconcile()
        return session

    async def rows(self, query: str = "SELECT * FROM exchanges ORDER BY id") -> list[dict[str, Any]]:
        return await self.database.read(lambda c: [dict(row) for row in c.execute(query)])

    async def settled(self) -> list[dict[str, Any]]:
        """Every exchange, once none is under way."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                found = await self.rows()
                if found and all(row["settled"] for row in found):
                    return found
                await asyncio.sleep(0)

    async def events(self, name: str) -> list[dict[str, Any]]:
        found = await self.rows(f"SELECT data FROM ledger WHERE name = '{name}' ORDER BY seq")
        return [json.loads(row["data"]) for row in found]

    def transcript(self, session: str | None = None) -> list[dict[str, Any]]:
        path = self.home.transcript(session or self.session.id)
        return [json.loads(line) for line in path.read_text().splitlines()]


def request(**fields: Any) -> bytes:
    """A chat completion's body; None leaves a field out."""
    body = {"model": "default", "messages": [{"role": "user", "content": "Hello"}], **fields}
    return json.dumps({key: value for key, value in body.items() if value is not None}).encode()


@contextlib.asynccontextmanager
async def open_gate(
    model: Endpoint, /, *spares: Endpoint, kind: SessionKind = SessionKind.WORK, **overrides: Any
) -> AsyncIterator[Gate]:
    """A session API in front of `model`; `spares` are the endpoints `spare0`, `spare1`…, tried after it."""
    async with contextlib.AsyncExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-", dir="/tmp")))
        url = await stack.enter_async_context(model.serve())
        addresses = [await stack.enter_async_context(spare.serve()) for spare in spares]
        settings = _settings(root, model, url, dict(zip(spares, addresses, strict=True)), overrides)
        adapters = {
            name: OpenAIModel(
                endpoint.base_url, endpoint.api_key.get_secret_value(), read_timeout_s=endpoint.timeout_s
            )
            for name, endpoint in {"primary": settings.model, **settings.endpoints}.items()
        }
        for adapter in adapters.values():
            stack.push_async_callback(adapter.close)
        home, clock, pauses = Home(root), WorldClock(), list[float]()
        database = await stack.enter_async_context(opened(home.database))

        async def pause(seconds: float) -> None:
            pauses.append(seconds)

        keeper = SessionApiServer(
            SessionApiParts(
                current=CurrentSettings(settings),
                home=home,
                database=database,
                model=adapters["primary"],
                git=GitMirrors(home),
                mcp=HttpMcp(),
                spare_models=adapters,
                clock=clock,
                wakeup=Wakeup(),
                pause=pause,
            )
        )
        budget = 0 if kind is SessionKind.CHECK else settings.budget.session_tokens
        usd = settings.budget.session_usd
        session = await database.write(
            "by hand",
            lambda c: prepare(
                c, kind=kind, token_budget=budget, nusd_budget=round(usd * 1e9) if usd else None
            ),
        )
        await keeper.reconcile()
        stack.push_async_callback(keeper.close)
        yield Gate(keeper, database, session, home, clock, pauses)


def _settings(
    root: Path,
    model: Endpoint,
    url: str,
    spares: dict[Endpoint, str],
    overrides: dict[str, Any],
) -> Settings:
    candidates = [{}, *({"endpoint": f"spare{number}"} for number in range(len(spares)))]
    endpoints = {
        f"spare{number}": {"base_url": f"{address}/v1", "name": "spare-model", "api_key": spare.key}
        for number, (spare, address) in enumerate(spares.items())
    }
    given: dict[str, Any] = {
        "model": {"base_url": f"{url}/v1", "name": "scripted", "api_key": model.key},
        "models": {"default": candidates},
        "endpoints": endpoints,
    }
    for key, value in overrides.items():
        given[key] = {**given[key], **value} if isinstance(given.get(key), dict) else value
    return load({"OVERLORD_HOME": str(root)}, **given)
