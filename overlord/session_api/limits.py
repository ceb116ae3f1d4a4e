"""What one session may take of the daemon. A session over its limits waits, is refused or is cut off; nobody else notices.

All sessions together get half of the daemon's descriptors, in equal parts; the other half is the daemon's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from overlord.process_limits import descriptor_limit

SHARE_OF_DESCRIPTORS = 0.5
DESCRIPTORS_OF_CONNECTION = 4
"""One for the connection; five more where it has a request: pipes and process of git, or a connection to a model. At most half of
a session's connections have one."""
LEAST_CONNECTIONS = 4
"""What a session gets however many there are: its Minion's calls, its heartbeat and one git."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """What one session may take at a time."""

    connections: int = 64
    requests: int = 16
    """Those that are answered at once; more wait for their turn."""
    header_s: float = 20.0
    """For a whole request header."""
    body_bytes: int = 32 * 1024 * 1024
    """Of all requests that are held in memory together: one report, or two long conversations."""

    def connections_each(self, sessions: int) -> int:
        """How many connections each of so many sessions may have."""
        together = int(descriptor_limit() * SHARE_OF_DESCRIPTORS) // DESCRIPTORS_OF_CONNECTION
        return min(self.connections, max(LEAST_CONNECTIONS, together // max(sessions, 1)))

    def requests_each(self, sessions: int) -> int:
        """How many requests of each of so many sessions are answered at once."""
        return min(self.requests, self.connections_each(sessions) // 2)


class BodyMemory:
    """How much of a session's requests is in memory. Each request has its part until it is answered."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0

    @contextmanager
    def part(self) -> Iterator["BodyPart"]:
        part = BodyPart(self)
        try:
            yield part
        finally:
            self._held_bytes -= part.held_bytes

    def take(self, count: int) -> None:
        """Raises HTTPException 503 where that is more than a session may have."""
        if self._held_bytes + count > self._most_bytes:
            raise HTTPException(
                503,
                f"the requests of this session hold {self._most_bytes} bytes: try again once one is answered",
            )
        self._held_bytes += count


class BodyPart:
    """What one request holds of its session's memory."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self.held_bytes = 0

    def take(self, count: int) -> None:
        """Raises HTTPException as `BodyMemory.take` does."""
        self._memory.take(count)
        self.held_bytes += count
