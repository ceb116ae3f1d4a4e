"""The Overlord of a checkout's own place, run in this process while calls are open there: one process at a time works in a place.

Whoever finds the place held by another process writes rows for it; when that one ends, the next who waits for a call takes over.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from overlord.app import Overlord, overlord
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Repository
from overlord.entrypoints.local import preflight
from overlord.entrypoints.local.interruption import Interruption
from overlord.entrypoints.local.local_session import PULLS_AFTER, LocalSession
from overlord.entrypoints.local.place import Place, PlaceBusy
from overlord.entrypoints.local.record import Record
from overlord.entrypoints.local.screen import RunStatus, Spoken
from overlord.entrypoints.local.work import going, moving
from overlord.entrypoints.terminal.logs import conceal
from overlord.entrypoints.terminal.watch import News
from overlord.errors import Refused, StoreError
from overlord.settings.load import Settings
from overlord.store import jobs, sessions
from overlord.store.database import Database, open_reader
from overlord.store.disciplines import calls

log = structlog.get_logger()
IDLE_S = 20.0
"""How long the place is kept when no call is open: the next one often comes soon, and `overlord run` waits for it."""
LOOK_S = 1.0
OTHERS_START_S = 10.0
"""How long another process may take to make the database of a place that it has just begun to hold."""
ENDING_S = 5.0
"""How long calls that were cancelled are given to end when the server ends."""


@dataclass(slots=True, kw_only=True)
class LocalEngine:
    """At most one Overlord in this process."""

    place: Place
    environment: Mapping[str, str]
    idle_s: float = IDLE_S
    running: Overlord | None = None
    """While it works."""
    _task: asyncio.Task[None] | None = None
    _ends: asyncio.Event = field(default_factory=asyncio.Event)
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while this process makes the database, or brings it up to this program."""

    async def ensure(self) -> None:
        """See to it that somebody works here: this process, or the one that holds the place. Raises what `overlord run` is told where
        it cannot begin: no model, a wrong key, a run that was left under way."""
        async with self._starting:
            if self._task is not None and not self._task.done() and not self._ends.is_set():
                return
            await self._end()
            try:
                await self._start()
            except PlaceBusy:
                await self._until_made()

    async def make_database(self) -> None:
        """Have a database of this program's, where nobody has made one yet or an older program did."""
        async with self._making:
            if await asyncio.to_thread(self._is_made):
                return
            try:
                with self.place.locked():
                    await (await Database.open(self.place.home.database, exclusive=True)).close()
            except PlaceBusy:
                await self._until_made()

    def _is_made(self) -> bool:
        """Whether the database can be read."""
        try:
            open_reader(self.place.home.database).close()
        except StoreError:
            return False
        return True

    async def close(self) -> None:
        """End. Calls that were cancelled end first; sessions of the others are left to be found again."""
        running = self.running
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ENDING_S):
                while running is not None and self.running is running and await self._is_cancelling(running):
                    seen = running.watchers.count
                    await running.watchers.wait(seen, timeout_s=LOOK_S)
        await self._end()

    async def _is_cancelling(self, running: Overlord) -> bool:
        """Whether a session still runs whose call was cancelled."""

        def look(connection: sqlite3.Connection) -> bool:
            live = sessions.live(connection)
            return any(not jobs.get(connection, session.job_id).is_open for session in live)

        return await running.parts.database.read(look)

    async def _end(self) -> None:
        self._ends.set()
        if self._task is not None:
            if self.running is not None:
                self.running.watchers.notify()
            await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    async def _start(self) -> None:
        self._ends = asyncio.Event()
        begun = asyncio.Event()
        self._task = asyncio.create_task(self._work(begun))
        self._task.add_done_callback(partial(_note_end, begun))
        waiting = asyncio.create_task(begun.wait())
        try:
            await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not begun.is_set():
            await self._task  # which raises why it could not begin

    async def _work(self, begun: asyncio.Event) -> None:
        try:
            async with self._session() as session, session.forge.serve() as url:
                settings = await self._settings(session, url)
                conceal(settings.secrets())
                async with overlord(settings, falls_back=True) as running, going(running):
                    self.running = running
                    begun.set()
                    await self._until_idle(running)
        finally:
            self.running = None

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[LocalSession]:
        """A hold on the place, as `overlord run` has, that asks nobody and prints nothing. Raises PlaceBusy, Refused, StoreError."""
        with contextlib.ExitStack() as stack:
            async with self._making:
                stack.enter_context(self.place.locked())
                await (await Database.open(self.place.home.database, exclusive=True)).close()
            forge = EmbeddedForge(self.place.forge)
            forge.pulls_after = PULLS_AFTER
            try:
                if forge.records.get(Repository, self.place.repository) is None:
                    await forge.create_repository(self.place.repository)
                session = LocalSession(
                    place=self.place,
                    forge=forge,
                    screen=_Silent(),
                    environment=self.environment,
                    interruption=Interruption(_stay),
                    json=True,
                )
                if runs := session.read(lambda c: moving(c, self.place.repository)):
                    raise Refused(
                        f"run {runs[0].issue.number} of this checkout was left under way: `overlord resume` goes on with it,"
                        f" `overlord job stop {runs[0].id}` ends it; then call again"
                    )
                yield session
            finally:
                forge.close()

    async def _settings(self, session: LocalSession, url: str) -> Settings:
        """With the model that there is, once it answers. Raises SettingsError, ModelUnavailable."""
        draft = Record(number=0, title="", base="", forge_base="", base_branch="", onto="")
        settings, choice = await session.settings(draft, url)
        if not choice.notice:
            await preflight.check_models(session, settings)
        return settings

    async def _until_idle(self, running: Overlord) -> None:
        """Return when no call has been open for a while, or the server ends."""
        idle_since: float | None = None
        while not self._ends.is_set():
            seen = running.watchers.count
            if await running.parts.database.read(calls.open_calls):
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since >= self.idle_s:
                self._ends.set()
                return
            await running.watchers.wait(seen, timeout_s=min(LOOK_S, self.idle_s))

    async def _until_made(self) -> None:
        """Wait for the database that another process makes now, or brings up to this program."""
        until = time.monotonic() + OTHERS_START_S
        while not await asyncio.to_thread(self._is_made) and time.monotonic() < until:  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(0.05)


class _Silent:
    """Standard output is the protocol's: what a run would show is in the log."""

    def show_news(self, news: News) -> None:
        """Whoever waits for a call is told."""

    def show(self, status: RunStatus) -> None:
        """There is no status line."""

    def show_spoken(self, spoken: Spoken) -> None:
        """Nobody watches."""

    def write(self, text: str) -> None:
        """Say it in the log."""
        log.info("local_engine", said=text)

    def end(self, result: dict[str, Any]) -> None:
        """A call's result is in its row."""

    def live(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def hidden(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def _stay() -> None:
    """Signals are the server's."""


def _note_end(begun: asyncio.Event, task: asyncio.Task[None]) -> None:
    """An engine that ended by a fault once it had begun is told of in the log; why one could not begin, its caller hears."""
    error = None if task.cancelled() else task.exception()
    if error is not None and begun.is_set():
        log.error("local_engine_ended", exc_info=error)
