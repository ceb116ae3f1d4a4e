"""Serve an ASGI application on loopback inside a loop that is already running, for as long as a block lasts.

The signals stay the surrounding program's. A request may ask for its own connection to be cut, because a peer
that vanishes without a word is one of the things the stand-ins must be able to do.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

CUT = "overlord.cut"


class Cuttable:
    """A protocol of uvicorn's that lets the application abort the connection a request came on."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        inner = self.app

        async def application(scope: Any, receive: Any, send: Any) -> None:
            scope.setdefault("extensions", {})[CUT] = self.transport
            await inner(scope, receive, send)

        self.app: Any = application

    transport: Any


class _Protocol(Cuttable, H11Protocol):
    """HTTP/1.1."""


class _Server(uvicorn.Server):
    """uvicorn as a guest: it takes no signals, and says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


async def cut_connection(scope: Scope, receive: Receive, *, flush: bool = False) -> None:
    """Abort the connection this request came on; what was sent before reaches the client only with `flush`."""
    transport: asyncio.Transport = scope["extensions"][CUT]
    (transport.close if flush else transport.abort)()
    await until_disconnected(receive)


async def until_disconnected(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        continue


@asynccontextmanager
async def serve(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    ws: str | type[asyncio.Protocol] = "none",
    certificate: Path | None = None,
) -> AsyncIterator[str]:
    """Serve `app` while the block runs; gives its base URL. Port 0 takes any free one. `ws` speaks WebSocket, as uvicorn knows it.
    `certificate`: a PEM file with a certificate and its key, for TLS."""
    listener = socket.create_server((host, port), backlog=128)
    # Inherited by every connection. Without it a reply of two writes waits for the other side's delayed acknowledgement, 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws=ws,
        lifespan="off",
        log_config=None,
        access_log=False,
        ssl_certfile=certificate,
        # As external services do. After uvicorn's 5 s a busy machine's client meets its connection being closed: a fault nobody ordered.
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    up = asyncio.create_task(server.up.wait())
    try:
        await asyncio.wait({serving, up}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        yield f"http{'s' if certificate else ''}://{host}:{listener.getsockname()[1]}"
    finally:
        up.cancel()
        # Not as if a signal had come: a library of MCP's would take that for the end of every stream in this process.
        server.should_exit = True
        await serving
        listener.close()
