"""Several runners as one, where spaces ask for different ones: what is started goes to the runner its space asks for, and what runs
or is kept is found wherever it is.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, Running
from overlord.errors import ExternalServiceError, RunnerRefused
from overlord.ports.runner import Runner

USUAL = "auto"
"""What a space asks for that takes the one of all."""


class SpaceRunners:
    """`ports.Runner` over those that were built, by their names; the first one is that of all spaces which ask for no other.
    Asked for another that was not built, it refuses: a space never runs less isolated than it asks for."""

    def __init__(self, runners: Mapping[str, Runner], asked_by: Callable[[str], str]) -> None:
        self._runners = runners
        self._usual = next(iter(runners.values()))
        self._asked_by = asked_by
        self.name = self._usual.name
        self.capabilities = self._usual.capabilities

    def _of(self, space: str) -> Runner:
        kind = self._asked_by(space)
        found = self._usual if kind == USUAL else self._runners.get(kind)
        if found is None:
            raise RunnerRefused(
                f"spaces.{space}.runner asks for {kind}, and this Overlord was started without it; start it again"
            )
        return found

    async def start(self, launch: Launch) -> None:
        await self._of(launch.space).start(launch)

    async def find(self, session: SessionId) -> Running | None:
        for runner in self._runners.values():
            if (found := await runner.find(session)) is not None:
                return found
        return None

    async def sessions(self) -> Sequence[Running]:
        return [running for runner in self._runners.values() for running in await runner.sessions()]

    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        for runner in await self._holding(session):
            await runner.stop(session, grace_s=grace_s)

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        found = [
            await runner.logs(session, limit_bytes=limit_bytes) for runner in await self._holding(session)
        ]
        return "".join(found)

    async def remove(self, session: SessionId) -> None:
        for runner in self._runners.values():
            await runner.remove(session)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:
        return await self._of(space).agent_version(program, space=space)

    async def ground(self, image: str, *, space: str = "") -> str:
        return await self._of(space).ground(image)

    async def prepare_layer(self, key: str, *, image: str, packages: Sequence[str], space: str = "") -> None:
        await self._of(space).prepare_layer(key, image=image, packages=packages)

    async def keep_layer(self, session: SessionId, key: str) -> int:
        holding = await self._holding(session)
        return await (holding[0] if holding else self._usual).keep_layer(session, key)

    async def has_layer(self, key: str) -> bool:
        return any([await runner.has_layer(key) for runner in self._runners.values()])

    async def remove_layer(self, key: str) -> None:
        for runner in self._runners.values():
            await runner.remove_layer(key)

    async def downloads(self) -> Sequence[str]:
        found = [space for runner in self._runners.values() for space in await runner.downloads()]
        return list(dict.fromkeys(found))

    async def remove_downloads(self, space: str) -> None:
        for runner in self._runners.values():
            await runner.remove_downloads(space)

    async def follow(self) -> AsyncIterator[SessionId]:
        """Whatever any of them says, as it comes; what one of them raises is raised here."""
        endings: asyncio.Queue[SessionId | Exception] = asyncio.Queue()
        following = [asyncio.create_task(_pass_on(runner, endings)) for runner in self._runners.values()]
        try:
            while True:
                ended = await endings.get()
                if isinstance(ended, Exception):
                    raise ended
                yield ended
        finally:
            for task in following:
                task.cancel()

    async def close(self) -> None:
        for runner in self._runners.values():
            await runner.close()

    async def _holding(self, session: SessionId) -> Sequence[Runner]:
        """Those that know of a session; there is nothing to find out where there is only one."""
        runners = list(self._runners.values())
        return runners if len(runners) == 1 else [item for item in runners if await item.find(session)]


async def _pass_on(runner: Runner, endings: asyncio.Queue[SessionId | Exception]) -> None:
    try:
        async for session in runner.follow():
            endings.put_nowait(session)
    except (ExternalServiceError, OSError) as error:
        endings.put_nowait(error)
