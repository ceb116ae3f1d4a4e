"""Where the page is on the wire, and how whoever runs Overlord gets there."""

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator

import structlog
from starlette.routing import Route

from overlord.adapters.github.oauth import OAuthClient
from overlord.app import Overlord
from overlord.domain.repositories.forge import web_of
from overlord.engine.runtime.parts import Parts
from overlord.entrypoints.listen.health import Health
from overlord.entrypoints.web.account import AccountRights
from overlord.entrypoints.web.application import Application
from overlord.entrypoints.web.github_sign_in import CALLBACK
from overlord.entrypoints.web.live import PING_S, Live
from overlord.entrypoints.web.owner import OwnerToken
from overlord.entrypoints.web.reader import Reader
from overlord.entrypoints.web.render import SECURITY_HEADERS, Templates
from overlord.entrypoints.web.sign_in import TOKEN
from overlord.entrypoints.web.site import Site
from overlord.entrypoints.web.verifying import LedgerVerifier
from overlord.home import Home
from overlord.http_server import BACKLOG, ConnectionLimits, LimitedServer
from overlord.settings.chat import LOOPBACK
from overlord.settings.load import Settings

HEADER_S = 10.0
MOST_CONNECTIONS = 400
"""A hundred browsers, each with its stream and a few pages at once."""
MOST_OF_ONE = 200
"""Connections of one address, which may be an office of many people. Whoever is on this machine itself is not counted, and behind a
proxy, which all people come from, nobody is."""
ENDING_S = 0.5
OWNER = "owner"
"""What stands after the address where the owner of the home needs no token but their own."""

log = structlog.get_logger()


Beside = Callable[[Site], contextlib.AbstractAsyncContextManager[Route]]
"""What else is served at the page's address: open while the block runs."""


@contextlib.asynccontextmanager
async def page_served(
    running: Overlord, *, ping_s: float = PING_S, beside: Beside | None = None
) -> AsyncIterator[str]:
    """Serve the page while the block runs, if the settings ask for one; gives its address. `ping_s`: see `Live`. `beside`: an address of
    its own beside those of the page."""
    settings, parts = running.parts.settings, running.parts
    if not settings.page.address:
        yield ""
        return
    token = _token(parts.home, settings.page.address)
    listening = await _bound(*settings.page.place) if token else None
    if token is None or listening is None:
        yield ""
        return
    reader, sessions = Reader(parts.home.database), Reader(parts.home.database, threads=1)
    site = Site(
        running=running,
        reader=reader,
        sessions=sessions,
        live=(live := Live(running, reader, ping_s=ping_s)),
        verifier=LedgerVerifier(reader, parts.clock.now, live.changed.notify),
        health_of=Health(running),
        owner_token=token,
        is_local=settings.page.place[0] in LOOPBACK,
        port=listening[0].getsockname()[1],
        url=settings.page.url,
        oauth=_oauth(settings),
        accounts=_accounts(parts) if settings.page.offers_github else None,
    )
    following = asyncio.create_task(site.live.follow())
    try:
        async with contextlib.AsyncExitStack() as stack:
            route = await stack.enter_async_context(beside(site)) if beside is not None else None
            server = _server(site, web_of(settings.forge.api_url), route)
            for one in listening:
                server.listen(one)
            stack.push_async_callback(_ended, server)
            with _told(site, settings.page.place[0]) as address:
                yield address
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        await site.verifier.close()
        if site.accounts is not None:
            await site.accounts.close()
        reader.close()
        sessions.close()


def _token(home: Home, place: str) -> OwnerToken | None:
    """The owner's token; None where it cannot be kept: a full disk keeps nobody from the rest."""
    try:
        return OwnerToken(home)
    except OSError as error:
        log.warning("page_missing", address=place, reason=error.strerror or str(error))
        return None


def _oauth(settings: Settings) -> OAuthClient | None:
    """What people sign in with who have an account at GitHub; None where that is not offered."""
    page = settings.page
    if not page.offers_github:
        return None
    return OAuthClient(
        client_id=page.github_client_id,
        client_secret=page.github_client_secret.get_secret_value(),
        redirect_uri=f"{page.url}{CALLBACK}",
        api_url=settings.forge.api_url,
    )


def _accounts(parts: Parts) -> AccountRights:
    return AccountRights(parts.forge, parts.database, parts.clock, lambda: parts.settings.repositories)


def _server(site: Site, web: str, beside: Route | None) -> LimitedServer:
    app = Application(site, Templates(web)).starlette()
    if beside is not None:
        app.router.routes.insert(0, beside)
    return LimitedServer(
        app,
        limits=ConnectionLimits(header_s=HEADER_S, evicts_busy=True, share=None if site.url else MOST_OF_ONE),
        allowed=lambda: MOST_CONNECTIONS,
        headers=[(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()],
    )


@contextlib.contextmanager
def _told(site: Site, host: str) -> Iterator[str]:
    """Say where the page is, in the log and for the command that opens it; gives the address."""
    file = site.running.parts.home.page
    shown = "127.0.0.1" if host in {"", "0.0.0.0", "::"} else host  # noqa: S104 - what is compared with
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{site.port}/"
    ours = f"{address if site.is_local or not site.url else f'{site.url}/'}\n{OWNER if site.is_local else ''}"
    with contextlib.suppress(OSError):
        file.write_text(ours, encoding="ascii")
    signs_in = f"?{TOKEN}={site.owner_token.now}" if site.is_local and sys.stderr.isatty() else ""
    log.info("page_here", page=f"{address}{signs_in}", **({"others": f"{site.url}/"} if site.url else {}))
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
