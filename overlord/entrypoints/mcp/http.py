"""MCP over HTTP: `/mcp` beside the page and the API, for those who come with a token.

Each token has a server and sessions of its own, with a bound of their own: nobody reaches another's session, or takes the room of
others. Whose token it is, and what it may, is found anew with each request; what is under way when a token stops to count is ended soon
after. The protocol's library is loaded when the first one asks.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from overlord.domain.access import digest_of
from overlord.entrypoints.mcp.listener_backend import ListenerBackend
from overlord.entrypoints.web.api.bearer import bearer_of, check_address, check_length
from overlord.entrypoints.web.api.problem import Problem, problem_of
from overlord.entrypoints.web.sign_in import is_ours
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.visitor import Visitor
from overlord.errors import OverlordError, StoreError

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from overlord.entrypoints.mcp.server import BackendOf, Context

PATH = "/mcp"
MOST_BYTES = 4 << 20
"""Of one message."""
BODY_S = 30.0
"""For all of one message."""
MOST_SESSIONS = 64
"""Of one token: an agent has one, or a few with those it starts."""
IDLE = timedelta(minutes=30)
"""A session that nobody has asked in for so long is forgotten; its client begins another."""
LOOK_S = 15.0
"""How often the tokens that have sessions are looked at: whether they still count."""
_VISITOR = "overlord.visitor"

log = structlog.get_logger()


def made_server(backend_of: "BackendOf") -> "Server[Any]":
    """The server of one token. Takes a second the first time, while the library is loaded."""
    from overlord.entrypoints.mcp.server import McpServer
    from overlord.entrypoints.mcp.tools import TOOLS

    return McpServer(backend_of=backend_of, tools=TOOLS, leaving_cancels=False).library_server()


@contextlib.asynccontextmanager
async def mcp_route(
    site: Site,
    *,
    look_s: float = LOOK_S,
    body_s: float = BODY_S,
    made: "Callable[[BackendOf], Server[Any]]" = made_server,
) -> AsyncIterator[Route]:
    """The address, while the block runs. `look_s`, `body_s`: see `LOOK_S` and `BODY_S`. `made` makes the server of a token."""
    endpoint = _Endpoint(site, body_s, made)
    looking = asyncio.create_task(endpoint.look(look_s))
    try:
        yield Route(PATH, endpoint)
    finally:
        looking.cancel()
        await asyncio.wait([looking])
        await endpoint.close()


class _Endpoint:
    """Who may come in, and to which sessions."""

    def __init__(self, site: Site, body_s: float, made: "Callable[[BackendOf], Server[Any]]") -> None:
        self._site, self._body_s, self._made = site, body_s, made
        self._sessions: dict[str, _Sessions] = {}
        """By the hash of a token's secret."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            visitor = await self._visitor(request)
            body = await self._body(request)
            sessions = await self._sessions_of(visitor)
            scope[_VISITOR] = visitor
            with sessions.used(lambda: self._site.now):
                await sessions.answer(scope, _replayed(body, receive), send)
        except ClientDisconnect:
            return
        except (Problem, OverlordError, sqlite3.Error) as error:
            await problem_of(error).response()(scope, receive, send)

    async def look(self, every_s: float) -> None:
        """Have those leave who are away for long, or whose token does not count any more: again and again."""
        while True:
            await asyncio.sleep(every_s)
            for name, sessions in list(self._sessions.items()):
                if sessions.is_idle(self._site.now) or not await self._counts(sessions.secret):
                    self._drop(name, sessions)
                    await sessions.close()

    async def close(self) -> None:
        """Leave every session; calls go on."""
        for sessions in list(self._sessions.values()):
            await sessions.close()

    async def _visitor(self, request: Request) -> Visitor:
        """Raises Problem."""
        check_address(self._site, request)
        if "origin" in request.headers and not is_ours(request, self._site.url):
            raise Problem(403, "not-allowed", "a page of another site asks here; that is not answered")
        if not self._site.running.parts.settings.disciplines.http:
            raise Problem(
                404, "not-found", "MCP is not served here: `disciplines.http` in overlord.yaml is false"
            )
        check_length(request, MOST_BYTES)
        return await bearer_of(self._site, request)

    async def _body(self, request: Request) -> bytes:
        """All of it, in time. Raises Problem, ClientDisconnect."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_s):
                async for piece in request.stream():
                    body += piece
                    if len(body) > MOST_BYTES:
                        raise Problem(413, "too-long", f"a request has {MOST_BYTES:,} bytes at most")
        except TimeoutError:
            said = f"a request is sent within {self._body_s:g} seconds"
            raise Problem(408, "too-slow", said, headers={"connection": "close"}) from None
        return bytes(body)

    async def _sessions_of(self, visitor: Visitor) -> "_Sessions":
        """Those of a token, open. One request that is cut off, or for which they cannot be opened, spoils them for no other."""
        name = digest_of(visitor.secret)
        if name not in self._sessions:
            server = await asyncio.to_thread(self._made, self._backend_of)
            if name not in self._sessions:
                made = self._sessions[name] = _Sessions(server, visitor.secret, self._site.now)
                made.task.add_done_callback(lambda _: self._drop(name, made))
        sessions = self._sessions[name]
        await asyncio.shield(sessions.opened)
        return sessions

    def _drop(self, name: str, sessions: "_Sessions") -> None:
        """The token's next request begins others."""
        if self._sessions.get(name) is sessions:
            del self._sessions[name]

    async def _counts(self, secret: str) -> bool:
        try:
            return await self._site.bearer(secret, is_use=False) is not None
        except (StoreError, sqlite3.Error):
            return True  # it is looked at again soon

    def _backend_of(self, context: "Context") -> ListenerBackend:
        request = cast(Request, context.request)
        return ListenerBackend(self._site, request.scope[_VISITOR])


class _Sessions:
    """The sessions of one token, kept by a task of their own."""

    def __init__(self, server: "Server[Any]", secret: str, at: datetime) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        self.secret = secret
        self._manager: StreamableHTTPSessionManager = StreamableHTTPSessionManager(
            server,
            session_idle_timeout=IDLE.total_seconds(),
            max_request_body_size=MOST_BYTES,
            max_sessions=MOST_SESSIONS,
        )
        self._uses, self._used_at = 0, at
        self._over = asyncio.Event()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._keep())
        """Done once they are over, whatever ended them."""
        self.task.add_done_callback(self._ended)

    async def _keep(self) -> None:
        async with self._manager.run():
            self.opened.set_result(None)
            await self._over.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._over.set()
        if (error := task.exception()) is None:
            return
        if self.opened.done():
            log.error("mcp_sessions_ended", trouble=str(error))
        else:
            self.opened.set_exception(error)

    @contextlib.contextmanager
    def used(self, now: Callable[[], datetime]) -> Iterator[None]:
        """While a request is answered."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self._used_at = now()

    def is_idle(self, at: datetime) -> bool:
        """Whether nobody has asked for so long that all of them are forgotten."""
        return not self._uses and at - self._used_at >= IDLE

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, until they are over. Raises Problem where nothing was answered by then."""
        is_begun, is_whole = False, False

        async def tell(message: Message) -> None:
            nonlocal is_begun, is_whole
            is_begun = True
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        over = asyncio.ensure_future(self._over.wait())
        asked = asyncio.ensure_future(self._manager.handle_request(scope, receive, tell))
        try:
            await asyncio.wait({asked, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            asked.cancel()
            await asyncio.wait({asked})
        if not asked.cancelled():
            asked.result()
        elif not is_begun:
            raise Problem(
                503,
                "unavailable",
                "this session is over: its token does not count any more, or Overlord ends",
            )
        elif not is_whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def close(self) -> None:
        """End them, and whatever is asked in them."""
        self._over.set()
        await asyncio.wait([self.task])


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The messages of a request whose body was read."""
    is_given = False

    async def take() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return take
