"""A task: one thing wanted of an initiative, with what has to be so once it is done. It becomes an issue, then a job."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.domain.portfolio.priority import Priority

MOST_SUBJECT_CHARS = 200
MOST_DESCRIPTION_CHARS = 8_000
MOST_CRITERIA = 20
MOST_CRITERION_CHARS = 500
MOST_NOTES_CHARS = 4_000
MOST_LABELS = 10
MOST_LINKS = 50
"""Tasks that one task waits for."""


class TaskState(StrEnum):
    """How far it is."""

    PROPOSED = "proposed"
    """Of a plan that nobody has approved, or discovered and not accepted yet."""
    PENDING = "pending"
    """Wanted, and nobody works on it."""
    IN_PROGRESS = "in_progress"
    """It was assigned: an issue is opened for it, and a job works on that."""
    DONE = "done"
    CANCELLED = "cancelled"


ENDED = (TaskState.DONE, TaskState.CANCELLED)
LIVE = (TaskState.PENDING, TaskState.IN_PROGRESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressedCriterion:
    """What was said of one acceptance criterion when the task was completed."""

    number: int
    """From 1, in the order of the task's criteria."""
    evidence: str
    """Where it can be seen: a test, a file, a command. A session's or a person's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A row."""

    id: int
    initiative_id: int
    number: int
    """Within its initiative; never used twice."""
    space: str
    subject: str
    description: str
    acceptance_criteria: tuple[str, ...]
    state: TaskState
    priority: Priority
    created_by: str
    """The ledger's actor, or `session:` and its name."""
    created_at: datetime
    updated_at: datetime
    labels: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """What it is expected to write, as scope patterns: its lease. Empty where nothing was said."""
    completed_at: datetime | None = None
    completion_notes: str = ""
    addressed: tuple[AddressedCriterion, ...] = ()
    issue_request_id: int | None = None
    issue_number: int | None = None
    job_id: int | None = None
    """The last job that worked on it."""
    waits: str = ""
    """Why it is not begun, or does not go on, in a few words."""
    attempts: int = 0
    """How many of its jobs have ended without a merge."""
    is_linked: bool = False
    """Whether its issue is a sub-issue of the initiative's, or cannot be."""
    is_issue_closed: bool = False
    """Whether its issue was seen closed."""

    @property
    def ref(self) -> str:
        """As people write it: `i3.4`."""
        return f"i{self.initiative_id}.{self.number}"

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_addressed(self) -> bool:
        """Whether something was said of every criterion."""
        said = {item.number for item in self.addressed if item.evidence.strip()}
        return all(number in said for number in range(1, len(self.acceptance_criteria) + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLink:
    """One task waits for another."""

    blocker_id: int
    blocked_id: int
    is_at_forge: bool = False
    """Whether the forge knows it, or cannot."""
