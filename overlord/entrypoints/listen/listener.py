"""Where the operator's listener is on the wire. Strangers reach it, so a connection has one request and little time.

Whatever is slow (the head, the body, taking the answer) is cut with the same clock, and where too many connections are open
the oldest makes room: nobody can keep others out by holding on.
"""

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import AsyncIterator

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from overlord.app import Overlord
from overlord.entrypoints.listen.health import Health
from overlord.entrypoints.listen.metrics import Metrics
from overlord.entrypoints.listen.webhook import Webhook
from overlord.errors import SettingsError
from overlord.http_server import BACKLOG, ConnectionLimits, LimitedServer
from overlord.settings.model import Listen

PATIENCE_S = 10.0
"""For all of one connection; GitHub gives up on an answer after as long."""
MOST_CONNECTIONS = 32
"""With the longest body each, that is 32 MiB."""
PARTING_S = 0.5
ENDING_S = 3.0

log = structlog.get_logger()


class _Listener:
    """A server on one address."""

    def __init__(self, app: ASGIApp, patience_s: float, most: int) -> None:
        self._server = LimitedServer(
            app,
            limits=ConnectionLimits(header_s=patience_s, total_s=patience_s, evicts_busy=True),
            allowed=lambda: most,
            headers=[(b"connection", b"close"), (b"cache-control", b"no-store")],
        )

    async def open(self, host: str, port: int) -> str:
        """Begin to listen; where, as host:port. Raises OSError."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        places: list[tuple[str, int]] = []
        try:
            for family, _type, _protocol, _name, address in dict.fromkeys(found):
                listening = socket.create_server(address, family=family, backlog=BACKLOG)
                places.append(listening.getsockname()[:2])
                self._server.listen(listening)
        except OSError:
            await self._server.stop_listening()
            raise
        name, number = places[0]
        return f"[{name}]:{number}" if ":" in name else f"{name}:{number}"

    async def close(self) -> None:
        """Let what is being answered end, for a moment; who only holds a connection is not waited for."""
        await self._server.stop_listening()
        for connection in self._server.connections:
            connection.shutdown()
        await self._rest(PARTING_S)
        for connection in self._server.connections:
            connection.transport.abort()
        await self._rest(ENDING_S)

    async def _rest(self, timeout_s: float) -> None:
        if running := self._server.tasks:
            await asyncio.wait(running, timeout=timeout_s)


@contextlib.asynccontextmanager
async def listening(
    settings: Listen,
    running: Overlord,
    *,
    slack: ASGIApp | None = None,
    patience_s: float = PATIENCE_S,
    most_connections: int = MOST_CONNECTIONS,
) -> AsyncIterator[str]:
    """Serve the operator's listener while the block runs, if the settings ask for one; gives its host:port, else nothing.

    `slack` answers Slack's signed requests, where it calls us.

    Raises SettingsError for an address that cannot be had.
    """
    secret = settings.webhook_secret.get_secret_value()
    if not settings.address:
        if secret:
            log.warning("webhooks_unheard", reason="a webhook secret is set, and listen.address is not")
        if slack is not None:
            raise SettingsError(
                "slack: signed requests need listen.address (OVERLORD_LISTEN); or set SLACK_APP_TOKEN for Socket Mode"
            )
        yield ""
        return
    app = _application(running, settings, slack)
    listener = _Listener(app, patience_s, most_connections)
    try:
        place = await listener.open(*settings.place)
    except OSError as error:
        raise SettingsError(_unusable(settings.address, error)) from error
    log.info("listening", address=place, webhooks=bool(secret))
    try:
        yield place
    finally:
        await listener.close()


def _unusable(address: str, error: OSError) -> str:
    why = error.strerror or str(error)
    if error.errno is not None and error.errno > 0:
        why = os.strerror(error.errno)
    if error.errno == errno.EADDRINUSE:
        why = "another program listens there"
    return (
        f"listen.address: {address} cannot be listened on: {why}. Choose another in OVERLORD_LISTEN, or none"
    )


def _application(running: Overlord, settings: Listen, slack: ASGIApp | None) -> ASGIApp:
    parts = running.parts

    def notify(space: str) -> None:
        if parts.hints.give(space):
            log.info("hinted", space=space)
            running.wakeup.notify()

    token, listened = settings.metrics_token.get_secret_value(), settings.place[0]
    health, metrics = Health(running, token, listened=listened), Metrics(running, token, listened=listened)
    webhook = Webhook(settings.webhook_secret.get_secret_value(), lambda: parts.settings.repositories, notify)
    app = Starlette(
        routes=[
            Route("/healthz", health.healthz, methods=["GET"]),
            Route("/readyz", health.readyz, methods=["GET"]),
            Route("/metrics", metrics.answer, methods=["GET"]),
            Route("/webhooks/github", webhook.answer, methods=["POST"]),
            *([Route("/slack/events", slack, methods=["POST"])] if slack is not None else []),
        ],
        exception_handlers={HTTPException: _error_response, ClientDisconnect: _disconnected},
    )
    app.router.redirect_slashes = False
    return app


async def _error_response(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _disconnected(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it
