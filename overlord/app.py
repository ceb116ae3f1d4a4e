"""The composition root: builds each part once, and the loop that keeps them going."""

import asyncio
import contextlib
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import structlog

import minion
from overlord.adapters.clock import SystemClock
from overlord.adapters.docker import DockerRunner
from overlord.adapters.docker_engine import DockerEngine
from overlord.adapters.docker_profile import Profile
from overlord.adapters.git import GitMirrors
from overlord.adapters.github import GitHubForge
from overlord.adapters.model import OpenAIModel
from overlord.adapters.process import ProcessRunner
from overlord.bell import Bell
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.rubric import load_rubric
from overlord.door.assistant import DoorAssistant
from overlord.door.keeper import DoorKeeper
from overlord.door.parts import DoorParts
from overlord.engine.parts import Parts
from overlord.engine.tick import Tick
from overlord.errors import FarEndError, ImageUnusable, RunnerRefused, SettingsError
from overlord.home import Home
from overlord.ports import Clock, Runner
from overlord.settings import Settings, check_prices, check_socket_path, contract_for, packaged
from overlord.settings_model import PRIMARY
from overlord.store import ledger
from overlord.store.database import Database
from overlord.store.evidence import EvidenceStore

Result = TypeVar("Result")
log = structlog.get_logger()

LONGEST_NAP_S = 5.0
"""Time limits are kept by looking at the clock, so the loop never sleeps longer than this."""
SIDE_TASK_DELAY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlord:
    """Everything that runs, put together."""

    parts: Parts
    doors: DoorKeeper
    tick: Tick
    bell: Bell

    async def turn(self) -> bool:
        """One pass: doors for prepared sessions, then every job a step. True when another pass is worth it at once."""
        try:
            opened = await self.doors.reconcile()
        except sqlite3.DatabaseError:
            log.exception("doors_not_reconciled")
            opened = False
        return await self.tick.run() or opened

    async def run(self, stopped: asyncio.Event) -> None:
        """Work until `stopped` is set; running sessions are left to be found again."""
        async with asyncio.TaskGroup() as group:
            side = [group.create_task(self._monitored("runner_events", self._follow_runner))]
            with self.bell.listening(self.parts.home.bell):
                while not stopped.is_set():
                    seen = self.bell.count
                    if not await self.turn():
                        await self.bell.wait(seen, timeout_s=self._nap_s())
            for task in side:
                task.cancel()

    async def pursue(self, step: Callable[[], Awaitable[Result | None]]) -> Result:
        """Repeat one step until it has a result, with doors open and the runner heard; no job is moved beside it."""
        following = asyncio.create_task(self._monitored("runner_events", self._follow_runner))
        try:
            while True:
                seen = self.bell.count
                opened = await self.doors.reconcile()
                if (result := await step()) is not None:
                    return result
                if not opened:
                    await self.bell.wait(seen, timeout_s=LONGEST_NAP_S)
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following

    def _nap_s(self) -> float:
        delay = self.tick.next_delay_s()
        return LONGEST_NAP_S if delay is None else min(LONGEST_NAP_S, delay)

    async def _follow_runner(self) -> None:
        async for _ in self.parts.runner.follow():
            self.bell.ring()

    async def _monitored(self, name: str, act: Callable[[], Awaitable[None]]) -> None:
        """Keep a side task going: what it raises is written down, and it is started again."""
        while True:
            try:
                await act()
            except Exception as error:
                log.exception("side_task_failed", task=name)
                await self._note(EventName.SIDE_TASK_FAILED, {"task": name, "error": str(error)})
            await asyncio.sleep(SIDE_TASK_DELAY_S)

    async def _note(self, name: EventName, data: Mapping[str, Json]) -> None:
        event = LedgerEvent(name=name, at=self.parts.clock.now(), data=data)
        await self.parts.database.write(lambda c: ledger.append(c, event))


@contextlib.asynccontextmanager
async def overlord(
    settings: Settings, *, clock: Clock | None = None, needs_model: bool = True
) -> AsyncIterator[Overlord]:
    """Build an Overlord on its home. Raises SettingsError for what it cannot work with, StoreError for its database."""
    check_socket_path(settings.home)
    _check_far_ends(settings, needs_model=needs_model)
    clock, home, bell = clock or SystemClock(), Home(settings.home), Bell()
    contracts = cache(lambda space: contract_for(settings, space))
    for name in settings.repositories:
        check_prices(settings, contracts(name))
    async with contextlib.AsyncExitStack() as stack:
        database = await Database.open(home.database, exclusive=True)
        stack.push_async_callback(database.close)
        models, forge = _models(settings), _forge(settings)
        for model in models.values():
            stack.push_async_callback(model.close)
        stack.push_async_callback(forge.close)
        epoch = await database.read(_starts) + 1
        runner = await choose_runner(settings, epoch=epoch)
        stack.push_async_callback(runner.close)
        doors = DoorKeeper(
            DoorParts(
                settings=settings,
                home=home,
                database=database,
                model=models[PRIMARY],
                spare_models=models,
                clock=clock,
                bell=bell,
            )
        )
        stack.push_async_callback(doors.close)
        parts = Parts(
            settings=settings,
            home=home,
            database=database,
            evidence=EvidenceStore(home.evidence),
            forge=forge,
            git=GitMirrors(home),
            runner=runner,
            clock=clock,
            contract=contracts,
            assistant=DoorAssistant(doors.parts),
            rubric=load_rubric(packaged("rubric.yaml"), "the built-in rubric"),
            ring=bell.ring,
        )
        await database.write(lambda c: _note_start(c, clock, runner, epoch))
        tick = Tick(parts)
        stack.push_async_callback(tick.close)
        yield Overlord(parts=parts, doors=doors, tick=tick, bell=bell)


def _note_start(connection: sqlite3.Connection, clock: Clock, runner: Runner, epoch: int) -> None:
    data: dict[str, Json] = {"pid": os.getpid(), "runner": runner.name, "epoch": epoch}
    ledger.append(connection, LedgerEvent(name=EventName.DAEMON_STARTED, at=clock.now(), data=data))


def _models(settings: Settings) -> dict[str, OpenAIModel]:
    """An adapter for each endpoint, by its name."""
    if unpriced := settings.unpriced():
        log.info("model_without_price", models=list(unpriced), budgets="tokens only")
    return {
        name: OpenAIModel(
            endpoint.base_url, endpoint.api_key.get_secret_value(), read_timeout_s=endpoint.timeout_s
        )
        for name, endpoint in {PRIMARY: settings.model, **settings.endpoints}.items()
    }


def _forge(settings: Settings) -> GitHubForge:
    endpoint = settings.forge
    return GitHubForge.with_token(
        endpoint.token.get_secret_value(), base_url=endpoint.api_url, timeout_s=endpoint.timeout_s
    )


def _starts(connection: sqlite3.Connection) -> int:
    query = "SELECT count(*) FROM ledger WHERE name = ?"
    return int(connection.execute(query, (EventName.DAEMON_STARTED,)).fetchone()[0])


async def choose_runner(settings: Settings, *, epoch: int = 0) -> Runner:
    """The runner of the settings: `auto` takes Docker when an engine answers, and processes only when none does.

    `epoch` counts the starts of this Overlord; what it starts carries the number. Raises SettingsError when the runner
    that is asked for cannot be had, ImageUnusable when an engine answers and has no image of this version.
    """
    if settings.runner == "process":
        return _processes(settings)
    engine = DockerEngine(address=settings.docker.host or None)
    try:
        await engine.info()
        await _check_image(engine, settings.docker.image)
    except FarEndError as error:
        if settings.runner == "docker":
            raise SettingsError(f"runner: docker, but {error}") from error
        log.info("no_containers", reason=str(error), runner="process")
        return _processes(settings)
    finally:
        engine.close()
    return _docker(settings, epoch)


def _processes(settings: Settings) -> ProcessRunner:
    python = settings.process.python or sys.executable
    return ProcessRunner(Home(settings.home).processes, command=(python, "-P", "-m", "minion"))


async def _check_image(engine: DockerEngine, image: str) -> None:
    """Raises ImageUnusable when the image is missing, or was built from another version of the Minion."""
    fix = "run `make images`, or set OVERLORD_RUNNER=process, which isolates nothing"
    try:
        found = await engine.image(image)
    except RunnerRefused:
        raise ImageUnusable(f"the engine has no image {image}: {fix}") from None
    labels = (found.get("Config") or {}).get("Labels") or {}
    if labels.get("overlord.minion") != minion_stamp():
        raise ImageUnusable(f"the image {image} was built from another version of the Minion: {fix}")


def minion_stamp() -> str:
    """What tells one version of the Minion from another; `docker/images` computes the same for its label."""
    root = Path(minion.__file__).parent
    sources = sorted(root.rglob("*.py"), key=lambda path: f"minion/{path.relative_to(root).as_posix()}")
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def _docker(settings: Settings, epoch: int) -> DockerRunner:
    docker, home = settings.docker, Home(settings.home)
    return DockerRunner(
        home.containers,
        image=docker.image,
        instance=home.instance(),
        epoch=epoch,
        profile=Profile(
            runtime=docker.runtime or None,
            setup_network=settings.environments.network,
            setup_memory_mb=settings.environments.memory_mb,
        ),
        address=docker.host or None,
    )


def _check_far_ends(settings: Settings, *, needs_model: bool) -> None:
    if not settings.repositories:
        raise SettingsError(
            "no repositories: set OVERLORD_REPOS=owner/repo, or `repositories` in overlord.yaml"
        )
    if needs_model and not (settings.model.base_url and settings.model.name):
        raise SettingsError(
            "no model: set OPENAI_BASE_URL (as https://api.openai.com/v1), OPENAI_API_KEY and OVERLORD_MODEL"
        )
    if not settings.forge.token.get_secret_value():
        raise SettingsError(
            "no forge sign-in: set GITHUB_TOKEN to a fine-grained token with contents, issues and pull requests"
        )
