"""The stage that tests of one step share."""

from collections.abc import AsyncIterator

import pytest

from tests.engine.stage import Stage, made_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with made_stage() as stage:
        yield stage
