"""The ledger, verified from the page: every event hashed again, off the event loop and in pieces, so that pages and jobs go on beside it.

One at a time for everybody: whoever asks while it goes on is shown how far it is. At a million events it takes about half a minute.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from overlord.entrypoints.web.reader import Reader
from overlord.errors import StoreError
from overlord.store import ledger
from overlord.store.ledger import Link

EVENTS_A_PIECE = 500
"""Some milliseconds of work in a reader's thread; pages get their turn between two pieces."""
PAUSE_S = 0.003
"""As long as about half a piece: Python does one thing at a time, and the daemon's own come before this."""
PIECES_TOLD = 200
"""After so many, pages that are open are told how far it is."""
AGAIN_AFTER_S = 5.0
"""What was found so lately is what another look would find: pressing again and again does nothing."""
AWAITED_S = 1.0
"""How long whoever asked waits for the end; a small ledger is done by then, and they are shown what came of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How far a ledger was verified, and what was wrong there."""

    began_at: datetime
    through: int = 0
    """The last event that is known to be as it was written."""
    last: int = 0
    """The newest event when it began."""
    broken: str = ""
    """Where the chain breaks, in a sentence; nothing after that is verified."""
    trouble: str = ""
    """Why it could not be gone on with."""
    ended_at: datetime | None = None

    @property
    def is_whole(self) -> bool:
        return self.ended_at is not None and not self.broken and not self.trouble

    @property
    def percent(self) -> int:
        return min(99, 100 * self.through // max(self.last, 1))

    @property
    def sentence(self) -> str:
        """How it is, for people."""
        if self.broken:
            return f"The ledger is not whole: {self.broken}. It is verified through event {self.through:,}."
        if self.trouble:
            return f"The ledger could not be read to its end: {self.trouble}. It is verified through event {self.through:,}."
        if self.ended_at is None:
            return f"The ledger is being verified: {self.through:,} of {self.last:,} events so far ({self.percent} %)."
        return f"The ledger is whole: verified through event {self.through:,}."


class LedgerVerifier:
    """Verifies the ledger when it is asked to, and remembers what came of it."""

    def __init__(self, reader: Reader, now: Callable[[], datetime], tell: Callable[[], None]) -> None:
        """`tell` has open pages look again."""
        self._reader, self._now, self._tell = reader, now, tell
        self.known: Verification | None = None
        """The newest; None while nobody has asked."""
        self._task: asyncio.Task[None] | None = None

    async def ask(self) -> Verification:
        """Begin, unless it goes on or has just ended, and wait a moment for the end."""
        if self._task is None and not self._is_fresh():
            self.known = Verification(began_at=self._now())
            self._task = asyncio.create_task(self._verify())
        if self._task is not None:
            await asyncio.wait([self._task], timeout=AWAITED_S)
        assert self.known is not None, "somebody asked"
        return self.known

    async def close(self) -> None:
        """Leave off."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def _is_fresh(self) -> bool:
        ended_at = self.known.ended_at if self.known is not None else None
        return ended_at is not None and (self._now() - ended_at).total_seconds() < AGAIN_AFTER_S

    async def _verify(self) -> None:
        assert self.known is not None, "it was asked for"
        try:
            await self._follow(self.known)
        except (StoreError, sqlite3.Error) as error:
            self.known = replace(self.known, trouble=str(error))
        finally:
            self._task = None
        self.known = replace(self.known, ended_at=self._now())
        self._tell()

    async def _follow(self, begun: Verification) -> None:
        """From the first event on, piece by piece, to the one that was the newest at the begin."""
        last, link, broken, pieces = await self._reader.read(ledger.last_number), Link(), "", 0
        while link.seq < last and not broken:
            before = link
            link, broken = await self._reader.read(partial(ledger.follow, link=before, limit=EVENTS_A_PIECE))
            if link == before and not broken:
                broken = f"the events after {link.seq} are missing"
            pieces += 1
            self.known = replace(begun, through=link.seq, last=last, broken=broken)
            if pieces % PIECES_TOLD == 0:
                self._tell()
            await asyncio.sleep(PAUSE_S)
