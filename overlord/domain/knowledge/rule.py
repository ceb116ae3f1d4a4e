"""A rule: a person's answer that counts again, for the same question."""

from dataclasses import dataclass
from datetime import datetime

MOST_ANSWER_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A row. It answers questions of sessions alone: never a gate, an approval, a budget or a scope."""

    id: int
    space: str
    """Empty: in all of them."""
    question: str
    """The words of the question it was made of."""
    words: tuple[str, ...]
    """What a question has to say for it to count: all of these, in any order, as `domain/knowledge/matching.py` reads words."""
    answer: str
    actor: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str = ""
    decision_id: int | None = None
    """The decision whose answer it repeats."""
    escalation_id: int | None = None
    used: int = 0
    used_at: datetime | None = None

    @property
    def ref(self) -> str:
        """As people write it: `r2`."""
        return f"r{self.id}"

    def counts(self, at: datetime) -> bool:
        """Whether it is neither revoked nor over."""
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)
