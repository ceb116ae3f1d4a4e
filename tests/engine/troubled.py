"""A runner that works, until a test says that one call of it fails: before it does anything, or after."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, Running
from overlord.domain.session import Ending, EndKind
from overlord.engine.tick import Tick
from overlord.errors import ExternalServiceError
from overlord.ports.runner import Runner
from tests.memory.world import made_memory_world
from tests.world import DEADLINE_S, World


class TroubledRunner:
    """The world's own runner with troubles put before (or after) its calls."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._before: dict[str, list[ExternalServiceError]] = defaultdict(list)
        self._after: dict[str, list[ExternalServiceError]] = defaultdict(list)
        self.starved: set[str] = set()
        """Sessions that end for want of memory, whatever they say."""
        self.held: set[str] = set()
        """Environments that something still has, so that they cannot be removed."""
        self.gates: dict[str, asyncio.Event] = {}
        """Calls whose answer is kept until it is let through."""
        self.called: list[str] = []
        self.name = runner.name
        self.capabilities = runner.capabilities

    def will_fail(self, call: str, *errors: ExternalServiceError, done: bool = False) -> None:
        """The next calls of this name raise these; with `done` after they did what they should."""
        (self._after if done else self._before)[call] += errors

    @property
    def has_troubles(self) -> bool:
        return any((*self._before.values(), *self._after.values()))

    async def _act(self, call: str, *arguments: Any, **named: Any) -> Any:
        self.called.append(call)
        if self._before[call]:
            raise self._before[call].pop(0)
        result = await getattr(self._runner, call)(*arguments, **named)
        if call in self.gates:
            await self.gates[call].wait()
        if self._after[call]:
            raise self._after[call].pop(0)
        return result

    async def find(self, session: SessionId) -> Running | None:
        running: Running | None = await self._act("find", session)
        if running is None or running.ending is None or session not in self.starved:
            return running
        return replace(running, ending=Ending(kind=EndKind.OUT_OF_MEMORY, exit_code=running.ending.exit_code))

    async def start(self, launch: Launch) -> None:
        await self._act("start", launch)

    async def sessions(self) -> Sequence[Running]:
        found: Sequence[Running] = await self._act("sessions")
        return found

    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        await self._act("stop", session, grace_s=grace_s)

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        return str(await self._act("logs", session, limit_bytes=limit_bytes))

    async def remove(self, session: SessionId) -> None:
        await self._act("remove", session)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:
        return str(await self._act("agent_version", program, space=space))

    async def ground(self, image: str, *, space: str = "") -> str:
        return str(await self._act("ground", image, space=space))

    async def prepare_layer(self, key: str, *, image: str, packages: Sequence[str], space: str = "") -> None:
        await self._act("prepare_layer", key, image=image, packages=packages, space=space)

    async def keep_layer(self, session: SessionId, key: str) -> int:
        return int(await self._act("keep_layer", session, key))

    async def has_layer(self, key: str) -> bool:
        return bool(await self._act("has_layer", key))

    async def remove_layer(self, key: str) -> None:
        if key in self.held:
            self.called.append("remove_layer")
        else:
            await self._act("remove_layer", key)

    async def downloads(self) -> Sequence[str]:
        found: Sequence[str] = await self._act("downloads")
        return found

    async def remove_downloads(self, space: str) -> None:
        await self._act("remove_downloads", space)

    def follow(self) -> AsyncIterator[SessionId]:
        return self._runner.follow()

    async def close(self) -> None:
        await self._runner.close()


@asynccontextmanager
async def troubled_world(
    files: dict[str, str], **overrides: Any
) -> AsyncIterator[tuple[World, TroubledRunner]]:
    """A started world over a runner that can be told to fail."""
    async with made_memory_world(files, **overrides) as world:
        await world.start()
        runner = TroubledRunner(world.overlord.parts.runner)
        parts = replace(world.overlord.parts, runner=runner)
        world._running = replace(world.overlord, parts=parts, tick=Tick(parts))
        yield world, runner


async def weathered(world: World, runner: TroubledRunner) -> None:
    """Let all troubles come and go, however long what they hold up is put off for; then let the world settle."""
    await world.make_due()
    tick = world.overlord.tick
    async with asyncio.timeout(DEADLINE_S):
        while runner.has_troubles or tick.next_delay_s() is not None:
            seen = world.overlord.watchers.count
            moved = await world.overlord.turn()
            if (delay := tick.next_delay_s()) is not None and tick.is_idle:
                world.clock.move(delay + 0.1)
            elif not moved:
                await world.overlord.watchers.wait(seen, timeout_s=1.0)
    await world.settle()
