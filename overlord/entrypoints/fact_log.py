"""Tells every fact once it is stored: a log line each, and who else wants to know. It reads the ledger and holds up nobody.

It begins where the ledger ends when the daemon starts; what the one before it could not tell any more is in the ledger.
"""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import structlog

from overlord.app import Overlord
from overlord.domain.event import OVERLORD, EventName
from overlord.domain.event_description import describe_event
from overlord.entrypoints.terminal.plain_lines import SENTENCE
from overlord.errors import Fenced
from overlord.store import ledger
from overlord.store.ledger import Entry

AT_ONCE = 500
"""Facts of one reading."""
TEXT_CHARS = 200
"""As much of a text as a line holds; all of it is in the ledger."""
NAP_S = 5.0

_WARNINGS = frozenset({EventName.MODEL_FAILED})
"""Facts that somebody who looks after Overlord is to see among all others."""

Listener = Callable[[Sequence[Entry]], Awaitable[None]]

log = structlog.get_logger()


class Chronicle:
    """Where it is in the ledger. `listener` is called with the same facts, once they are logged."""

    def __init__(self, running: Overlord, after: int, listener: Listener | None = None) -> None:
        self._running = running
        self._after = after
        self._take_in = listener

    async def catch_up(self) -> None:
        """Tell what was stored since; what cannot be read now is told later."""
        with contextlib.suppress(sqlite3.DatabaseError, OSError, Fenced):
            while entries := await self._running.parts.database.read(
                lambda c: ledger.with_spaces(c, after=self._after, limit=AT_ONCE)
            ):
                for entry, space in entries:
                    _log_entry(entry, space)
                self._after = entries[-1][0].seq
                if self._take_in is not None:
                    await self._take_in([entry for entry, _ in entries])

    async def follow(self) -> None:
        """Catch up after every pass, for ever."""
        while True:
            seen = self._running.passes.count
            await self.catch_up()
            await self._running.passes.wait(seen, timeout_s=NAP_S)


@contextlib.asynccontextmanager
async def chronicled(running: Overlord, listener: Listener | None = None) -> AsyncIterator[Chronicle]:
    """Tell facts while the block runs, and at its end what is still untold."""
    chronicle = Chronicle(running, await running.parts.database.read(ledger.last_number), listener)
    following = asyncio.create_task(chronicle.follow())
    try:
        yield chronicle
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        await chronicle.catch_up()


def _log_entry(entry: Entry, space: str) -> None:
    data = json.loads(entry.data)
    sentence = describe_event(entry.name, data)
    whose = {"job_id": entry.job_id, "session_id": data.pop("session", None), "space": space or None}
    by = entry.actor if entry.actor != OVERLORD else None
    shown_fields = {
        name: _short(value) for name, value in data.items() if isinstance(value, str | int | float)
    }
    fields = {**whose, "by": by, "data": shown_fields or None}
    write = log.warning if entry.name in _WARNINGS else log.info
    write(
        entry.name,
        seq=entry.seq,
        **{SENTENCE: sentence},
        **{name: value for name, value in fields.items() if value is not None},
    )


def _short(value: str | float) -> str | float:
    return value if not isinstance(value, str) or len(value) <= TEXT_CHARS else value[:TEXT_CHARS] + "…"
