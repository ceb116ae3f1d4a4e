"""A daemon or a command in a process of its own that ends itself, by SIGKILL, where it is told: at named points or at the nth.

Run by `multiprocessing`'s fork server, which has imported everything already: such a daemon starts in milliseconds.
"""

import asyncio
import contextlib
import gc
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import override

from overlord.app import Overlord, overlord
from overlord.engine.runtime.poll_schedule import interval_s
from overlord.entrypoints.chat.talk import talking
from overlord.entrypoints.cli.main import main
from overlord.entrypoints.terminal.logs import configure_logs
from overlord.errors import RunnerRefused
from overlord.failpoints import Failpoint, Moment, Watch, listen
from overlord.settings.load import load
from overlord.store import decisions, sessions
from tests.turning import Turning, WorldClock

HOLDING = ": holding"
PREPARED: Mapping[str, str] = {Failpoint.WORK_PREPARED: "work", Failpoint.CHECK_PREPARED: "check"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a process ends: at the nth time that the point is reached on that side; without a point, at the nth of all."""

    point: str = ""
    moment: str = ""
    count: int = 1

    def __str__(self) -> str:
        return f"{self.moment} {self.point} ({self.count})" if self.point else f"at point {self.count}"


Cuts = tuple[Cut, ...]
"""Where one process may end, at the first that it comes to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a process of the campaign works on."""

    root: Path
    given: Mapping[str, Any]
    """Settings, as `overlord.settings.load` takes them."""
    refused: str = ""
    """The kind of session that the runner refuses to start."""
    environment: Mapping[str, str] = field(default_factory=dict)
    passes_s: float = 0.0
    """What passes while the daemon runs, once it has looked at everything."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def log(self) -> Path:
        return self.root / "daemon.log"

    @property
    def time(self) -> Path:
        return self.root / "time"

    @property
    def cut(self) -> Path:
        """Which of its cuts has ended a process, by number."""
        return self.root / "cut"

    @property
    def said(self) -> Path:
        """Is there once what a person does in the chat was acknowledged."""
        return self.root / "said"


class KeptClock(WorldClock):
    """A clock that goes on where the process before it was cut off."""

    def __init__(self, kept: Path) -> None:
        self._kept = kept
        super().__init__(*([datetime.fromisoformat(kept.read_text())] if kept.exists() else []))

    @override
    def move(self, seconds: float) -> None:
        super().move(seconds)
        written = self._kept.with_suffix(".new")
        written.write_text(self.now().isoformat())
        written.replace(self._kept)  # the chat reads it meanwhile


def cutting(place: Place, cuts: Cuts) -> Watch:
    """What listens to the points of this process, and ends it at whichever cut comes first."""
    reached, prepared = [0] * len(cuts), "check"
    ending = threading.Lock()  # commits are made in threads of their own: one of them ends the process

    def watch(point: str, moment: Moment) -> None:
        nonlocal prepared
        prepared = PREPARED.get(point, prepared)
        if point == Failpoint.START_SESSION and moment is Moment.BEFORE and prepared == place.refused:
            raise RunnerRefused("the campaign refuses")
        with ending:
            for number, cut in enumerate(cuts):
                reached[number] += not cut.point or (point, moment) == (cut.point, cut.moment)
                if reached[number] == cut.count:
                    place.cut.write_text(str(number))
                    os.kill(os.getpid(), signal.SIGKILL)

    return watch


def until_settled(place: Place, cuts: Cuts, deadline_s: float) -> None:
    """A daemon that works until every job waits for people or has ended, and stops as SIGTERM stops it."""
    _begin(place, cuts)
    asyncio.run(_turn(place, deadline_s, None))


def until_holding(place: Place, cuts: Cuts, deadline_s: float) -> None:
    """A daemon that works until a session says that it holds, or asks a question."""
    _begin(place, cuts)
    asyncio.run(_turn(place, deadline_s, lambda c: _holds(c) or bool(decisions.waiting(c))))


def until_said(place: Place, cuts: Cuts, deadline_s: float) -> None:
    """A daemon that works until a person was heard in the chat, and then until all is settled."""
    _begin(place, cuts)
    asyncio.run(_turn(place, deadline_s, lambda _: place.said.exists(), is_last=False))


def until_written(
    place: Place, cuts: Cuts, deadline_s: float, point: Failpoint, act: Callable[..., object], *, holds: bool
) -> None:
    """A daemon through which somebody writes at once, and that works until all is settled, or until a session `holds`. `act` takes the
    database, the settings and the time; told again, it writes nothing anew."""
    _begin(place, cuts)
    asyncio.run(_write(place, deadline_s, point, act, holds=holds))


async def _write(
    place: Place, deadline_s: float, point: Failpoint, act: Callable[..., object], *, holds: bool
) -> None:
    settings = load({"OVERLORD_HOME": str(place.home)}, **place.given)
    clock = KeptClock(place.time)
    async with overlord(settings, clock=clock) as running:
        turning = Turning(overlord=running, clock=clock, deadline_s=deadline_s)
        await turning.until(lambda: True)
        parts = running.parts
        await parts.database.write(point, lambda c: act(c, settings, clock.now()))
        following = asyncio.create_task(turning.follow())
        if holds:
            await turning.until(partial(_is_done, turning, _holds))
        else:
            await turning.settle()
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


def until_settings_are_read(place: Place, cuts: Cuts, deadline_s: float, text: str) -> None:
    """A daemon under whose eyes the operator saves their settings file, and that works until all is settled."""
    _begin(place, cuts)
    asyncio.run(_read_settings(place, deadline_s, text))


async def _read_settings(place: Place, deadline_s: float, text: str) -> None:
    settings = load({"OVERLORD_HOME": str(place.home)}, **place.given)
    clock = KeptClock(place.time)
    async with overlord(settings, clock=clock) as running:
        turning = Turning(overlord=running, clock=clock, deadline_s=deadline_s)
        await turning.until(lambda: True)
        (place.home / "overlord.yaml").write_text(text)
        running.renewal.ask()
        await turning.settle()


def command(place: Place, cuts: Cuts, *arguments: str) -> None:
    """One command of the CLI."""
    _begin(place, cuts)
    for name in [name for name in os.environ if name.startswith("OVERLORD_")]:
        del os.environ[name]
    os.environ |= {**place.environment, "OVERLORD_HOME": str(place.home)}
    sys.argv = ["overlord", *arguments]
    main()


def _begin(place: Place, cuts: Cuts) -> None:
    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    configure_logs(json=True)
    gc.disable()  # it does not live long enough to need it
    listen(cutting(place, cuts))


async def _turn(
    place: Place,
    deadline_s: float,
    done: Callable[[sqlite3.Connection], bool] | None,
    *,
    is_last: bool = True,
) -> None:
    """Turn until it is done, and what is done is told in the chat; until all is settled where that is not the last."""
    settings = load({"OVERLORD_HOME": str(place.home)}, **place.given)
    clock = KeptClock(place.time)
    async with overlord(settings, clock=clock) as running, _heard(running):
        turning = Turning(overlord=running, clock=clock, deadline_s=deadline_s)
        following = asyncio.create_task(turning.follow())
        if place.passes_s:
            await turning.until(lambda: True)
            clock.move(place.passes_s)
        if done is not None:
            clock.move(interval_s(settings) + 1 if is_last else 0.0)
            await turning.until(partial(_is_done, turning, done))
        if done is None or not is_last:
            await turning.settle()
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


async def _is_done(turning: Turning, done: Callable[[sqlite3.Connection], bool]) -> bool:
    return await turning.overlord.parts.database.read(done) and not await turning.is_talking()


@contextlib.asynccontextmanager
async def _heard(running: Overlord) -> AsyncIterator[None]:
    """Hear people, and what rings for them, where there is a chat."""
    if running.parts.chat_output is None:
        yield
        return
    with running.wakeup.listening(running.parts.home.wakeup):
        async with talking(running):
            yield


def _holds(connection: sqlite3.Connection) -> bool:
    return any(HOLDING in item.last_action for item in sessions.live(connection))
