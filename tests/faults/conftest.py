"""The campaign's own Docker engine: started once, with the image in it, and taken down with everything it had."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.adapters.engine import OwnEngine
from tests.faults.docker_stage import Stage, set_up
from tests.required import missing
from tests.runners import IMAGE, engine_or_skip


@pytest.fixture(scope="session")
def engines() -> Iterator[list[OwnEngine]]:
    """The one engine, once somebody needed it."""
    made: list[OwnEngine] = []
    yield made
    for engine in made:
        engine.remove()


@pytest.fixture
async def engine(engines: list[OwnEngine]) -> OwnEngine:
    """The engine, running. Skips where there is none to bring the image from, or none may be started."""
    await engine_or_skip()
    if os.getuid() != 0:
        missing("docker", "only root can start a Docker engine")
    if not engines:
        engines.append(OwnEngine())
        await asyncio.to_thread(engines[0].start)
        await asyncio.to_thread(engines[0].load, IMAGE)
    if engines[0].live_restore:
        await asyncio.to_thread(engines[0].end, signal.SIGTERM)
    if not engines[0].is_up:
        await asyncio.to_thread(engines[0].start)
    return engines[0]


@pytest.fixture
async def stage(engine: OwnEngine) -> AsyncIterator[Stage]:
    """A world whose containers run in the campaign's engine, behind a proxy."""
    async with set_up(engine) as stage:
        yield stage


SHARED = frozenset(
    {"test_kills", "test_random_kills", "test_nth_call", "test_forge_matrix", "test_sqlite_faults"}
)
"""Modules of many like cases, of which `make test` tries every third; with FAULT_ALL, as in `make faults`, all."""
SHARE = 3
HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("FAULT_ALL"):
        return
    many = sorted((item for item in items if _is_one_of_many(item)), key=lambda item: item.nodeid)
    kept = {item.nodeid for item in many[::SHARE]}
    left_out = [item for item in many if item.nodeid not in kept]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _is_one_of_many(item: pytest.Item) -> bool:
    return item.path.parent == HERE and item.path.stem in SHARED and "[" in item.name
