"""A checkout for each test."""

from pathlib import Path

import pytest

from tests.local import made
from tests.mcp_checkout.checkouts import Kept


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A repository with two commits, checked out, and an empty home."""
    return Kept(root=made(tmp_path.resolve() / "calc"), home=tmp_path.resolve() / "home")
