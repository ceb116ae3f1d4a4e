"""An agent's output as lines, whatever comes: long lines are cut, a flood is let go, and memory stays bounded."""

import re
import time
from collections.abc import Callable, Iterator

from minion.shell import printable

LONGEST_LINE = 1024 * 1024
"""Bytes of one line that are kept; the rest of it is dropped."""
FLOOD_BYTES = 64 * 1024 * 1024
"""What may come at once,"""
FLOOD_BYTES_PER_S = 4 * 1024 * 1024
"""and what may come on and on. Beyond that only what may be an event or a sentinel line is kept."""
_KEPT = re.compile(rb"\s*\{|[ `*>]*OVERLORD_EVENT")


class Lines:
    """The lines of one stream."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.dropped_bytes = 0
        self._clock = clock
        self._partial = bytearray()
        self._left = float(FLOOD_BYTES)
        self._looked_at = clock()

    def add(self, data: bytes) -> Iterator[str]:
        """The lines that are complete with these bytes."""
        self._allow(len(data))
        first, *more = data.split(b"\n")
        self._keep(first)
        for piece in more:
            yield from self._taken()
            self._keep(piece)

    def end(self) -> Iterator[str]:
        """What is left once the stream has ended: a last line without its end."""
        yield from self._taken()

    def _allow(self, size: int) -> None:
        now = self._clock()
        self._left = min(self._left + (now - self._looked_at) * FLOOD_BYTES_PER_S, FLOOD_BYTES) - size
        self._looked_at = now
        self._left = max(self._left, -float(FLOOD_BYTES_PER_S))

    def _keep(self, piece: bytes) -> None:
        room = LONGEST_LINE - len(self._partial)
        self._partial += piece[:room]
        self.dropped_bytes += len(piece) - min(len(piece), room)

    def _taken(self) -> Iterator[str]:
        line = bytes(self._partial)
        self._partial.clear()
        if self._left < 0 and not _KEPT.match(line):
            self.dropped_bytes += len(line)
        elif text := printable(line).strip():
            yield text
