"""What people do and say around an issue: who put a label on, what was written where, and how it is acknowledged."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from minion.protocol import Comment


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelling:
    """Who put a label on an issue last, and what has become of its text since."""

    actor: str
    is_bot: bool
    at: datetime
    is_off: bool = False
    """Whether somebody has taken it off again."""
    is_edited: bool = False
    """Whether title or text were changed after that, or in the same second."""

    def with_changes(self, *changed: datetime | None) -> "Labelling":
        """The same, of an issue that was changed at these times."""
        return replace(self, is_edited=any(at is not None and at >= self.at for at in changed))


class Reaction(StrEnum):
    """How a comment is acknowledged."""

    SEEN = "eyes"
    DONE = "+1"
    CONFUSED = "confused"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedComment:
    """A comment and where it stands; `at` is when it was last changed."""

    id: int
    number: int
    """Of the issue or pull request."""
    comment: Comment
    is_bot: bool
    at: datetime
