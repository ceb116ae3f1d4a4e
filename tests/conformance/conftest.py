"""What the suites of this folder share: an engine for those that need one."""

import pytest

from tests.runners import engine_or_skip


@pytest.fixture
async def docker_engine() -> None:
    await engine_or_skip()
