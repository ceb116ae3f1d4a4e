"""What changed, as server-sent events: each open page is told that there is something new, and fetches what it shows.

An event carries the ledger's last number and nothing else, so nothing of anybody's is in it. A page that was away for an hour, or
whose stream was cut, says which number it has seen last, and is told at once where that is not the newest.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import structlog
from starlette.responses import StreamingResponse

from overlord.app import Overlord
from overlord.entrypoints.web.reader import Reader
from overlord.errors import StoreError
from overlord.store import ledger
from overlord.wakeup import Wakeup

PING_S = 15.0
"""A proxy that cuts a silent stream waits longer than this, and nobody watches longer than this after their session has ended."""
AT_MOST_EVERY_S = 0.1
RETRY_MS = 2000
MOST_S = 3600.0
"""After so long a page connects anew: nobody holds a connection for ever."""

log = structlog.get_logger()


class Live:
    """Follows the facts, once for everybody who watches."""

    def __init__(self, running: Overlord, reader: Reader, *, ping_s: float = PING_S) -> None:
        """`ping_s`: how often a silent stream says that it is there, and looks whether somebody still may watch."""
        self._running, self._reader, self.ping_s = running, reader, ping_s
        self.changed = Wakeup()
        self.number = 0
        """The ledger's last number."""

    async def follow(self) -> None:
        """Ring `changed` for each fact, and for what a Minion is at."""
        while True:
            seen = self._running.watchers.count
            try:
                self.number = await self._reader.read(ledger.last_number)
                self.changed.notify()
            except (StoreError, sqlite3.Error) as error:
                log.warning("page_not_told", trouble=str(error))
            await asyncio.sleep(AT_MOST_EVERY_S)
            await self._running.watchers.wait(seen, timeout_s=None)

    def stream(self, last_seen: str, still_there: Callable[[], Awaitable[bool]]) -> StreamingResponse:
        """The events for one page. `last_seen` is what its browser sends as `Last-Event-ID`. `still_there`: whether its session counts,
        which is looked at with each ping, and ends the stream."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        events = self._events(last_seen, still_there)
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def _events(self, last_seen: str, still_there: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
        seen = self.changed.count
        yield f"retry: {RETRY_MS}\n\n"
        self.number = await self._reader.read(ledger.last_number)
        if last_seen and last_seen != str(self.number):
            yield self._event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MOST_S):
                looked_at = time.monotonic()
                while True:
                    left_s = max(looked_at + self.ping_s - time.monotonic(), 0.0)
                    rang = await self.changed.wait(seen, timeout_s=left_s)
                    seen = self.changed.count
                    if not rang or time.monotonic() >= looked_at + self.ping_s:
                        if not await still_there():
                            return
                        looked_at = time.monotonic()
                    yield self._event() if rang else ": still here\n\n"

    def _event(self) -> str:
        return f"id: {self.number}\nevent: changed\ndata: {self.number}\n\n"
