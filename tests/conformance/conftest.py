"""What the suites of this folder share: an engine for those that need one, every runner in turn."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from overlord.embedded.swarm_lab import SwarmLab
from overlord.ports.runner import Runner
from tests import live
from tests.kubernetes_kit import kubernetes_kit
from tests.labs import STAYS_S, SharedRelay, SwarmKit, nodes_lock, remove_networks, shared_lab, shared_relay
from tests.puppet import open_door
from tests.runners import DockerKit, Kit, Make, MemoryKit, ProcessKit, clean, engine_or_skip, forget


@pytest.fixture
async def docker_engine() -> None:
    await engine_or_skip()


REAL = [
    "process",
    "kubernetes",
    *(pytest.param(name, marks=pytest.mark.docker) for name in ("docker", "swarm")),
]
every_runner = pytest.mark.parametrize("kit", ["memory", *REAL], indirect=True)
"""For what the runner in memory promises as well: all but what is said of processes."""


@pytest.fixture(scope="session")
def lab() -> Iterator[SwarmLab]:
    with shared_lab() as lab:
        yield lab


@pytest.fixture(scope="session")
def relay(lab: SwarmLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedRelay]:
    with shared_relay(lab, tmp_path_factory.mktemp("relay")) as relay:
        yield relay


@pytest.fixture(params=REAL)
async def kit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kit]:
    async with AsyncExitStack() as stack:
        if request.param == "docker":
            await engine_or_skip()
        where: tuple[str, int] = ("", 0)
        if request.param == "swarm":
            relay: SharedRelay = request.getfixturevalue("relay")
            if live.swarm() is None:
                stack.enter_context(nodes_lock(alone=False))
            where = (relay.lab.host, relay.port)
        if request.param == "kubernetes" and live.has_kubernetes():
            where = (live.host(), 0)
        session_api = await stack.enter_async_context(open_door(*where))
        kit: Kit
        match request.param:
            case "docker":
                kit = DockerKit(tmp_path, session_api)
            case "process":
                kit = ProcessKit(tmp_path, session_api)
            case "kubernetes" if live.has_kubernetes():
                kit = live.LiveKubernetesKit(tmp_path, session_api)
            case "kubernetes":
                kit = await stack.enter_async_context(kubernetes_kit(tmp_path, session_api))
            case "swarm" if request.module.__name__.endswith("layers"):
                # A setup is an engine's own container, and what its engine tells of an earlier one of the same name must not count.
                kit = SwarmKit(tmp_path, session_api, relay.lab, idle_s=STAYS_S)
            case "swarm":
                kit = relay.kit(tmp_path, session_api)
            case _:
                kit = MemoryKit(session_api)
        yield kit
        await clean(kit.runner())
        if isinstance(kit, DockerKit):
            forget(kit.instance)
        if isinstance(kit, SwarmKit):
            if kit.instance != relay.instance:
                await remove_networks(kit)
                kit.idle_s = 0.0
            for node in kit.lab.nodes:
                forget(kit.instance, host=node.address)
            assert await kit.emptied() == {}


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
