"""A database on disk for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overlord.store.database import Database
from tests.stored import opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "overlord.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    async with opened(path) as found:
        yield found
