"""What the suites of this folder share: an engine for those that need one, every runner in turn."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from overlord.ports.runner import Runner
from tests.kubernetes_kit import kubernetes_kit
from tests.puppet import open_door
from tests.runners import DockerKit, Kit, Make, MemoryKit, ProcessKit, clean, engine_or_skip, forget


@pytest.fixture
async def docker_engine() -> None:
    await engine_or_skip()


REAL = ["process", "kubernetes", pytest.param("docker", marks=pytest.mark.docker)]
every_runner = pytest.mark.parametrize("kit", ["memory", *REAL], indirect=True)
"""For what the runner in memory promises as well: all but what is said of processes."""


@pytest.fixture(params=REAL)
async def kit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kit]:
    if request.param == "docker":
        await engine_or_skip()
    async with open_door() as session_api, AsyncExitStack() as stack:
        kit: Kit
        match request.param:
            case "docker":
                kit = DockerKit(tmp_path, session_api)
            case "process":
                kit = ProcessKit(tmp_path, session_api)
            case "kubernetes":
                kit = await stack.enter_async_context(kubernetes_kit(tmp_path, session_api))
            case _:
                kit = MemoryKit(session_api)
        yield kit
        await clean(kit.runner())
        if isinstance(kit, DockerKit):
            forget(kit.instance)


@pytest.fixture
async def runners() -> AsyncIterator[list[Runner]]:
    """Runners that a test made, closed at its end."""
    made: list[Runner] = []
    yield made
    for runner in made:
        await runner.close()


@pytest.fixture
def make(kit: Kit, runners: list[Runner]) -> Make:
    def make(program: str = "") -> Runner:
        runners.append(kit.runner(program))
        return runners[-1]

    return make
