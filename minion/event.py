"""What a running session says between brief and report; a part of `minion/protocol.py`, and used from there."""

from dataclasses import dataclass
from enum import StrEnum


class EventKind(StrEnum):
    """What a running session says between brief and report."""

    HEARTBEAT = "heartbeat"
    PROGRESS = "progress"
    EXPLORING = "exploring"  # what an exploration inside a turn is at; it is no turn of the session's own
    QUESTION = "question"
    LOG = "log"
    CALLED = "called"  # a tool was used; told where the brief asks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One `POST /session/events`. A question also carries an id, options, and (for `scope`) patterns; a call the tool's
    name as its text, how long it took and whether it failed."""

    kind: EventKind
    turn: int = 0
    text: str = ""
    question_id: str = ""
    question_kind: str = "question"
    options: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    duration_s: float = 0.0
    failed: bool = False
