"""Where the nodes get a session's image from: a registry, the engines the settings name, or nowhere but the manager's own engine.

Sessions are started by what cannot change under them: an image's digest in the registry, or its id. Nodes fetch nothing then that
they have, and no node asks a public registry for a name of ours.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from overlord.adapters.docker.engine import DockerEngine, Missing
from overlord.adapters.docker.layers import SLOW_S
from overlord.adapters.swarm.calls import SwarmManager
from overlord.errors import RunnerRefused, RunnerUnavailable

_LOOK_S = 0.2


class SwarmImages:
    """The images of one manager's engine on the nodes of its swarm."""

    def __init__(self, *, address: str | None, registry: str, engines: Sequence[str]) -> None:
        self.registry = registry
        self._here = SwarmManager(address=address, call_s=SLOW_S)
        self._engines = {each: DockerEngine(address=each) for each in engines}
        self._patient = {each: DockerEngine(address=each, call_s=SLOW_S) for each in engines}
        self._placed: dict[str, str] = {}
        self._placing = asyncio.Lock()

    async def place(self, image: str) -> str:
        """See that nodes can have an image of this engine; what services are to call it. Raises RunnerRefused, RunnerUnavailable."""
        try:
            identifier = str((await self._here.image(image))["Id"])
        except Missing:
            raise RunnerRefused(
                f"the manager's engine has no image {image}: run `make images` there"
            ) from None
        async with self._placing:
            if identifier not in self._placed:
                self._placed[identifier] = await self._give(image, identifier)
        return self._placed[identifier]

    async def _give(self, image: str, identifier: str) -> str:
        if self.registry:
            return await self._here.push(image, self.registry)
        tried = await asyncio.gather(
            *(self._lay(each, image, identifier) for each in self._engines), return_exceptions=True
        )
        failed = [each for each in tried if isinstance(each, BaseException)]
        # A node that is down gets it with the next image, or never; what is placed there meanwhile says that it is missing.
        for error in failed:
            if not isinstance(error, RunnerUnavailable) or len(failed) == len(tried):
                raise error
        return identifier

    async def _lay(self, engine: str, image: str, identifier: str) -> None:
        try:
            await self._engines[engine].image(identifier)
        except Missing:
            await self._here.send(image, self._patient[engine])

    async def remove(self, image: str) -> None:
        """Take an image from the engines of the settings; in a registry it stays."""
        await asyncio.gather(
            *(each.remove_image(image) for each in self._engines.values()), return_exceptions=True
        )
        self._placed.clear()

    @property
    def is_everywhere(self) -> bool:
        """Whether another node than the manager's own has images at all."""
        return bool(self.registry or self._engines)

    async def ran_out_of_memory(self, container: str) -> bool:
        """Whether a container on an engine that can be asked was killed for want of memory: a swarm does not say so itself."""
        shown = await self._shown(container)
        return shown is not None and bool(shown["State"]["OOMKilled"])

    async def gone(self, container: str, *, within_s: float) -> None:
        """Wait until a container is gone from the engines that can be asked: nodes remove it after they said it had ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while True:
                    if await self._shown(container) is None:
                        return
                    await asyncio.sleep(_LOOK_S)

    async def _shown(self, container: str) -> Mapping[str, Any] | None:
        for engine in (self._here, *self._engines.values()):
            with suppress(RunnerRefused, RunnerUnavailable):
                return await engine.inspect(container)
        return None

    def close(self) -> None:
        for engine in (self._here, *self._engines.values(), *self._patient.values()):
            engine.close()
