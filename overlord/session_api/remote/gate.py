"""The TLS listener for sessions on other machines. Who connects says `CONNECT <session>` with the session's token, and speaks with
that session's own listener from then on: what a session may do, and how much, is the same on every machine. Machines fetch the
ready copies that their sessions begin with here too (`GET /copies/…`), each with a token that opens this copy alone.

A token is used from one address at a time. Who copies one to another machine finds it held while its session works.
"""

import asyncio
import contextlib
import json
import sqlite3
import ssl
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import structlog
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSStream

from minion.protocol import COPIES_PATH
from overlord.errors import OverlordError, SettingsError
from overlord.session_api.remote.certificates import Certificates
from overlord.session_api.remote.copies import CopyStream
from overlord.session_api.remote.tokens import SessionTokens

log = structlog.get_logger()

GREETING_S = 10.0
"""For the handshake and the request together."""
LONGEST_REQUEST = 4096
MOST_STRANGERS = 256
"""Connections that have not shown a token yet; a further one is closed at once."""
HELD_S = 120.0
"""How long an address has a token after its last connection; a Minion comes every 60 seconds."""
MOST_REMEMBERED = 4096
CHUNK = 65536
LEAVING_S = 1.0
REST_S = 1.0
"""How long accepting rests when there is no descriptor or memory for a connection."""
READY = b"HTTP/1.1 200 Connected\r\n\r\n"
_REASONS = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    503: "Service Unavailable",
}
_CUT = (OSError, ssl.SSLError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Refusal(Exception):
    """Why somebody is not let in: an HTTP status, a code for programs, words for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    def answer(self) -> bytes:
        body = json.dumps({"error": {"code": self.code, "message": self.message}}).encode()
        head = (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        return head.encode("ascii") + body


@dataclass(slots=True)
class _Hold:
    """Who has a session's token."""

    address: str
    connections: int = 0
    left_at: float = 0.0

    def is_over(self, now: float) -> bool:
        return not self.connections and now - self.left_at >= HELD_S


class SessionGate:
    """Lets sessions in. `socket_of` is where a session's own listener is, `copy_of` where a repository's ready copy of a name is,
    `is_live` whether the session has not ended."""

    def __init__(
        self,
        *,
        bound: tuple[str | None, int],
        certificates: Certificates,
        tokens: SessionTokens,
        socket_of: Callable[[str], Path],
        copy_of: Callable[[str, str], Path],
        is_live: Callable[[str], Awaitable[bool]],
        monotonic: Callable[[], float],
    ) -> None:
        self._bound = bound
        self._certificates = certificates
        self._tokens = tokens
        self._socket_of = socket_of
        self._copy_of = copy_of
        self._is_live = is_live
        self._monotonic = monotonic
        self._holds: dict[str, _Hold] = {}
        self._told: set[tuple[str, str]] = set()
        self._strangers = 0
        self._serving: asyncio.Task[None] | None = None
        self._listeners: list[anyio.abc.SocketListener] = []

    @property
    def port(self) -> int:
        return int(self._listeners[0].extra(SocketAttribute.local_port))  # noqa: S610 - of a socket

    async def open(self) -> None:
        """Begin to listen. Raises SettingsError where that is not possible."""
        host, port = self._bound
        try:
            opened = await anyio.create_tcp_listener(local_host=host, local_port=port)
        except OSError as error:
            place = f"{host or '*'}:{port}"
            raise SettingsError(
                f"session_listener.listen: {place} cannot be listened on: {error.strerror or error}"
            ) from None
        self._listeners = list(getattr(opened, "listeners", [opened]))
        self._serving = asyncio.create_task(self._serve())

    async def close(self) -> None:
        """Listen no more, and end what is connected."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait([self._serving])
        for listener in self._listeners:
            await listener.aclose()

    async def _serve(self) -> None:
        async with anyio.create_task_group() as group:
            for listener in self._listeners:
                group.start_soon(self._accept, listener, group)

    async def _accept(self, listener: anyio.abc.SocketListener, group: anyio.abc.TaskGroup) -> None:
        while True:
            try:
                stream = await listener.accept()
            except OSError as error:
                log.warning("session_listener_rests", error=str(error))
                await asyncio.sleep(REST_S)
                continue
            group.start_soon(self._meet, stream)

    async def _meet(self, stream: SocketStream) -> None:
        try:
            await self._let_in(stream)
        except (OverlordError, OSError, sqlite3.DatabaseError):
            # A disk that is full, say: one connection's trouble ends no other, and not the listener.
            log.exception("session_listener_connection_failed")

    async def _let_in(self, stream: SocketStream) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(anyio.aclose_forcefully, stream)
            if self._strangers >= MOST_STRANGERS:
                return
            self._strangers += 1
            try:
                with anyio.fail_after(GREETING_S):
                    secured, asked, rest = await self._greet(stream)
            except (*_CUT, TimeoutError, ValueError):
                return  # whoever it was, it was none of ours
            finally:
                self._strangers -= 1
            with contextlib.suppress(*_CUT):
                if asked is not None and asked.copy:
                    await self._send_copy(secured, *asked.copy)
                elif asked is not None:
                    await self._join(secured, asked.session, rest, _address(stream))
                with anyio.move_on_after(LEAVING_S):
                    await secured.aclose()

    async def _greet(self, stream: SocketStream) -> tuple[TLSStream, "_Asked | None", bytes]:
        """The connection once it is encrypted, what it is for, and what came after its request. Nothing when it was refused."""
        self._refresh()
        secured = await TLSStream.wrap(
            stream, server_side=True, ssl_context=self._certificates.context, standard_compatible=False
        )
        received = b""
        while b"\r\n\r\n" not in received:
            if len(received) > LONGEST_REQUEST:
                raise ValueError("the request is too long")
            received += await secured.receive(LONGEST_REQUEST)
        head, _, rest = received.partition(b"\r\n\r\n")
        try:
            return secured, await self._admitted(_asked(head), _address(stream)), rest
        except Refusal as refusal:
            await secured.send(refusal.answer())
            return secured, None, b""

    def _refresh(self) -> None:
        try:
            self._certificates.refresh()
        except (SettingsError, OSError, ValueError) as error:
            # Until the operator mends it, the one that was read last serves.
            self._tell_once("session_listener_certificate_kept", error=str(error))

    async def _admitted(self, asked: "_Asked", address: str) -> "_Asked":
        """What this request opens. Raises Refusal."""
        if asked.copy:
            if not self._tokens.opens_copy(asked.token, *asked.copy):
                self._tell_once("session_listener_refused_a_token", address=address)
                raise Refusal(401, "token", "this token opens no copy")
            return asked
        session = asked.session
        if not self._tokens.opens(asked.token, session) or not await self._is_live(session):
            self._tell_once("session_listener_refused_a_token", address=address)
            raise Refusal(401, "token", "this token opens no session that goes on")
        now = self._monotonic()
        hold = self._holds.get(session)
        if hold is not None and hold.address != address and not hold.is_over(now):
            self._tell_once("session_token_from_elsewhere", session_id=session, address=address)
            raise Refusal(403, "elsewhere", "this session's token is in use at another address")
        return asked

    async def _send_copy(self, secured: TLSStream, space: str, name: str) -> None:
        try:
            stream = await asyncio.to_thread(CopyStream.of, self._copy_of(space, name))
        except OSError:
            await secured.send(Refusal(404, "gone", "this copy is not kept any more").answer())
            return
        await secured.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-tar\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n" % stream.length
        )
        async for chunk in stream.chunks():
            await secured.send(chunk)

    def _tell_once(self, event: str, **about: str) -> None:
        """Nobody fills our log by asking again."""
        key = (event, "|".join(about.values()))
        if key not in self._told and len(self._told) < MOST_REMEMBERED:
            self._told.add(key)
            log.warning(event, **about)

    async def _join(self, secured: TLSStream, session: str, rest: bytes, address: str) -> None:
        with self._held(session, address):
            try:
                reader, writer = await asyncio.open_unix_connection(self._socket_of(session), limit=CHUNK)
            except OSError:
                await secured.send(Refusal(503, "closed", "this session's API does not listen now").answer())
                return
            try:
                await secured.send(READY)
                writer.write(rest)
                await _joined(secured, reader, writer)
            finally:
                writer.transport.abort()

    @contextlib.contextmanager
    def _held(self, session: str, address: str) -> Iterator[None]:
        hold = self._holds.get(session)
        if hold is None or hold.address != address:
            self._forget()
            hold = self._holds[session] = _Hold(address)
        hold.connections += 1
        try:
            yield
        finally:
            hold.connections -= 1
            hold.left_at = self._monotonic()

    def _forget(self) -> None:
        if len(self._holds) >= MOST_REMEMBERED:
            now = self._monotonic()
            self._holds = {session: hold for session, hold in self._holds.items() if not hold.is_over(now)}


async def _joined(far: TLSStream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes both ways until either has no more."""
    async with anyio.create_task_group() as group:

        async def inwards() -> None:
            with contextlib.suppress(*_CUT):
                while True:
                    writer.write(await far.receive(CHUNK))
                    await writer.drain()
            group.cancel_scope.cancel()

        async def outwards() -> None:
            with contextlib.suppress(*_CUT):
                while data := await reader.read(CHUNK):
                    await far.send(data)
            group.cancel_scope.cancel()

        group.start_soon(inwards)
        group.start_soon(outwards)


def _address(stream: SocketStream) -> str:
    remote = stream.extra(SocketAttribute.remote_address, ("",))  # noqa: S610 - of a socket
    return str(remote[0]).removeprefix("::ffff:")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request: for a session, or for a copy by its repository and name."""

    token: str
    session: str = ""
    copy: tuple[str, str] | None = None


def _asked(head: bytes) -> _Asked:
    """What a request asks for, and its token. Raises Refusal for what is none."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, target = first.partition(" ")
    target, _, version = target.partition(" ")
    headers = {
        name.strip().casefold(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if version.startswith("HTTP/1.") and scheme.casefold() == "bearer" and target:
        if method == "CONNECT":
            return _Asked(token.strip(), session=target)
        if method == "GET" and target.startswith(COPIES_PATH):
            space, _, name = target.removeprefix(COPIES_PATH).rpartition("/")
            return _Asked(token.strip(), copy=(space, name))
    raise Refusal(400, "request", "ask with CONNECT <session> and the session's token")
