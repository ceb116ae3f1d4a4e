"""The campaign's own Docker engine: started once, with the image in it, and taken down with everything it had."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.adapters.engine import LENT, LentEngine, OwnEngine
from tests.faults.docker_stage import Stage, set_up
from tests.required import missing
from tests.runners import IMAGE, engine_or_skip


@pytest.fixture(scope="session")
def engines() -> Iterator[list[OwnEngine]]:
    """The one engine, once somebody needed it."""
    lent = os.environ.get(LENT)
    made: list[OwnEngine] = [LentEngine(Path(lent))] if lent else []
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


HERE = Path(__file__).parent


LONGEST = (
    *(
        "test_soak",
        "test_mutants",
        "test_forge_matrix_after",
        "test_forge_matrix",
        "test_nth_call",
        "test_chat_faults",
    ),
    *("test_random_kills", "test_sqlite_faults", "test_kills"),
)
"""Modules with tests of a quarter of a minute and more, the longest first."""


@pytest.hookimpl(trylast=True)  # after the order was shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every worker is dealt a row of the list first, and takes from the others' ends: the longest tests begin the rows. Those that
    wait for the campaign's engine are in one row: it is started once, and the other workers compute meanwhile."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    mine = [item for item in items if item.path.parent == HERE]
    waiting = [item for item in mine if item.get_closest_marker("docker")]
    longest = [item for item in mine if item.path.stem in LONGEST and item not in waiting]
    longest.sort(key=lambda item: LONGEST.index(item.path.stem))
    first = {*waiting, *longest}
    others = [item for item in items if item not in first]
    size = len(items) // workers
    rows = [longest[number :: max(workers - 1, 1)] for number in range(max(workers - 1, 1))]
    rows = [waiting, *rows] if workers > 1 else [waiting + longest]
    items.clear()
    for row in rows:
        items += row
        items += others[: max(0, size - len(row))]
        del others[: max(0, size - len(row))]
    items += others
