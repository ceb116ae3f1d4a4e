"""A loopback address for programs that cannot speak to a unix socket: git, and any SDK with a base URL.

It moves bytes both ways and changes none of them. A session API that is missing is waited for. What passes is counted, so that an
agent's program which waits for its model is told from one that does nothing, and a spent budget from any other end.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

_MODEL_REQUEST = (b"POST /v1/", b"POST /v1beta/")


@dataclass(slots=True)
class Traffic:
    """What has passed so far. A hint and no account: the session API's own books count."""

    passed_bytes: int = 0
    model_requests: int = 0
    model_status: int = 0
    """The HTTP status of the last answer to one; 0 before the first."""
    awaited: "set[Exchange]" = field(default_factory=set)
    """Connections with a request that nothing has come back for."""


class Exchange:
    """The requests of one connection, as the first bytes of each show them."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._is_model = False

    def sent(self, data: bytes) -> None:
        """Bytes went to the session API."""
        self._traffic.passed_bytes += len(data)
        if self not in self._traffic.awaited:
            self._is_model = data.startswith(_MODEL_REQUEST)
            self._traffic.model_requests += self._is_model
            self._traffic.awaited.add(self)

    def came_back(self, data: bytes) -> None:
        """Bytes came from the session API."""
        self._traffic.passed_bytes += len(data)
        status = data[9:12] if data.startswith(b"HTTP/1.") else b""
        if self not in self._traffic.awaited or status == b"100":
            return
        self._traffic.awaited.discard(self)
        if self._is_model and status.isdigit():
            self._traffic.model_status = int(status)

    def ended(self) -> None:
        """The connection is closed."""
        self._traffic.awaited.discard(self)


class Loopback:
    """Listens on 127.0.0.1 and joins every connection to the session API's socket until it is closed."""

    def __init__(self, session_api: Path, *, patience_s: float = 600.0) -> None:
        self._session_api = session_api
        self._patience_s = patience_s
        self.traffic = Traffic()
        self._closed = threading.Event()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        # Inherited by every connection: what comes in two pieces must not wait for an acknowledgement in between.
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="shim", daemon=True).start()

    def close(self) -> None:
        """Stop listening and cut what is still joined: nothing can talk to the session API through here any more."""
        self._closed.set()
        for end in (self._listener, *tuple(self._open)):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near,), name="shim", daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        with near, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as far:
            self._open |= {near, far}
            if self._reach(far) and not self._closed.is_set():
                exchange = Exchange(self.traffic)
                pump_back = partial(_pump, far, near, exchange.came_back)
                back = threading.Thread(target=pump_back, name="shim", daemon=True)
                back.start()
                _pump(near, far, exchange.sent)
                back.join()
                exchange.ended()
            self._open -= {near, far}

    def _reach(self, far: socket.socket) -> bool:
        until = time.monotonic() + self._patience_s
        while not self._closed.is_set():
            try:
                far.connect(str(self._session_api))
                return True
            except OSError:
                if time.monotonic() > until:
                    return False
                self._closed.wait(0.1)
        return False


def _pump(source: socket.socket, target: socket.socket, note: Callable[[bytes], None]) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            note(data)
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
