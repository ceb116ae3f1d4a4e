"""A ground for each test, on a path short enough for sockets."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.session_api.ground import Ground, made_ground


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module's `WAYS` are how its sessions come, one after another."""
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", getattr(metafunc.module, "WAYS", ("unix",)))


@pytest.fixture
async def ground(way: str) -> AsyncIterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as root:
        async with made_ground(Path(root), way=way) as made:
            yield made
