"""What is kept for a role between its sessions: what was held against its work, and what others said of how to go on."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class NoteKind(StrEnum):
    """What a note is."""

    MISS = "miss"
    """What its work missed, which was taken back."""
    ESCALATION = "escalation"
    """Why its work was handed up."""
    GUIDANCE = "guidance"
    """The architect's words."""
    REJECTION = "rejection"
    """What was said at a gate that sent the work back."""
    ASSIGNMENT = "assignment"
    """An assignment that the architect defined anew; `source` names it."""
    BLOCKED = "blocked"
    """An assignment that is not to be worked on; `source` names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleNote:
    """A row. An empty `role` means every role of the phase."""

    id: int
    job_id: int
    phase: str
    role: str
    kind: NoteKind
    text: str
    source: str
    """Whose words they are: a session, a person, a check; for an assignment its name."""
    at: datetime
