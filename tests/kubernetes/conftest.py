"""An embedded cluster, and the runner on it, for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overlord.adapters.kubernetes.runner import KubernetesRunner
from tests.kubernetes_kit import KubernetesKit, kubernetes_kit
from tests.puppet import open_door
from tests.runners import Make, clean


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[KubernetesKit]:
    async with open_door() as session_api, kubernetes_kit(tmp_path, session_api, nodes=2) as kit:
        yield kit
        kit.cluster.api.faults.clear()
        await clean(kit.runner())


@pytest.fixture
async def make(kit: KubernetesKit) -> AsyncIterator[Make]:
    made: list[KubernetesRunner] = []

    def make(program: str = "") -> KubernetesRunner:
        made.append(kit.runner(program))
        return made[-1]

    yield make
    for runner in made:
        await runner.close()
