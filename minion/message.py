"""What people say to a job's sessions; a part of `minion/protocol.py`, and used from there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was asked for this job, a question of an earlier session or what it waited for, and what a person answered."""

    question: str
    answer: str
    by: str = ""
    """Who, as `github:anna`."""
    at: str = ""
    """When, in words: `2026-11-25 14:02 UTC`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Something a person says to a session that works, or said to an earlier one of its job."""

    id: int
    text: str
    by: str
    at: str
    """Both as of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """What a session has not read yet, oldest first."""

    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesTaken:
    """What a session asks for messages with: the turn it is about to take, and those it has in its conversation since it last
    asked. Whatever was not taken is given to it again, and in the end stands in the next session's brief."""

    turn: int
    taken: tuple[int, ...] = ()
