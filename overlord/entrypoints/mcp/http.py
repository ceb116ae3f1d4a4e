"""MCP over HTTP: `/mcp` beside the page and the API, for those who come with a token.

Each token has sessions of its own, with a bound of their own: nobody reaches another's session, or takes the room of others. Whose
token it is, and what it may, is found anew with each request. The protocol's library is loaded when the first one asks.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from overlord.domain.access import digest_of
from overlord.entrypoints.mcp.listener_backend import ListenerBackend
from overlord.entrypoints.web.api.bearer import bearer_of, check_address, check_length
from overlord.entrypoints.web.api.problem import Problem, problem_of
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import Visitor
from overlord.errors import OverlordError

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from overlord.entrypoints.mcp.server import Context

PATH = "/mcp"
MOST_BYTES = 4 << 20
"""Of one message."""
MOST_SESSIONS = 64
"""Of one token: an agent has one, or a few with those it starts."""
IDLE_S = 1800.0
"""A session that nobody has asked in for so long is forgotten; its client begins another."""
_VISITOR = "overlord.visitor"


@contextlib.asynccontextmanager
async def mcp_route(site: Site) -> AsyncIterator[Route]:
    """The address, while the block runs."""
    endpoint = _Endpoint(site)
    try:
        yield Route(PATH, endpoint)
    finally:
        await endpoint.close()


class _Endpoint:
    """Who may come in, and to which sessions."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._sessions: dict[str, _Sessions] = {}
        """By the hash of a token's secret."""
        self._server: asyncio.Future[Server[object]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            visitor = await self._visitor(request)
            sessions = await self._sessions_of(visitor)
        except (Problem, OverlordError, sqlite3.Error) as error:
            await problem_of(error).response()(scope, receive, send)
            return
        scope[_VISITOR] = visitor
        await sessions.manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """Leave every session; calls go on."""
        for sessions in self._sessions.values():
            await sessions.close()

    async def _visitor(self, request: Request) -> Visitor:
        """Raises Problem."""
        check_address(self._site, request)
        if not self._site.running.parts.settings.disciplines.http:
            raise Problem(
                404, "not-found", "MCP is not served here: `disciplines.http` in overlord.yaml is false"
            )
        check_length(request, MOST_BYTES)
        return await bearer_of(self._site, request)

    async def _sessions_of(self, visitor: Visitor) -> "_Sessions":
        name = digest_of(visitor.secret)
        if name not in self._sessions:
            server = await self._loaded()
            self._sessions.setdefault(name, _Sessions(server))
        sessions = self._sessions[name]
        await sessions.opened
        return sessions

    async def _loaded(self) -> "Server[object]":
        """The server of all tokens. Its library is loaded beside the loop: that takes a second."""
        if self._server is None:
            self._server = asyncio.ensure_future(asyncio.to_thread(self._load))
        return await asyncio.shield(self._server)

    def _load(self) -> "Server[object]":
        from overlord.entrypoints.mcp.server import McpServer
        from overlord.entrypoints.mcp.tools import TOOLS

        return McpServer(backend_of=self._backend_of, tools=TOOLS, leaving_cancels=False).library_server()

    def _backend_of(self, context: "Context") -> ListenerBackend:
        request = cast(Request, context.request)
        return ListenerBackend(self._site, request.scope[_VISITOR])


class _Sessions:
    """The sessions of one token, kept by a task of their own."""

    def __init__(self, server: "Server[object]") -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        self.manager: StreamableHTTPSessionManager = StreamableHTTPSessionManager(
            server, session_idle_timeout=IDLE_S, max_request_body_size=MOST_BYTES, max_sessions=MOST_SESSIONS
        )
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        async with self.manager.run():
            self.opened.set_result(None)
            await self._over.wait()

    async def close(self) -> None:
        self._over.set()
        await asyncio.wait([self._task])
