"""What changed, as server-sent events: each open page is told that there is something new, and fetches what it shows.

An event carries the ledger's last number and nothing else, so nothing of anybody's is in it. A page that was away for an hour, or
whose stream was cut, says which number it has seen last, and is told at once where that is not the newest.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator

import structlog
from starlette.responses import StreamingResponse

from overlord.app import Overlord
from overlord.entrypoints.web.reader import Reader
from overlord.errors import StoreError
from overlord.store import ledger
from overlord.wakeup import Wakeup

PING_S = 15.0
"""A proxy that cuts a silent stream waits longer than this."""
AT_MOST_EVERY_S = 0.1
RETRY_MS = 2000
MOST_S = 3600.0
"""After so long a page connects anew: nobody holds a connection for ever."""

log = structlog.get_logger()


class Live:
    """Follows the facts, once for everybody who watches."""

    def __init__(self, running: Overlord, reader: Reader) -> None:
        self._running, self._reader = running, reader
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

    def stream(self, last_seen: str) -> StreamingResponse:
        """The events for one page. `last_seen` is what its browser sends as `Last-Event-ID`."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(self._events(last_seen), media_type="text/event-stream", headers=headers)

    async def _events(self, last_seen: str) -> AsyncIterator[str]:
        seen = self.changed.count
        yield f"retry: {RETRY_MS}\n\n"
        self.number = await self._reader.read(ledger.last_number)
        if last_seen and last_seen != str(self.number):
            yield self._event()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MOST_S):
                while True:
                    rang = await self.changed.wait(seen, timeout_s=PING_S)
                    seen = self.changed.count
                    yield self._event() if rang else ": still here\n\n"

    def _event(self) -> str:
        return f"id: {self.number}\nevent: changed\ndata: {self.number}\n\n"
