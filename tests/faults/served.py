"""`overlord serve` in a process of its own, by the campaign's fork server: told by signals, seen by what it leaves behind.

It may send itself signals at a named point, so that they come at that very moment; its clock is the machine's.
"""

import asyncio
import contextlib
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from multiprocessing.context import ForkServerProcess
from typing import TypeVar

from overlord.domain.job import JobState
from overlord.entrypoints.cli.main import run
from overlord.entrypoints.daemon import serve
from overlord.entrypoints.terminal.logs import configure_logs
from overlord.errors import StoreError
from overlord.failpoints import Failpoint, Moment, Watch, listen
from overlord.settings.load import load
from overlord.store import jobs
from overlord.store.database import epoch, open_reader
from tests.faults.campaign import DEADLINE_S, Campaign
from tests.faults.cut import Place
from tests.forked import FORKS

Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A point, and the signals the daemon sends itself when it is there for the first time."""

    point: Failpoint
    moment: Moment = Moment.AFTER
    signals: tuple[signal.Signals, ...] = (signal.SIGTERM,)

    def __str__(self) -> str:
        return f"{self.moment} {self.point}"


def serving(place: Place, at: At | None) -> None:
    """The whole program, from `overlord serve` on."""
    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    configure_logs(json=True)
    listen(_signalling(at) if at else None)
    settings = load({"OVERLORD_HOME": str(place.home)}, **{**place.given, "poll_s": 1})
    sys.exit(run(lambda: asyncio.run(serve(settings))))


def _signalling(at: At) -> Watch:
    left = list(at.signals)

    def watch(point: str, moment: Moment) -> None:
        if (point, moment) == (at.point, at.moment):
            while left:
                os.kill(os.getpid(), left.pop(0))

    return watch


class Daemon:
    """One such process, as whoever started it sees it."""

    def __init__(self, told: Campaign, process: ForkServerProcess, before: int) -> None:
        self._told = told
        self._process = process
        self._before = before

    def send(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def is_suspended(self) -> bool:
        """Whether it is suspended."""
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something it does. It must not end before."""
        async with asyncio.timeout(DEADLINE_S):
            while not holds():
                assert self._process.is_alive(), f"it ended: {self._process.exitcode}\n{self._told.log()}"
                await self._told.world.something_happens()

    async def until_state(self, issue: int, *states: JobState) -> None:
        """Wait until the last job of an issue is in one of these states."""
        await self.until(lambda: self.sees(lambda c: _state(c, issue) in states))

    async def until_serving(self) -> None:
        """Wait until it has taken the database over."""
        await self.until(lambda: self.sees(lambda c: epoch(c) > self._before))

    def sees(self, question: Callable[[sqlite3.Connection], bool]) -> bool:
        return bool(asked(self._told, question, False))

    async def code(self, *, within_s: float = DEADLINE_S) -> int:
        """How it ended."""
        await asyncio.to_thread(self._process.join, within_s)
        assert self._process.exitcode is not None, f"it does not end\n{self._told.log()}"
        return self._process.exitcode

    async def stopped(self) -> None:
        """Tell it to stop, and see that it does so in order."""
        self.send(signal.SIGTERM)
        assert await self.code() == 0, self._told.log()


def asked(told: Campaign, question: Callable[[sqlite3.Connection], Seen], otherwise: Seen) -> Seen:
    """Ask the database; there may be none yet."""
    with (
        contextlib.suppress(StoreError),
        contextlib.closing(open_reader(told.place.home / "overlord.db")) as connection,
    ):
        return question(connection)
    return otherwise


def _state(connection: sqlite3.Connection, issue: int) -> JobState | None:
    found = [job.state for job in jobs.all_jobs(connection) if job.issue.number == issue]
    return found[0] if found else None


@contextlib.asynccontextmanager
async def served(told: Campaign, at: At | None = None, **given: object) -> AsyncIterator[Daemon]:
    """A daemon on the campaign's world; `given` goes over its settings. Whatever happens, it is gone in the end."""
    place = replace(told.place, given={**told.place.given, **given})
    before = asked(told, epoch, 0)
    process = FORKS.Process(target=serving, args=(place, at))
    process.start()
    try:
        yield Daemon(told, process, before)
    finally:
        process.kill()
        process.join()
        process.close()
