"""Socket Mode: the connections an app keeps open, over which it is told things and says that it has them."""

import asyncio
import itertools
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

from overlord.embedded.chat.record import Json
from overlord.embedded.chat.workspace import APP
from overlord.embedded.server import CUT, Cuttable

MOST_LINKS = 10
REASONS = frozenset({"warning", "refresh_requested", "link_disabled"})
LIFETIME_S = 18_060
PATH = "/link"


class SocketProtocol(Cuttable, WSProtocol):
    """A websocket."""


class LinkLost(Exception):
    """The connection ended before the app said that it has what it was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """What the app said to an envelope."""

    payload: Json | None


class Link:
    """One connection of the app."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.is_taking = True
        """Whether envelopes are still sent on it."""
        self._awaited: dict[str, asyncio.Future[Ack]] = {}

    async def send(self, kind: str, payload: Json, *, attempt: int = 0, reason: str = "") -> Ack:
        """Send an envelope and wait for its acknowledgement; raises LinkLost when the connection ends first."""
        envelope: Json = {
            "envelope_id": _envelope_id(),
            "type": kind,
            "payload": payload,
            "accepts_response_payload": kind != "events_api",
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        acknowledged: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        self._awaited[envelope["envelope_id"]] = acknowledged
        try:
            await self.send_frame(envelope)
            return await acknowledged
        finally:
            del self._awaited[envelope["envelope_id"]]

    async def send_frame(self, message: Json) -> None:
        try:
            await self.socket.send_text(json.dumps(message))
        except (WebSocketDisconnect, RuntimeError) as error:  # it ended; starlette says so in both ways
            raise LinkLost from error

    def cut(self) -> None:
        """End the connection without a word."""
        self.is_taking = False
        self.socket.scope["extensions"][CUT].abort()

    async def receive(self) -> None:
        """Take acknowledgements until the connection ends. One that nobody waits for any more changes nothing."""
        try:
            while True:
                self._take(await self.socket.receive_text())
        except (
            WebSocketDisconnect,
            KeyError,
        ):  # KeyError: it sent bytes, which no client of Socket Mode does
            pass
        finally:
            self.is_taking = False
            for acknowledged in self._awaited.values():
                if not acknowledged.done():
                    acknowledged.set_exception(LinkLost())

    def _take(self, text: str) -> None:
        try:
            frame = json.loads(text)
        except (ValueError, RecursionError):
            return
        if not isinstance(frame, dict):
            return
        awaited = self._awaited.get(str(frame.get("envelope_id")))
        payload = frame.get("payload")
        if awaited is not None and not awaited.done():
            awaited.set_result(Ack(payload=payload if isinstance(payload, dict) else None))


class Links:
    """All connections of the app."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.open: list[Link] = []
        self._tickets: set[str] = set()
        self._turn = itertools.count()
        self._on_change = on_change

    def ticket(self) -> str:
        """What opens one connection, once."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return ticket

    def next(self) -> Link | None:
        """The connection whose turn it is."""
        taking = [link for link in self.open if link.is_taking]
        return taking[next(self._turn) % len(taking)] if taking else None

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold one connection until it ends."""
        socket = WebSocket(scope, receive, send)
        ticket = socket.query_params.get("ticket", "")
        if ticket not in self._tickets or scope["path"] != PATH:
            await socket.close(4000)
            return
        self._tickets.discard(ticket)
        await socket.accept()
        link = Link(socket)
        if len(self.open) >= MOST_LINKS:
            await link.send_frame({"type": "disconnect", "reason": "too_many_websockets", "debug_info": {}})
            await socket.close()
            return
        self.open.append(link)
        try:
            await link.send_frame(self._hello())
            self._on_change()
            await link.receive()
        except LinkLost:
            pass
        finally:
            self.open.remove(link)
            self._on_change()

    async def disconnect(self, reason: str) -> None:
        """Ask every connection to make room for a new one. After a warning they are still used; after anything else not."""
        if reason not in REASONS:
            raise ValueError(f"unknown reason {reason!r}; known: {', '.join(sorted(REASONS))}")
        for link in tuple(self.open):
            if reason != "warning":
                link.is_taking = False
            await link.send_frame(
                {"type": "disconnect", "reason": reason, "debug_info": {"host": "embedded"}}
            )
        self._on_change()

    def drop(self) -> None:
        """Cut every connection without a word."""
        for link in tuple(self.open):
            link.cut()
        self._on_change()

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.open),
            "debug_info": {"host": "embedded", "build_number": 1, "approximate_connection_time": LIFETIME_S},
            "connection_info": {"app_id": APP},
        }


def _envelope_id() -> str:
    return secrets.token_hex(16)
