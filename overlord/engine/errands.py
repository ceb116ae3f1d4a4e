"""Steps under way, one at a time for each key. A quick one is waited for; a slow one rings when it is done."""

import asyncio
from collections.abc import Awaitable, Callable

QUICK_S = 0.05
"""How long a pass waits for the steps it started; most are done in a few milliseconds."""
LAST_WAIT_S = 5.0


class Errands:
    """`ring` is called when a step that was not waited for has moved something."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._under_way: dict[str, asyncio.Task[bool]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._under_way

    def start(self, key: str, act: Callable[[], Awaitable[bool]]) -> None:
        """Start a step, unless one of this key is under way."""
        if key not in self._under_way:
            self._under_way[key] = asyncio.ensure_future(_run(act))

    async def news(self) -> bool:
        """Wait a moment for what is under way; whether anything that ended has moved something."""
        if not self._under_way:
            return False
        done, late = await asyncio.wait(self._under_way.values(), timeout=QUICK_S)
        self._under_way = {key: task for key, task in self._under_way.items() if task in late}
        for task in late:
            task.remove_done_callback(self._announce)
            task.add_done_callback(self._announce)
        results = [task.result() for task in done]
        return any(results)

    def _announce(self, _task: asyncio.Task[bool]) -> None:
        self._ring()

    async def close(self) -> None:
        """Wait a little for what is under way, then stop it: every step can be repeated."""
        tasks = list(self._under_way.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=LAST_WAIT_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(act: Callable[[], Awaitable[bool]]) -> bool:
    return await act()
