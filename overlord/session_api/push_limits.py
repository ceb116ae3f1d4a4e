"""How much a session may push: one push at a time, and a sum for all of them that lies on the disk, so that no restart forgets it."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from overlord.domain.session import MAX_PUSH_BYTES, MAX_PUSHED_BYTES
from overlord.git_limits import READING, SETTINGS
from overlord.home import Home
from overlord.smart_http import Serving

_MIB = 1024 * 1024
_UNFINISHED = ("tmp_objdir-*", "incoming-*")
"""Where git keeps a push until it is accepted, by the names of its versions."""


class Pushes:
    """Of all sessions. What lies in a session's repository beyond what it began with, it has pushed."""

    def __init__(self) -> None:
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def one(self, home: Home, session_id: str) -> AsyncIterator[Serving]:
        """How the repository is served while nobody else pushes there. What a push leaves that was cut off is removed."""
        async with self._alone.setdefault(session_id, asyncio.Lock()):
            await asyncio.to_thread(_clear, home, session_id)
            left = await left_bytes(home, session_id)
            try:
                yield receiving(left)
            finally:
                await asyncio.to_thread(_clear, home, session_id)


async def left_bytes(home: Home, session_id: str) -> int:
    """How much a session may still push."""
    return max(MAX_PUSHED_BYTES - await asyncio.to_thread(home.pushed_bytes, session_id), 0)


def receiving(left: int) -> Serving:
    """How a push is taken in by whoever has so many bytes left."""
    return Serving(
        limits=READING,
        settings={**SETTINGS, "receive.maxInputSize": str(max(min(left, MAX_PUSH_BYTES), 1))},
        refusal=(
            f"A push may have {MAX_PUSH_BYTES // _MIB} MiB, all pushes of this session {MAX_PUSHED_BYTES // _MIB} MiB together"
            f" ({left // _MIB} MiB are left), and to read one git may take {READING.memory_bytes // _MIB} MiB of memory and"
            f" {READING.cpu_s} s of the processor."
        ),
    )


def spent() -> str:
    """What a session is told that has nothing left."""
    return f"this session has pushed {MAX_PUSHED_BYTES // _MIB} MiB, and may push no more"


def _clear(home: Home, session_id: str) -> None:
    objects = home.session_repository(session_id) / "objects"
    for pattern in _UNFINISHED:
        for left in objects.glob(pattern):
            shutil.rmtree(left, ignore_errors=True)
