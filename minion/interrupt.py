"""TERM and the session's time limit, raised as `Interrupted` only where the Minion waits.

A signal that comes while a file is being written or git runs is remembered and raised at the next wait, so
an ending never leaves half a change behind. Only the first signal counts.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from minion.errors import Interrupted


class Interrupts:
    """Listens to TERM, and to an alarm that is set for the session's time limit."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._waiting = False
        self._thread: threading.Thread | None = None
        """The one that signals reach."""
        self.is_ending = False
        """Whether the session was told to end, or ends already; for threads beside the main one, which nothing interrupts."""

    def listen(self) -> None:
        """Take over the signals; only the main thread may."""
        self._thread = threading.current_thread()
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGALRM, self._on_signal)

    def limit(self, time_s: float) -> None:
        """End the session `time_s` seconds from now."""
        signal.setitimer(signal.ITIMER_REAL, time_s)

    def ignore(self) -> None:
        """From here on nothing interrupts: the session is ending already."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        self._reason = None
        self.is_ending = True

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What runs inside may end with Interrupted at any moment. In a thread that no signal reaches, nothing is interrupted."""
        if self._thread not in (None, threading.current_thread()):
            yield
            return
        self._waiting = True
        try:
            self._check()
            yield
        finally:
            self._waiting = False

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.is_ending = True
        if self._reason is None:
            self._reason = "terminated" if number == signal.SIGTERM else "time_limit"
            if self._waiting:
                self._check()

    def _check(self) -> None:
        if self._reason is not None:
            raise Interrupted(self._reason)
