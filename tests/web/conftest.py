"""One browser for each worker."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser

from tests.web.browser import launched


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium; its tests run in the session's loop: `pytest.mark.asyncio(loop_scope="session")`."""
    async with launched() as made:
        yield made
