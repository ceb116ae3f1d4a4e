"""A ground for each test, on a path short enough for sockets."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.session_api.ground import Ground, made_ground


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp") as root:
        async with made_ground(Path(root)) as made:
            yield made
