"""What the tests of the MCP server stand on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.mcp.asking import Stage, staged


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A server in this process, over a database of its own."""
    async with staged(tmp_path) as made:
        yield made
