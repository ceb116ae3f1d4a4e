"""A message to a job: what a person says to its Minion, and what became of it. It is read by a session that works, before its
model's next turn, or else stands in the brief of the next one."""

from dataclasses import dataclass
from datetime import datetime

from overlord.domain.job import JobId
from overlord.domain.text.plain import visible
from overlord.errors import Refused

MOST_CHARS = 4000
MOST_WAITING = 10
"""Messages of a job that nobody has read yet."""
MOST_OF_JOB = 200
MOST_BRIEFED = 20
"""Those that a later session is told again, the newest ones; what nobody has read is always told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringMessage:
    """A row."""

    id: int
    job_id: JobId
    text: str
    actor: str
    at: datetime
    session_id: str | None = None
    """The session that is to read it, and once it was read, the one that has."""
    missed_by: str | None = None
    """The session that ended before it had read it."""
    is_read: bool = False
    turn: int = 0
    """Before which turn it was read; 0 where it stands in the session's brief."""
    comment_id: int | None = None
    """The comment at the forge it was said in, where its author is to be told once more."""
    is_told: bool = False

    def outcome(self, *, is_open: bool = True) -> str:
        """What became of it, in a sentence for whoever said it. `is_open`: whether its job is."""
        if self.is_read and self.turn:
            return f"The Minion of {self.session_id} has read message {self.id} at turn {self.turn}."
        if self.is_read:
            return f"Message {self.id} is in the brief of {self.session_id}."
        if not is_open:
            return f"Nobody has read message {self.id}: its job has ended."
        if self.session_id is not None:
            return f"Message {self.id}: the Minion of {self.session_id} reads it before its next turn; another agent, when it next stops."
        if self.missed_by is not None:
            return f"{self.missed_by} ended before it read message {self.id}: it goes into the next brief."
        return f"Message {self.id}: no session is at work; it goes into the next brief."

    @property
    def is_under_way(self) -> bool:
        """Whether a session that works is still to read it."""
        return not self.is_read and self.session_id is not None


def message_text(text: str) -> str:
    """What a person says, as it is kept. Raises Refused for nothing, or too much."""
    sentence = visible(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if not sentence:
        raise Refused("say what the Minion is to read, in words")
    if len(sentence) > MOST_CHARS:
        raise Refused(f"a message has at most {MOST_CHARS:,} characters; this one has {len(sentence):,}")
    return sentence
