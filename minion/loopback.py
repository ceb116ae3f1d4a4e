"""A loopback address for programs that cannot speak to a unix socket: git, and any SDK with a base URL.

It moves bytes both ways and understands none of them. A session API that is missing is waited for.
"""

import contextlib
import socket
import threading
import time
from pathlib import Path


class Loopback:
    """Listens on 127.0.0.1 and joins every connection to the session API's socket until it is closed."""

    def __init__(self, session_api: Path, *, patience_s: float = 600.0) -> None:
        self._session_api = session_api
        self._patience_s = patience_s
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
                back = threading.Thread(target=_pump, args=(far, near), name="shim", daemon=True)
                back.start()
                _pump(near, far)
                back.join()
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


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
