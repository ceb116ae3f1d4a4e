"""The wakeup: how whoever wrote a fact wakes the loop that acts on it, in this process or from a command beside it.

A ring carries nothing. Whoever is woken reads the database; a ring that is missed costs a moment, never a fact.
"""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path


class Wakeup:
    """Rings are counted, so that one between looking and waiting is not missed. `beside` is rung with it."""

    def __init__(self, *, also: "Wakeup | None" = None) -> None:
        self._notified = asyncio.Event()
        self._beside = also
        self.count = 0

    def notify(self) -> None:
        """Wake everybody who waits."""
        self.count += 1
        self._notified.set()
        self._notified = asyncio.Event()
        if self._beside is not None:
            self._beside.notify()

    async def wait(self, seen: int, *, timeout_s: float | None) -> bool:
        """Wait until the count is no longer `seen`, or the time is up; whether it rang."""
        if self.count != seen:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await self._notified.wait()
        except TimeoutError:
            return False
        return True

    @contextlib.contextmanager
    def listening(self, path: Path) -> Iterator[None]:
        """Let commands of other processes ring it through a datagram socket at `path`."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
            ear.bind(str(path))
            ours = path.stat().st_ino
            ear.setblocking(False)
            loop = asyncio.get_running_loop()
            loop.add_reader(ear, self._handle, ear)
            try:
                yield
            finally:
                loop.remove_reader(ear)
                with contextlib.suppress(OSError):  # as for a session API
                    if path.stat().st_ino == ours:  # another daemon's, once this one was replaced
                        path.unlink()

    def _handle(self, ear: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while ear.recv(16):
                self.notify()


def is_heard(path: Path) -> bool:
    """Whether a daemon listens at `path` now."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as voice:
        try:
            voice.connect(str(path))
        except OSError:
            return False
    return True


def notify(path: Path) -> None:
    """Wake the daemon that listens at `path`, if one does; it looks by itself soon enough otherwise."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as voice, contextlib.suppress(OSError):
        voice.setblocking(False)
        voice.sendto(b".", str(path))
