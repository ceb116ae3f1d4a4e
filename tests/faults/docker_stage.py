"""A world whose sessions run in an engine of the campaign's own, behind a proxy that can go wrong.

Whoever waits here looks at the engine at every turn: no session ever has two containers.
"""

import asyncio
import contextlib
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker import APIClient
from docker.errors import DockerException

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.home import Home
from overlord.store import sessions
from tests.adapters.engine import OwnEngine
from tests.faults.docker_proxy import DockerProxy
from tests.faults.invariants import check_world
from tests.world import CALC, FIX, REPO, World, made_world

HELD = {
    **CALC,
    "tests/test_held.py": (
        "import time\nfrom pathlib import Path\n\n\ndef test_held():\n"
        "    while not Path('/run/door/go').exists():\n        time.sleep(0.02)\n"
    ),
}
"""A repository whose tests last until they are let go."""
WORK, CHECK = "j1-work-1", "j1-check-1"
CALL_S = 2
"""How long the daemon waits for the engine here."""


@dataclass
class Stage:
    """The world, the engine below it, and the proxy between them."""

    world: World
    engine: OwnEngine
    proxy: DockerProxy
    _going: bool = False
    _client: APIClient | None = None

    def docker(self, *arguments: str) -> str:
        """What the `docker` command says, as anybody on this machine may use it; it must succeed."""
        command = ["docker", "--host", self.engine.address, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def name(self, session: str) -> str:
        """A session's container."""
        return f"overlord-{Home(self.world.root / 'home').instance()}-{session}"

    def let_go(self) -> None:
        """From now on nothing holds any session."""
        self._going = True

    async def until(self, condition: Callable[[], Any]) -> None:
        """Go on until `condition` holds; what is put off becomes due."""

        async def holds() -> bool:
            await asyncio.to_thread(self._look)
            delay = self.world.overlord.tick.next_delay_s()
            if delay is not None:
                self.world.clock.move(delay + 0.1)
                self.world.overlord.wakeup.notify()
            held = condition()
            return bool(await held if asyncio.iscoroutine(held) else held)

        await self.world.until(holds)

    async def begin(self, *, holds: bool = True) -> None:
        """A labelled issue whose Minion holds before it works, however often it is begun."""
        world = self.world
        await world.issue("add() subtracts")
        await world.make_due()
        turns = (edit(*FIX), submit("adds"))
        world.model_will(*([world.hold()] if holds else []), *turns, when="subtracts")

    async def until_holding(self, session: str = WORK) -> None:
        await self.until(lambda: self.world.is_holding(session))

    async def until_started(self, session: str) -> None:
        await self.until(lambda: self.world.has_started(session))

    async def settle(self) -> None:
        """Let everything come to its end."""
        self.let_go()
        await self.world.make_due()
        await self.until(self.world.turning.is_settled)

    def _look(self) -> None:
        if self._going:
            for session_api in (self.world.root / "home" / "run").glob("*/"):
                (session_api / "go").touch()
        held = Counter(entry["Labels"].get("overlord.session") for entry in self.containers())
        assert all(count == 1 for count in held.values()), held

    def containers(self) -> list[dict[str, Any]]:
        """Every container of the engine; none while it does not answer."""
        with contextlib.suppress(DockerException, OSError):
            self._client = self._client or APIClient(base_url=self.engine.address, timeout=10)
            found: list[dict[str, Any]] = self._client.containers(all=True)
            return found
        return []

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    async def down(self, number: signal.Signals) -> None:
        """The engine is ended, and the daemon tries in vain for a while."""
        await asyncio.to_thread(self.engine.end, number)
        await self.in_vain()

    async def in_vain(self) -> None:
        """The daemon asks and gets no answer."""
        for _ in range(3):
            await self.world.overlord.turn()

    async def up(self, *, live_restore: bool = False) -> None:
        await asyncio.to_thread(lambda: self.engine.start(live_restore=live_restore))

    async def sessions(self) -> list[str]:
        """The sessions of the first job that were prepared, in order."""
        return [
            str(session.id)
            for session in await self.world.read(lambda c: sessions.of_job(c, 1))
            if session.kind != "review"
        ]

    async def check_delivered(self) -> None:
        """The pull request is there, no attempt was spent, and everything is as it must be."""
        job = await self.world.job()
        assert (job.state, job.revision) == (JobState.IN_REVIEW, 0), await self.world.events()
        assert await self.world.decisions() == []
        assert len(self.world.forge.pulls(REPO)) == 1
        await self.check_clean()

    async def check_clean(self) -> None:
        """Nothing is left in the engine, and nothing else is wrong."""
        await check_world(self.world)
        assert self.containers() == []
        volumes = self.docker("volume", "ls", "--quiet").split()
        assert [name for name in volumes if "-cache-" not in name] == []  # what a space downloads is kept


@contextlib.asynccontextmanager
async def set_up(
    engine: OwnEngine, files: dict[str, str] | None = None, **overrides: Any
) -> AsyncIterator[Stage]:
    """A stage around one repository, whose tests last until they are let go."""
    socket = Path(engine.address.removeprefix("unix://"))
    proxy = DockerProxy(socket.with_name("proxy"), socket)
    await proxy.open()
    docker = {"host": proxy.address, "timeout_s": CALL_S}
    try:
        async with made_world(files or HELD, runner="docker", docker=docker, **overrides) as world:
            with contextlib.closing(Stage(world, engine, proxy)) as stage:
                yield stage
    finally:
        await proxy.close()
        if engine.is_up:
            _emptied(engine)


def _emptied(engine: OwnEngine) -> None:
    """The engine as the next story wants it, whatever this one left."""
    client = APIClient(base_url=engine.address, timeout=180)
    for entry in client.containers(all=True):
        client.remove_container(entry["Id"], force=True, v=True)
    for volume in client.volumes()["Volumes"] or ():
        client.remove_volume(volume["Name"])
    for image in client.images(filters={"label": "overlord.environment"}):
        client.remove_image(image["Id"], force=True)
    client.close()
