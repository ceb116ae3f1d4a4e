"""An escalation: what a session cannot decide, put to whoever can, while the session goes on with something else."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.domain.portfolio.priority import Priority

MOST_QUESTION_CHARS = 1_000
MOST_CONTEXT_CHARS = 8_000
MOST_SUGGESTED = 6


class EscalationType(StrEnum):
    """What a person is to do."""

    DECISION = "decision"
    """Pick one of several."""
    BLOCKER = "blocker"
    """Provide what is needed."""
    QUESTION = "question"
    """Answer it."""
    APPROVAL = "approval"
    """Approve or redirect."""


class EscalationKind(StrEnum):
    """What it is about, which says who may decide."""

    DEPENDENCY = "dependency"
    """A new dependency or tool."""
    CONVENTION = "convention"
    """A pattern that contradicts what is agreed on."""
    OTHER_SPACE = "other_space"
    """Work that may affect another repository."""
    SCOPE = "scope"
    """Whether something more belongs to it."""
    DIRECTION = "direction"
    """Another direction, or a new initiative."""
    TRADE_OFF = "trade_off"
    """Several ways, and no clear best one."""
    CREDENTIALS = "credentials"
    """An access, a credential, an account."""
    DETAIL = "detail"
    """Naming, structure, a test's form: the session decides it and notes it."""


class Tier(StrEnum):
    """Who decides."""

    SESSION = "session"
    ORCHESTRATOR = "orchestrator"
    """Overlord's code, from a recorded rule or note; without one, a person."""
    PERSON = "person"


TIERS: Mapping[EscalationKind, Tier] = {
    EscalationKind.DETAIL: Tier.SESSION,
    EscalationKind.DEPENDENCY: Tier.ORCHESTRATOR,
    EscalationKind.CONVENTION: Tier.ORCHESTRATOR,
    EscalationKind.OTHER_SPACE: Tier.ORCHESTRATOR,
    EscalationKind.SCOPE: Tier.ORCHESTRATOR,
    EscalationKind.DIRECTION: Tier.PERSON,
    EscalationKind.TRADE_OFF: Tier.PERSON,
    EscalationKind.CREDENTIALS: Tier.PERSON,
}
"""A rule that a person made answers what is a person's too: it is their own word."""


class EscalationState(StrEnum):
    """How far it is."""

    DRAFT = "draft"
    """A session wrote it, and Overlord has not looked at it."""
    PENDING = "pending"
    """A person is asked."""
    RESOLVED = "resolved"
    WITHDRAWN = "withdrawn"
    """Nobody needs it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedAnswer:
    """An answer that is offered."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """A row."""

    id: int
    type: EscalationType
    kind: EscalationKind
    space: str
    question: str
    """A session's words: untrusted."""
    context: str
    suggested: tuple[SuggestedAnswer, ...]
    """The one it recommends first."""
    escalated_by: str
    """`session:` and its name, or the ledger's actor."""
    path: tuple[str, ...]
    """Who had it before it came to a person."""
    priority: Priority
    state: EscalationState
    created_at: datetime
    initiative_id: int | None = None
    task_id: int | None = None
    """The task it blocks."""
    job_id: int | None = None
    session_id: str | None = None
    blocks_initiative: bool = False
    """Whether nothing of the initiative can go on without it."""
    decision_id: int | None = None
    resolution: str = ""
    resolved_by: str = ""
    """Who: the ledger's actor; `overlord` for what a rule or a note says."""
    cites: str = ""
    """The rule or note it was resolved from: `r2`, `n12`."""
    resolved_at: datetime | None = None
    is_delivered: bool = False
    """Whether a session was told of the resolution."""
    searched: str = ""
    """The fingerprint of the knowledge that was searched for an answer: the same is asked once."""

    @property
    def ref(self) -> str:
        """As people write it: `e5`."""
        return f"e{self.id}"

    @property
    def is_open(self) -> bool:
        return self.state in (EscalationState.DRAFT, EscalationState.PENDING)
