"""Opens a listener for each prepared session and closes it when the session has ended. It reads rows, so a restart changes nothing."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from minion.protocol import (
    ANSWERS_PATH,
    BRIEF_PATH,
    COMPLETIONS_PATH,
    CONTRACT_PATH,
    DISCOVERY_PATH,
    EVENTS_PATH,
    GEMINI_PATH,
    MCP_PATH,
    MESSAGES_API_PATH,
    MESSAGES_PATH,
    MODELS_PATH,
    REPORT_PATH,
    REPOSITORY_PATH,
    RESPONSES_PATH,
    SCOPE_PATH,
    SECRETS_PATH,
    SessionKind,
)
from overlord.domain.session import CONTAINER_UID, Session
from overlord.errors import Fenced
from overlord.failpoints import Failpoint
from overlord.session_api import bootstrap, git, mcp, messages, sessions, wire
from overlord.session_api.gateway import routes
from overlord.session_api.listener import SessionApp, SessionListener
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.portfolio.routes import portfolio_routes
from overlord.store import sessions as rows

log = structlog.get_logger()

Call = Callable[[Request, SessionApiParts, Session], Awaitable[Response]]


class SessionApiServer:
    """One listener for each live session."""

    def __init__(self, parts: SessionApiParts) -> None:
        self._parts = parts
        self._session_apis: dict[str, SessionListener] = {}
        self._swept: set[str] | None = None
        """The live sessions when what others left was last removed."""
        self._app = _application(self)

    @property
    def parts(self) -> SessionApiParts:
        return self._parts

    async def reconcile(self) -> bool:
        """Bring the listeners in line with the rows. True when a session API was opened that somebody waits for."""
        live = await self._parts.database.read(rows.live)
        wanted = {session.id: session for session in live if session.sealed_at is None}
        alive = {session.id for session in live}
        for identifier in self._session_apis.keys() - wanted.keys() - alive:
            await self._session_apis.pop(identifier).close()
            self._parts.outages.forget(identifier)
            self._parts.mcp_conversations.forget(identifier)
        if alive != self._swept:
            await asyncio.to_thread(self._sweep, alive | self._session_apis.keys())
            self._swept = alive
        closed = [session for identifier, session in wanted.items() if identifier not in self._session_apis]
        return await self._open(closed)

    def _sweep(self, kept: set[str]) -> None:
        """Remove the directories of session APIs that are nobody's: of sessions that ended while no keeper had them open."""
        home = self._parts.home
        names = {home.session_api(identifier).name for identifier in kept}
        for directory in home.session_apis.glob("*/"):
            if directory.name not in names:
                shutil.rmtree(directory, ignore_errors=True)

    async def _open(self, closed: Sequence[Session]) -> bool:
        """Open session APIs, and write that down in one transaction: many sessions are prepared in one pass."""
        opened = {session.id: api for session in closed if (api := self._listening(session)) is not None}
        if not opened:
            return False
        try:
            await self._note_opened(opened)
        except OSError as error:
            log.warning("door_not_opened", session_id=", ".join(opened), error=str(error))
            return False
        self._session_apis |= opened
        return True

    def _listening(self, session: Session) -> SessionListener | None:
        """A session's session API, once it listens; one that cannot be opened now is tried again, and keeps no other closed."""
        session_api = SessionListener(
            self._parts.home.socket(session.id),
            self.app_of(session.id),
            session_id=session.id,
            limits=self._parts.limits,
            sessions=self._count,
            users=self._users(),
        )
        try:
            session_api.open()
        except OSError as error:
            log.warning("door_not_opened", job_id=session.job_id, session_id=session.id, error=str(error))
            return None
        return session_api

    async def _note_opened(self, opened: Mapping[str, SessionListener]) -> None:
        at = self._parts.clock.now()

        def write(connection: sqlite3.Connection) -> None:
            for identifier in opened:
                rows.mark(connection, identifier, door_opened_at=at)

        try:
            await self._parts.database.write(Failpoint.SESSION_API_OPENED, write)
        except BaseException:
            for session_api in opened.values():
                await session_api.stop_listening()  # nobody would know of it, nor close it
            raise

    def app_of(self, session_id: str) -> SessionApp:
        """The application behind one session's socket."""
        return SessionApp(self._app, session_id=session_id, limits=self._parts.limits, sessions=self._count())

    def _users(self) -> Container[int] | None:
        """Who sessions run as: in containers, and as processes. Under another runtime than the engine's own (gVisor), what connects is
        the kernel in between, as whichever user that runs."""
        if self._parts.settings.docker.runtime:
            return None
        return {0, os.geteuid(), CONTAINER_UID}

    def _count(self) -> int:
        """How many sessions share what all may take: those that may come have their part kept."""
        return max(len(self._session_apis), self._parts.settings.sessions.concurrent)

    async def seal(self, session: Session) -> None:
        """A check session has begun its one report: from now on its session API listens to nobody, also after a restart."""
        at = self._parts.clock.now()
        await self._parts.database.write(
            Failpoint.SESSION_SEALED, lambda c: rows.mark(c, session.id, sealed_at=at)
        )
        if session_api := self._session_apis.get(session.id):
            await session_api.stop_listening()

    async def close(self) -> None:
        """Close every listener; sessions wait for the next daemon to open them again."""
        session_apis, self._session_apis = list(self._session_apis.values()), {}
        for session_api in session_apis:
            await session_api.close(keep_directory=True)


def _model_routes(call: Callable[..., Callable[[Request], Awaitable[Response]]]) -> list[Route]:
    """What a session's model is asked at: a path for each wire, and what costs nothing."""
    acts: dict[tuple[str, str], Call] = {
        ("POST", COMPLETIONS_PATH): routes.completions,
        ("POST", MESSAGES_API_PATH): routes.messages,
        ("POST", routes.COUNT_PATH): routes.count_tokens,
        ("POST", RESPONSES_PATH): routes.responses,
        ("POST", f"{GEMINI_PATH}/{{call:path}}"): routes.gemini,
        ("GET", MODELS_PATH): routes.models,
        ("GET", f"{MODELS_PATH}/{{name:path}}"): routes.models,
        ("GET", GEMINI_PATH): routes.gemini_models,
        ("GET", f"{GEMINI_PATH}/{{call:path}}"): routes.gemini_models,
        ("HEAD", "/"): routes.present,
    }
    return [
        Route(path, call(act, SessionKind.WORK), methods=[method]) for (method, path), act in acts.items()
    ]


def _application(keeper: SessionApiServer) -> ASGIApp:
    def call(act: Call, *kinds: SessionKind) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            session = await sessions.live(keeper.parts, request.scope)
            if session.kind not in kinds:
                raise HTTPException(403, f"a {session.kind} session reads its brief and reports, and no more")
            return await act(request, keeper.parts, session)

        return endpoint

    async def report(request: Request) -> Response:
        session = await sessions.live(keeper.parts, request.scope)
        if session.kind is SessionKind.CHECK:
            await keeper.seal(session)
        return await sessions.report(request, keeper.parts, session)

    application = Starlette(
        routes=[
            Route(BRIEF_PATH, call(sessions.brief, *SessionKind), methods=["GET"]),
            Route(SCOPE_PATH, call(sessions.scope, SessionKind.WORK), methods=["GET"]),
            Route(SECRETS_PATH, call(sessions.secrets, SessionKind.SETUP), methods=["GET"]),
            Route(EVENTS_PATH, call(sessions.events, SessionKind.WORK, SessionKind.SETUP), methods=["POST"]),
            Route(ANSWERS_PATH + "/{question_id}", call(sessions.answers, SessionKind.WORK), methods=["GET"]),
            Route(MESSAGES_PATH, call(messages.messages, SessionKind.WORK), methods=["POST"]),
            Route(CONTRACT_PATH, call(bootstrap.contract, SessionKind.WORK), methods=["POST"]),
            Route(DISCOVERY_PATH, call(bootstrap.discovery, SessionKind.WORK), methods=["POST"]),
            Route(REPORT_PATH, report, methods=["POST"]),
            *(*_model_routes(call), *portfolio_routes(call)),
            Route(MCP_PATH + "/{name}", call(mcp.mcp, SessionKind.WORK), methods=["POST"]),
        ],
        exception_handlers={
            HTTPException: _http_error,
            ClientDisconnect: _disconnected,
            **dict.fromkeys((sqlite3.DatabaseError, OSError, Fenced), _unwell),
        },
    )

    async def session_api(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith(f"{REPOSITORY_PATH}/"):
            await application(scope, receive, send)
            return
        try:
            session = await sessions.live(keeper.parts, scope)
            await git.serve(scope, receive, send, keeper.parts, session)
        except HTTPException as error:
            await (await _http_error(Request(scope), error))(scope, receive, send)

    return session_api


async def _disconnected(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it


async def _unwell(request: Request, error: Exception) -> Response:
    """The disk or the database does not allow it now, or another daemon is to be asked: sessions wait that out."""
    log.warning("door_call_failed", trouble=str(error))
    return wire.error_response(503, "unwell", "try again", request.url.path)


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "internal error"
    path = request.url.path
    if detail in _UNROUTED and not path.startswith("/session/"):
        status, detail = 404, routes.unknown(request.method, path).detail
    return wire.error_response(status, f"http_{status}", detail, path)


_UNROUTED = frozenset({"Not Found", "Method Not Allowed"})
"""What Starlette says of a path that is none, and of a method that a path does not have."""
