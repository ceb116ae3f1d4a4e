"""Ctrl-C, twice: the first lets what runs come to a good end, the second does not wait for it."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator

INTERRUPTED = 130
"""The exit code of what somebody stopped."""


class Interruption:
    """Ctrl-C and TERM: the first asks the run to stop, the next ends the process at once."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.came = asyncio.Event()
        self._leave = leave

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self._handle_signal)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _handle_signal(self) -> None:
        if self.came.is_set():
            self._leave()
        self.came.set()
