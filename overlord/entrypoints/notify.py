"""What a supervisor such as systemd is told, by its own protocol: lines of state in one datagram to the socket it names.

READY once the loop is about to run, WATCHDOG for as long as it makes passes, STOPPING at the first signal. Where nobody named
a socket nothing is told, and a supervisor that does not listen keeps no work from being done.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Mapping

from overlord.app import Pulse

LOOKS = 4
"""How often the loop is looked at in the time after which the supervisor would end the daemon."""


class Supervisor:
    """Whoever started this daemon and waits for word of it, as the environment tells; or nobody."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self.patience_s = _patience_s(environment)
        """How long it waits for a sign of life; 0 when it asks for none."""
        self._seen_at = 0.0

    def notify(self, *lines: str) -> None:
        """Tell some state, as `READY=1`."""
        if not self._address.startswith(("/", "@")):
            return
        # An address in the abstract namespace begins with a zero byte, which an environment cannot hold.
        address = self._address.replace("@", "\0", 1) if self._address[0] == "@" else self._address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as voice, contextlib.suppress(OSError):
            voice.setblocking(False)
            voice.sendto("\n".join(lines).encode(), address)

    @contextlib.asynccontextmanager
    async def watching(self, pulse: Pulse) -> AsyncIterator[None]:
        """Give signs of life while the block runs, if the supervisor asked for them."""
        side = asyncio.create_task(self._watch(pulse))
        try:
            yield
        finally:
            side.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await side

    async def _watch(self, pulse: Pulse) -> None:
        while self.patience_s:
            await asyncio.sleep(self.patience_s / LOOKS)
            self.look(pulse)

    def look(self, pulse: Pulse) -> None:
        """A sign of life, if the loop has made a pass since the last look."""
        if pulse.beat_at == self._seen_at:
            self.notify("STATUS=the loop makes no passes")
            return
        self._seen_at = pulse.beat_at
        self.notify("WATCHDOG=1", "STATUS=the loop makes passes")


def _patience_s(environment: Mapping[str, str]) -> float:
    """What WATCHDOG_USEC says, where it is meant for this process."""
    asked = environment.get("WATCHDOG_USEC", "")
    meant = environment.get("WATCHDOG_PID", "") in {"", str(os.getpid())}
    return int(asked) / 1_000_000 if meant and asked.isdecimal() else 0.0
