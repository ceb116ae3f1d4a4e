"""An HTTP/1.1 server for clients that nobody trusts: how many connections it holds, and how long one may be silent.

The session API, the operator's listener and the page serve with it; it imports nothing of ours. Four rules:

- A connection that has not sent a whole header after `header_s` is closed, however slowly its bytes come.
- Over the limit, the oldest connection without a request makes room. Where each has one, the new connection is refused;
  or the oldest makes room all the same, where `evicts_busy` says so.
- Over one address's share, the oldest connection of that address makes room in the same way.
- When the process has no descriptor left, accepting rests for a moment. asyncio's own accept loop logs a traceback for each
  of a hundred tries then, and each of those starts the next hundred.
"""

import asyncio
import contextlib
import ipaddress
import logging
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

log = logging.getLogger(__name__)

BACKLOG = 128
ACCEPTED_AT_ONCE = 16
"""Connections accepted in one turn of the loop, so that nobody who connects without end stops the others."""
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 21\r\n\r\ntoo many connections\n"
)
CONNECTION = "connection"
"""In a request's `state`: the protocol of its connection, which has the transport."""
_errors = logging.getLogger(f"{__name__}.requests")
_errors.setLevel(
    logging.ERROR
)  # a request that is no HTTP is its sender's business: nobody fills our log with them


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """What clients of one server may take."""

    header_s: float
    """For a whole request header, from the connection's start or from the header's first byte after another request."""
    total_s: float | None = None
    """For all of one connection; None for as long as it is used."""
    share: int | None = None
    """Connections of one address; over it, the oldest of that address makes room. None for any number, and this machine itself is
    never counted."""
    evicts_busy: bool = False
    """Whether the oldest connection makes room also where it has a request."""
    rest_s: float = 1.0
    """How long accepting rests when there is no descriptor or memory for a connection."""


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 on one connection, with a time limit for each header."""

    def __init__(self, config: uvicorn.Config, state: ServerState, server: "LimitedServer") -> None:
        super().__init__(config=config, server_state=state, app_state={CONNECTION: self})
        self.logger = _errors
        self._server = server
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_evicted = False

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def evict(self) -> None:
        """Close at once; what was sent and not yet taken is lost."""
        self._is_evicted = True
        if self.transport is not None:
            self.transport.abort()

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self._is_evicted:
            transport.abort()
            return
        limits = self._server.limits
        self._start_timer("header", limits.header_s)
        if limits.total_s is not None:
            self._start_timer("total", limits.total_s)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._stop_timer(name)
        self._unset_keepalive_if_required()
        self._server.forget(self)
        super().connection_lost(exc)

    @override
    def handle_events(self) -> None:
        super().handle_events()
        # h11 is idle until a header is whole. Not so while the body of a request that was refused still comes.
        if self.conn.their_state is h11.IDLE and not self._is_between_requests():
            self._start_timer("header", self._server.limits.header_s)
        else:
            self._stop_timer("header")

    def _is_between_requests(self) -> bool:
        """Whether the keep-alive timer, which uvicorn sets after an answer, has the connection."""
        return self.timeout_keep_alive_task is not None

    def _start_timer(self, name: str, seconds: float) -> None:
        if name not in self._timers and not self.transport.is_closing():
            self._timers[name] = self.loop.call_later(seconds, self.evict)

    def _stop_timer(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()


def host_of(address: object) -> str:
    """From where a connection comes; empty for this machine itself, and where a socket knows no addresses."""
    host = str(address[0]) if isinstance(address, tuple) and address else ""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback:
        return ""
    # Whoever has one address of IPv6 has the whole network below it.
    return str(found) if found.version == 4 else str(ipaddress.ip_network((found, 64), strict=False))


class LimitedServer:
    """Serves an application on listening sockets, to at most `allowed()` connections at a time.

    `admits` looks at a connection before anything is read from it; what it does not admit is closed. `refused` is called
    for each connection that is refused or evicted because of the limit. `host_of` says whose share an address counts for.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        limits: ConnectionLimits,
        allowed: Callable[[], int],
        admits: Callable[[socket.socket], bool] = lambda _: True,
        refused: Callable[[], None] = lambda: None,
        host_of: Callable[[object], str] = host_of,
        headers: Iterable[tuple[bytes, bytes]] = (),
    ) -> None:
        self.limits = limits
        self._config = uvicorn.Config(
            app,
            interface="asgi3",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
        )
        self._config.load()
        self._state = ServerState()
        self._state.default_headers = list(headers)
        self._allowed = allowed
        self._admits = admits
        self._refused = refused
        self._host_of = host_of
        self._members: dict[LimitedProtocol, str] = {}
        """The connections that are open, oldest first, and each one's address; empty for one on this machine."""
        self._starting: set[asyncio.Task[Any]] = set()
        self._listening: dict[socket.socket, asyncio.TimerHandle | None] = {}
        """The sockets that are listened on, with the end of their rest."""
        self._is_exhausted = False

    @property
    def connections(self) -> list[LimitedProtocol]:
        return [each for each in self._state.connections if isinstance(each, LimitedProtocol)]

    @property
    def tasks(self) -> list["asyncio.Task[None]"]:
        """The requests that are being answered."""
        return list(self._state.tasks)

    @property
    def open_count(self) -> int:
        return len(self._members)

    def listen(self, listening: socket.socket) -> None:
        """Begin to accept on a socket that listens; it is this server's from now on."""
        listening.setblocking(False)
        self._listening[listening] = None
        asyncio.get_running_loop().add_reader(listening.fileno(), self._accept, listening)

    async def stop_listening(self) -> None:
        """Accept nothing more; every connection that was accepted is in `connections` afterwards."""
        listening, self._listening = self._listening, {}
        for one, rest in listening.items():
            if rest is not None:
                rest.cancel()
            asyncio.get_running_loop().remove_reader(one.fileno())
            one.close()
        if self._starting:
            await asyncio.wait(self._starting)

    def forget(self, connection: LimitedProtocol) -> None:
        self._members.pop(connection, None)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(listening, error)
                return
            self._is_exhausted = False
            self._take(accepted, self._host_of(address))

    def _rest(self, listening: socket.socket, error: OSError) -> None:
        """Stop accepting for a moment: the socket stays ready, and the loop would do nothing else."""
        if not self._is_exhausted:
            log.warning("no connection can be accepted just now: %s", error.strerror)
        self._is_exhausted = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())
        self._listening[listening] = loop.call_later(self.limits.rest_s, self.listen, listening)

    def _take(self, accepted: socket.socket, host: str) -> None:
        accepted.setblocking(False)
        if accepted.family != socket.AF_UNIX:
            # A head and a body are two packets: without it the second waits 40 ms for an acknowledgement.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self._admits(accepted):
            accepted.close()
            return
        is_over_share = (
            bool(host) and self.limits.share is not None and self._share(host) >= self.limits.share
        )
        if is_over_share or len(self._members) >= self._allowed():
            self._refused()
            if not self._make_room(host if is_over_share else None):
                with contextlib.suppress(OSError):
                    accepted.send(REFUSAL)
                accepted.close()
                return
        connection = LimitedProtocol(self._config, self._state, self)
        self._members[connection] = host
        task = asyncio.get_running_loop().create_task(self._start(accepted, connection))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    def _share(self, host: str) -> int:
        return sum(other == host for other in self._members.values())

    def _make_room(self, host: str | None) -> bool:
        """Close the oldest connection that may be, of an address or of all; whether there was one."""
        evicts_busy = self.limits.evicts_busy
        among = (each for each, other in self._members.items() if host is None or other == host)
        oldest = next((each for each in among if evicts_busy or not each.is_busy), None)
        if oldest is None:
            return False
        self.forget(oldest)
        oldest.evict()
        return True

    async def _start(self, accepted: socket.socket, connection: LimitedProtocol) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, accepted)
        except OSError:
            self.forget(connection)
            accepted.close()
