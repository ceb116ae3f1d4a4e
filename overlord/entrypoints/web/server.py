"""Where the page is on the wire, and how whoever runs Overlord gets there."""

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator

import structlog

from overlord.app import Overlord
from overlord.domain.repositories.forge import web_of
from overlord.entrypoints.listen.health import Health
from overlord.entrypoints.web.application import Application
from overlord.entrypoints.web.live import Live
from overlord.entrypoints.web.reader import Reader
from overlord.entrypoints.web.render import SECURITY_HEADERS, Templates
from overlord.entrypoints.web.sign_in import TOKEN
from overlord.entrypoints.web.site import Site, owner_token
from overlord.entrypoints.web.verifying import LedgerVerifier
from overlord.home import Home
from overlord.http_server import BACKLOG, ConnectionLimits, LimitedServer
from overlord.settings.chat import LOOPBACK

HEADER_S = 10.0
MOST_CONNECTIONS = 400
"""A hundred browsers, each with its stream and a few pages at once."""
ENDING_S = 0.5
OWNER = "owner"
"""What stands after the address where the owner of the home needs no token but their own."""

log = structlog.get_logger()


@contextlib.asynccontextmanager
async def page_served(running: Overlord) -> AsyncIterator[str]:
    """Serve the page while the block runs, if the settings ask for one; gives its address."""
    settings, parts = running.parts.settings, running.parts
    if not settings.page.address:
        yield ""
        return
    token = _token(parts.home, settings.page.address)
    listening = await _bound(*settings.page.place) if token else None
    if listening is None:
        yield ""
        return
    reader, sessions = Reader(parts.home.database), Reader(parts.home.database, threads=1)
    site = Site(
        running=running,
        reader=reader,
        sessions=sessions,
        live=(live := Live(running, reader)),
        verifier=LedgerVerifier(reader, parts.clock.now, live.changed.notify),
        health_of=Health(running),
        owner_token=token,
        is_local=settings.page.place[0] in LOOPBACK,
        port=listening[0].getsockname()[1],
    )
    server = _server(site, web_of(settings.forge.api_url))
    for one in listening:
        server.listen(one)
    following = asyncio.create_task(site.live.follow())
    try:
        with _told(site, settings.page.place[0]) as address:
            yield address
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        await site.verifier.close()
        await _ended(server)
        reader.close()
        sessions.close()


def _token(home: Home, place: str) -> str:
    """The owner's token; empty where it cannot be kept: a full disk keeps nobody from the rest."""
    try:
        return owner_token(home)
    except OSError as error:
        log.warning("page_missing", address=place, reason=error.strerror or str(error))
        return ""


def _server(site: Site, web: str) -> LimitedServer:
    return LimitedServer(
        Application(site, Templates(web)).starlette(),
        limits=ConnectionLimits(header_s=HEADER_S, evicts_busy=True),
        allowed=lambda: MOST_CONNECTIONS,
        headers=[(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()],
    )


@contextlib.contextmanager
def _told(site: Site, host: str) -> Iterator[str]:
    """Say where the page is, in the log and for the command that opens it; gives the address."""
    file = site.running.parts.home.page
    shown = "127.0.0.1" if host in {"", "0.0.0.0", "::"} else host  # noqa: S104 - what is compared with
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{site.port}/"
    ours = f"{address}\n{OWNER if site.is_local else ''}"
    with contextlib.suppress(OSError):
        file.write_text(ours, encoding="ascii")
    signs_in = f"?{TOKEN}={site.owner_token}" if site.is_local and sys.stderr.isatty() else ""
    log.info("page_here", page=f"{address}{signs_in}")
    try:
        yield address
    finally:
        with contextlib.suppress(OSError):
            # Another daemon's, once this one was replaced.
            if file.read_text(encoding="ascii") == ours:
                file.unlink()


async def _bound(host: str, port: int) -> list[socket.socket] | None:
    """Sockets that listen there; on another port where that one is taken. None where the address is not this machine's."""
    for number in (port, 0):
        try:
            return await _listen(host, number)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            if error.errno != errno.EADDRINUSE or number == 0:
                log.warning("page_missing", address=f"{host}:{port}", reason=why)
                return None
            log.info("page_elsewhere", reason=f"another program listens on {host}:{port}")
    return None


async def _listen(host: str, port: int) -> list[socket.socket]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    sockets: list[socket.socket] = []
    try:
        for family, _type, _protocol, _name, address in dict.fromkeys(found):
            sockets.append(socket.create_server(address, family=family, backlog=BACKLOG))
    except OSError:
        for one in sockets:
            one.close()
        raise
    return sockets


async def _ended(server: LimitedServer) -> None:
    """Streams end only when they are cut."""
    await server.stop_listening()
    for connection in server.connections:
        connection.shutdown()
    if running := server.tasks:
        await asyncio.wait(running, timeout=ENDING_S)
    for connection in server.connections:
        connection.transport.abort()
    if running := server.tasks:
        await asyncio.wait(running, timeout=ENDING_S)
