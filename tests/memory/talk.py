"""A world in memory with a chat in it. The chat itself is the embedded one, spoken with over its sockets."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tests.chatting import Talk, made_talk
from tests.memory.world import made_memory_world


@contextlib.asynccontextmanager
async def made_memory_talk(files: dict[str, str] | None = None, **overrides: Any) -> AsyncIterator[Talk]:
    """As `made_talk`, of a world in memory."""
    async with made_talk(files, made=made_memory_world, **overrides) as talk:
        yield talk
