"""From a claimed job to its started session, and what of that is Overlord's: beside the runner starting the same by itself.

The moments are those of `overlord/failpoints.py`. The forge is in a process of its own. What is started is no Minion but a
program that waits, in both cases: how fast sessions start is not to depend on what those before them do.
"""

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from bench.filled import AWAY
from bench.forge import REPOSITORY, Forge, forge_apart
from bench.table import Figure
from overlord import failpoints
from overlord.adapters.clock import SystemClock
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.process.runner import ProcessRunner
from overlord.adapters.runner_choice import choose_runner
from overlord.app import Overlord, overlord
from overlord.domain.event import EventName
from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.launch import Launch
from overlord.engine.runtime.hint import QUIET_S
from overlord.engine.tick import Tick
from overlord.errors import OverlordError
from overlord.failpoints import Failpoint, Moment
from overlord.home import Home
from overlord.ports.runner import Runner
from overlord.settings.load import Settings, load
from overlord.store import jobs, sessions

ONE_BY_ONE, AT_ONCE, ROUNDS = 7, 8, 3
ADDED_GOAL_MS, KEPT_GOAL = 30.0, 90.0
DEADLINE_S = 120.0
PROGRAM = ("/bin/sleep", "900")
PARTS = {
    "the repository's fetch": Failpoint.FETCH,
    "a ready copy": Failpoint.MAKE_READY,
    "its repository": Failpoint.PREPARE_REPOSITORY,
}


@dataclass(slots=True)
class Watch:
    """When each point was passed, in seconds."""

    seen: dict[tuple[str, Moment], list[float]] = field(default_factory=dict)
    labelled: float = 0.0
    """When the forge was told of the issue."""

    def __call__(self, point: str, moment: Moment) -> None:
        self.seen.setdefault((point, moment), []).append(time.perf_counter())

    def took_ms(self, point: Failpoint) -> float:
        """The time inside an act that was done once."""
        before, after = (self.seen.get((point, moment), []) for moment in Moment)
        return (after[-1] - before[0]) * 1000 if before and after else 0.0

    def span_ms(self) -> float:
        """From the first claim to the last session that is known to be started."""
        claimed = self.seen[Failpoint.JOB_CLAIMED, Moment.AFTER]
        return (self.seen[Failpoint.WORK_STARTED, Moment.AFTER][-1] - claimed[0]) * 1000

    def from_label_ms(self) -> float:
        """From the label to the session, by the way a webhook takes: nothing is waited for."""
        return (self.seen[Failpoint.WORK_STARTED, Moment.AFTER][-1] - self.labelled) * 1000

    def is_started(self, count: int) -> bool:
        return len(self.seen.get((Failpoint.WORK_STARTED, Moment.AFTER), [])) >= count


async def figures(root: Path, runner: str) -> list[Figure]:
    """The daemon's rows about dispatch with one runner."""
    async with forge_apart(root) as far, _turning(_settings(root, far, runner)) as running:
        await _dispatched(running, far, 1)  # the mirror and the ready copy are made, caches are warm
        single, own = [], []
        for number in range(ONE_BY_ONE):
            single.append(await _dispatched(running, far, 1))
            own.append(await _plain_ms(running, root, f"one{number}", 1))
        many, plain = [], []
        for number in range(ROUNDS):
            many.append((await _dispatched(running, far, AT_ONCE)).span_ms())
            plain.append(await _plain_ms(running, root, f"many{number}", AT_ONCE))
    return [*_single(runner, single, own), *_many(runner, median(many), median(plain))]


def _single(runner: str, watches: list[Watch], own: list[float]) -> list[Figure]:
    added = [watch.span_ms() - watch.took_ms(Failpoint.START_SESSION) for watch in watches]
    whole, alone, own_start = (
        median(watch.span_ms() for watch in watches),
        median(own),
        "the runner's own start",
    )
    rows = [
        _figure(
            f"{runner}: label to started session, by a webhook",
            median(watch.from_label_ms() for watch in watches),
            own_start,
            alone,
        ),
        _figure(f"{runner}: claim to started session", whole, own_start, alone),
        _figure(f"{runner}: added by dispatch", median(added), goal=ADDED_GOAL_MS),
    ]
    for label, point in PARTS.items():
        rows.append(
            _figure(f"{runner}:   of which {label}", median(watch.took_ms(point) for watch in watches))
        )
    return rows


def _many(runner: str, whole: float, alone: float) -> list[Figure]:
    name = f"{runner}: throughput kept at {AT_ONCE} at once"
    kept = Figure(
        part="daemon", name=name, unit="%", measured=100 * alone / whole, goal=KEPT_GOAL, at_least=True
    )
    return [
        _figure(f"{runner}: {AT_ONCE} at once, first claim to last", whole, "the runner's own", alone),
        kept,
    ]


def _figure(
    name: str, measured: float, yardstick: str = "", beside: float | None = None, *, goal: float | None = None
) -> Figure:
    return Figure(
        part="daemon", name=name, unit="ms", measured=measured, goal=goal, yardstick=yardstick, beside=beside
    )


def _settings(root: Path, far: Forge, runner: str) -> Settings:
    return load(
        {"OVERLORD_HOME": str(root / "home"), "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")},
        repositories=[REPOSITORY],
        runner=runner,
        poll_s=600,
        sessions={"concurrent": AT_ONCE},
        delivery={"open_pulls": 1_000},
        forge={"api_url": far.url, "token": far.token},
        model={"base_url": AWAY, "name": "scripted", "api_key": "bench"},
    )


@contextlib.asynccontextmanager
async def _turning(settings: Settings) -> AsyncIterator[Overlord]:
    async with overlord(settings) as built:
        runner = _waiting(settings)
        parts = replace(built.parts, runner=runner)
        running = replace(built, parts=parts, tick=Tick(parts))
        stopped = asyncio.Event()
        work = asyncio.create_task(running.run(stopped))
        try:
            yield running
        finally:
            failpoints.listen(None)
            stopped.set()
            running.wakeup.notify()
            await work
            await running.tick.close()
            await runner.close()


def _waiting(settings: Settings) -> Runner:
    """The runner of the settings, with another program."""
    home = Home(settings.home)
    if settings.runner == "process":
        return ProcessRunner(home.processes, command=PROGRAM)
    image, address = settings.docker.image, settings.docker.host or None
    return DockerRunner(
        home.containers, image=image, instance=home.instance(), address=address, command=PROGRAM
    )


async def _dispatched(running: Overlord, far: Forge, count: int) -> Watch:
    """So many labelled issues, from claim to started session; then everything of them is over."""
    watch = Watch()
    await asyncio.sleep(QUIET_S)  # a second hint is not taken sooner
    failpoints.listen(watch)
    watch.labelled = time.perf_counter()
    await far.open_issues(count)
    running.parts.hints.give(REPOSITORY)  # as the listener does when GitHub says that there is news
    running.wakeup.notify()
    async with asyncio.timeout(DEADLINE_S):
        while not watch.is_started(count):
            await _notified(running)
        failpoints.listen(None)
        await running.parts.database.write("by hand", _stop_all)
        running.wakeup.notify()
        while await running.parts.database.read(_holds_something):
            await _notified(running)
    return watch


def _stop_all(connection: sqlite3.Connection) -> None:
    at = SystemClock().now()
    for summary in jobs.summaries(connection):
        jobs.move(connection, summary.id, EventName.STOPPED, at=at)


def _holds_something(connection: sqlite3.Connection) -> bool:
    return bool(sessions.live(connection) or sessions.uncleared(connection))


async def _notified(running: Overlord) -> None:
    await running.wakeup.wait(running.wakeup.count, timeout_s=0.05)


async def _plain_ms(running: Overlord, root: Path, name: str, count: int) -> float:
    """The runner starting as many sessions by itself, all at once; what they look for is not there."""
    runner, session_api = running.parts.runner, root / "nobody"
    session_api.mkdir(exist_ok=True)
    base = (await running.parts.database.read(lambda c: jobs.get(c, 1))).base_sha
    ready = await running.parts.git.ready_copy(RepositoryName(REPOSITORY), Sha(base or ""))
    names = [SessionId(f"{name}-{number}") for number in range(count)]
    launches = [
        Launch(session=item, job="0", environment={}, session_api=session_api, ready=ready) for item in names
    ]
    try:
        began = time.perf_counter()
        await asyncio.gather(*(runner.start(launch) for launch in launches))
        return (time.perf_counter() - began) * 1000
    finally:
        await asyncio.gather(*(runner.remove(item) for item in names))


async def runners(root: Path) -> tuple[list[str], str]:
    """How sessions can be run here, and why not in containers."""
    try:
        found = await choose_runner(
            load(
                {"OVERLORD_HOME": str(root), "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")},
                runner="docker",
            )
        )
    except OverlordError as error:
        return ["process"], f"NO CONTAINERS: {error}. The rows of Docker are left out."
    await found.close()
    return ["docker", "process"], ""
