"""Steps under way, one at a time for each key. A pass waits a moment for those it started; one that takes longer rings when
it has moved something.

What a pass wants of a key whose step is under way is done after that step: it may have looked before the fact. It is no
reason for another pass, else slow looks would keep each other going for ever.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from overlord.engine.runtime.progress import Progress

QUICK_S = 0.05
"""How long a pass waits for the steps it started; most are done in a few milliseconds."""
LAST_WAIT_S = 5.0

Act = Callable[[], Awaitable[Progress]]


class BackgroundSteps:
    """`ring` is called when a step that no pass waits for has moved something, or raised."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self._under_way: dict[str, asyncio.Task[Progress]] = {}
        self._next: dict[str, Act] = {}
        self._awaited: set[asyncio.Task[Progress]] = set()
        self._error: BaseException | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._under_way

    def is_under_way(self, key: str) -> bool:
        """Whether a step that is started now would have to wait for another of its key."""
        return key in self._under_way

    def start(self, key: str, act: Act) -> None:
        """Start a step; while one of this key is under way, once that has ended without having moved anything."""
        if key in self._under_way:
            self._next[key] = act
        else:
            self._awaited.add(self._begin(key, act))

    async def news(self) -> Progress:
        """Wait a moment for what was just started; whether some of it has moved something. Raises what a step raised.

        What has moved is not kept waiting by what takes its time.
        """
        until = asyncio.get_running_loop().time() + QUICK_S
        late, moved = set(self._awaited), False
        try:
            while late and not moved:
                left_s = until - asyncio.get_running_loop().time()
                done, late = await asyncio.wait(late, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
                moved = any(task.result() for task in done)
        finally:
            self._awaited.clear()
        if self._error is not None:
            raise self._error
        return Progress.of(moved)

    async def rest(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way:
            await asyncio.wait(self._under_way.values())

    async def close(self) -> None:
        """Wait a little for what is under way, then stop it: every step can be repeated."""
        self._next.clear()
        tasks = list(self._under_way.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=LAST_WAIT_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, key: str, act: Act) -> asyncio.Task[Progress]:
        task = self._under_way[key] = asyncio.ensure_future(_run(act))
        task.add_done_callback(partial(self._ended, key))
        return task

    def _ended(self, key: str, task: asyncio.Task[Progress]) -> None:
        del self._under_way[key]
        following = self._next.pop(key, None)
        if task.cancelled():
            return
        self._error = self._error or task.exception()
        if task.exception() is None and not task.result():
            if following is not None:
                self._begin(key, following)
        elif task not in self._awaited:
            self._notify()


async def _run(act: Act) -> Progress:
    return await act()
