"""The session's sign of life: heartbeats and progress, sent beside the work by a thread that never delays it."""

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from minion.errors import SessionApiGone, SessionApiRefused
from minion.protocol import EVENTS_PATH, Event, EventKind, encode
from minion.session_api import SessionApi

HEARTBEAT_S = 60.0


class Heartbeat:
    """Says that the session lives every `interval_s`, and what it does when told. A missing session API costs nothing."""

    def __init__(self, session_api: SessionApi, *, interval_s: float = HEARTBEAT_S) -> None:
        self._session_api = session_api.another(patience_s=0)
        self._interval_s = interval_s
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._turn = 0
        self.tells_calls = False
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)
        self._thread.start()

    def progress(self, turn: int, text: str) -> None:
        self._turn = turn
        self._events.put(Event(kind=EventKind.PROGRESS, turn=turn, text=text[:500]))

    def exploring(self, turn: int, text: str) -> None:
        """Tell what an exploration is at, inside a turn of the session."""
        self._events.put(Event(kind=EventKind.EXPLORING, turn=turn, text=f"explores: {text}"[:500]))

    @contextmanager
    def timing(self, turn: int, tool: str) -> Iterator[None]:
        """Tell of the use of a tool, once the block is left, where it is wanted."""
        began, failed = time.monotonic(), True
        try:
            yield
            failed = False
        finally:
            if self.tells_calls:
                took_s = time.monotonic() - began
                self._events.put(
                    Event(kind=EventKind.CALLED, turn=turn, text=tool[:100], duration_s=took_s, failed=failed)
                )

    def log(self, text: str) -> None:
        self._events.put(Event(kind=EventKind.LOG, turn=self._turn, text=text[-4000:]))

    def stop(self) -> None:
        """Send what is still queued, but wait no longer than a moment for it."""
        self._events.put(None)
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while True:
            try:
                event = self._events.get(timeout=self._interval_s)
            except queue.Empty:
                event = Event(kind=EventKind.HEARTBEAT, turn=self._turn)
            if event is None:
                self._session_api.close()
                return
            self._send(event)

    def _send(self, event: Event) -> None:
        try:
            self._session_api.post(EVENTS_PATH, encode(event), timeout_s=10.0)
        except (SessionApiGone, SessionApiRefused):
            return
