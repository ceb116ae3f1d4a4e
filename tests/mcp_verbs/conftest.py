"""A caller with every right at a database with two repositories."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.mcp_verbs.desk import Desk, made_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with made_desk(tmp_path) as found:
        await found.filled()
        yield found
