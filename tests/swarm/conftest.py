"""The lab, alone: what is done to a node here would end the sessions of every other test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from overlord.embedded.swarm_lab import HOST, SwarmLab
from tests.labs import SwarmKit, nodes_lock, remove_networks, shared_lab
from tests.puppet import open_door
from tests.runners import clean, forget


@pytest.fixture(scope="session")
def lab() -> Iterator[SwarmLab]:
    with shared_lab() as lab:
        yield lab


@pytest.fixture
async def kit(lab: SwarmLab, tmp_path: Path) -> AsyncIterator[SwarmKit]:
    with nodes_lock(alone=True):
        for node in lab.nodes:  # what tests that were killed left
            await node.docker("volume", "prune", "--force")
        async with open_door(HOST) as session_api:
            kit = SwarmKit(tmp_path, session_api, lab)
            yield kit
            await clean(kit.runner())
            await remove_networks(kit)
            for node in lab.nodes:
                forget(kit.instance, host=node.address)
            assert await kit.emptied(alone=True) == {}
