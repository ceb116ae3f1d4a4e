"""A port with something of a test's own between it and who calls it: an external service that is unwell, slow, or tells what is old."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from overlord import failpoints
from overlord.failpoints import Moment
from tests.memory.world import made_memory_world
from tests.world import World

Instead = Callable[..., Awaitable[Any]]
"""Called in place of a port's method, with that method and its arguments."""


class Between:
    """The port itself, but for the calls that a test names in `instead`."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self.instead: dict[str, Instead] = {}

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._port, name)
        return partial(self.instead[name], real) if name in self.instead else real

    def fails(self, name: str, error: Exception, *, about: int | None = None) -> None:
        """Let calls of this name raise this: those about one issue, pull request or comment, or all."""

        async def failing(real: Instead, repository: str, *arguments: Any, **options: Any) -> Any:
            if about is None or arguments[0] == about:
                raise error
            return await real(repository, *arguments, **options)

        self.instead[name] = failing

    def is_well(self) -> None:
        self.instead.clear()


def listens(port: Between, name: str) -> list[Sequence[Any]]:
    """The arguments of every call of this name from now on."""
    heard: list[Sequence[Any]] = []

    async def listening(real: Instead, *arguments: Any) -> Any:
        heard.append(arguments)
        return await real(*arguments)

    port.instead[name] = listening
    return heard


@contextmanager
def heard() -> Iterator[list[str]]:
    """Every commit and outward act that was done meanwhile."""
    reached: list[str] = []
    failpoints.listen(lambda point, moment: reached.append(point) if moment is Moment.AFTER else None)
    try:
        yield reached
    finally:
        failpoints.listen(None)


@asynccontextmanager
async def forge_world(
    files: dict[str, str] | None = None, **overrides: Any
) -> AsyncIterator[tuple[World, Between]]:
    """A world whose Overlord is started with a `Between` before the forge."""
    async with between_world("forge", files, **overrides) as both:
        yield both


@asynccontextmanager
async def between_world(
    port: str, files: dict[str, str] | None = None, **overrides: Any
) -> AsyncIterator[tuple[World, Between]]:
    """A world in memory whose Overlord is started with a `Between` before one port."""
    made: list[Between] = []

    def before(given: Any) -> Between:
        made.append(Between(given))
        return made[-1]

    async with made_memory_world(files, before={port: before}, **overrides) as world:
        await world.start()
        yield world, made[0]
