"""What a conversation with an agent has of its session; the same for a program per prompt and for one that is spoken to."""

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from minion.agents.agent import Given, Said, SaidKind
from minion.heartbeat import Heartbeat
from minion.loopback import Traffic
from minion.session import Session

MOST_PRINTED_CHARS = 1024 * 1024
"""Of an agent's words, in the log of the session's container."""
LONGEST_PRINTED_LINE = 500
PROGRESS_AT_ONCE = 50
PROGRESS_PER_S = 5.0
"""An agent that does more than this is not told of action by action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """All of it. Used by the main thread only."""

    session: Session
    """Its `turn` is counted by the conversation."""
    given: Callable[[], Given]
    """As it is now: the scope may have been widened since the last prompt."""
    environment: Callable[[], dict[str, str]]
    """What an agent's program is started with, beside what it asks for itself."""
    beat: Heartbeat
    traffic: Traffic
    teller: "Teller"
    tick: Callable[[], None] = lambda: None
    """Called again and again while a program runs; saves work in progress now and then."""
    quiet: Callable[[], AbstractContextManager[None]] = nullcontext
    """Surrounds the end of a program: no tool of the session's own runs git meanwhile."""
    is_decided: Callable[[], bool] = lambda: False
    """Whether a tool of the session's own has ended it: the program is to leave."""


class Teller:
    """Tells people what an agent does: progress to Overlord, a bounded line each to the container's log."""

    def __init__(self, beat: Heartbeat, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._beat = beat
        self._clock = clock
        self._printed_chars = 0
        self._left = float(PROGRESS_AT_ONCE)
        self._told_at = clock()

    def tell(self, turn: int, said: Said) -> None:
        """Tell of one piece of output."""
        text = " ".join(said.text.split())
        if said.kind is SaidKind.ACTION:
            now = self._clock()
            self._left = min(self._left + (now - self._told_at) * PROGRESS_PER_S, PROGRESS_AT_ONCE)
            self._told_at = now
            if self._left >= 1:
                self._left -= 1
                self._beat.progress(turn, text or "(it does something it does not name)")
        if said.kind is not SaidKind.TURN:
            self._print(f"{said.kind}: {text}")

    def log(self, text: str) -> None:
        """Tell Overlord's log, and the container's."""
        self._beat.log(text)
        self._print(text)

    def _print(self, text: str) -> None:
        line = text[:LONGEST_PRINTED_LINE]
        if self._printed_chars + len(line) > MOST_PRINTED_CHARS:
            return
        self._printed_chars += len(line)
        print(f"minion: {line}".encode("utf-8", "replace").decode(), file=sys.stderr, flush=True)
