"""`GET /healthz` and `GET /readyz`: whether the loop makes passes, and whether it could do its work now.

Anybody may ask, so an answer names no path and no version, and repositories to those alone who may read `/metrics`. However often
it is asked, the external services are not.
"""

import asyncio
import sqlite3
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from overlord.app import Overlord
from overlord.engine.runtime.poll_outcome import Reachability
from overlord.entrypoints.listen.metrics import refusal
from overlord.errors import ExternalServiceError, StoreError

STALLED_S = 60.0
"""The loop makes a pass every five seconds at least; one without any for so long is stuck."""
KNOWN_FOR_S = 2.0
"""How long what was found out is told again without another look."""
ANSWER_S = 2.0
"""Who has said nothing for so long does not answer."""


class Health:
    """How an Overlord is, for those who only watch it."""

    def __init__(self, running: Overlord, token: str = "", *, listened: str = "") -> None:
        """`token`: what names are told for, as at `/metrics`; `listened`: the host of the settings' address."""
        self._running = running
        self._token, self._listened = token.encode(), listened
        self._looking = asyncio.Lock()
        self._known: tuple[float, list[str]] | None = None
        self._began_at = self._now()

    async def healthz(self, _request: Request) -> Response:
        """200 while the loop makes passes."""
        if self.is_stalled():
            return JSONResponse({"status": "stalled"}, 503)
        return JSONResponse({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """200 when a job that came now could go on, with what is to be said of settings and repositories; else 503 with what
        keeps it from that."""
        reasons = await self.reasons()
        if reasons:
            return JSONResponse({"status": "not ready", "reasons": reasons}, 503)
        notes = [*self._of_settings(), *self._of_repositories(request)]
        return JSONResponse({"status": "ready", **({"notes": notes} if notes else {})})

    def _of_settings(self) -> Iterator[str]:
        note = self._running.renewal.note
        if note and note.trouble:
            yield "the settings do not load; the last good ones are kept"
        if note and note.restart:
            yield "settings wait for a restart"

    def _of_repositories(self, request: Request) -> Iterator[str]:
        """Those that give trouble: by name for who may know which there are, else how many."""
        parts = self._running.parts
        names = parts.settings.repositories
        found = {name: parts.poll_outcomes.of(name) for name in names}
        bad = {name: reached for name, reached in found.items() if reached is not Reachability.FULL}
        if bad and refusal(request, self._token, listened=self._listened) is not None:
            yield f"{len(bad)} of {len(names)} repositories cannot be reached or read; see `overlord status`"
        else:
            yield from (f"{name}: {reached}; see `overlord status`" for name, reached in bad.items())

    def is_stalled(self) -> bool:
        """Whether the loop is stuck."""
        return self._now() - max(self._running.pulse.beat_at, self._began_at) >= STALLED_S

    def _now(self) -> float:
        return self._running.parts.clock.monotonic()

    async def reasons(self) -> list[str]:
        """What keeps a job that came now from going on."""
        async with self._looking:
            if self._known is None or self._now() - self._known[0] >= KNOWN_FOR_S:
                found = [await self._database(), await self._runner(), self._disk()]
                self._known = self._now(), [reason for reason in found if reason]
        now = [self._forge(), "the loop makes no passes" if self.is_stalled() else ""]
        return [*self._known[1], *(reason for reason in now if reason)]

    def _forge(self) -> str:
        parts = self._running.parts
        is_none = parts.poll_outcomes.is_none_reached(parts.settings.repositories)
        return "no repository can be reached; see `overlord status`" if is_none else ""

    async def _database(self) -> str:
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._running.parts.database.check_held()
        except (StoreError, sqlite3.DatabaseError, TimeoutError):
            return "the database is another daemon's, or cannot be used"
        return ""

    async def _runner(self) -> str:
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._running.parts.runner.sessions()
        except (ExternalServiceError, OSError):  # TimeoutError is one
            return "the runner does not answer"
        return ""

    def _disk(self) -> str:
        parts = self._running.parts
        if parts.home.shortage():
            return "the disk has no room"
        is_low = parts.settings.disk.least.missing(parts.home.room(), is_low=self._running.tick.is_low)
        return "the disk runs low: no new work is begun" if is_low else ""
