"""A job, and the one table of its legal moves. What is not in TRANSITIONS cannot happen."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, TypedDict

from minion.protocol import Issue
from overlord.domain.event import EventName as E
from overlord.domain.identifiers import NO_COMMIT, RepositoryName, Sha
from overlord.errors import IllegalMove

JobId = NewType("JobId", int)


class JobState(StrEnum):
    """Where a job is on its way from claim to merge."""

    QUEUED = "queued"
    RUNNING = "running"
    EVALUATING = "evaluating"
    DELIVERING = "delivering"
    IN_REVIEW = "in_review"
    WAITING = "waiting"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"


S = JobState

OPEN = frozenset({S.QUEUED, S.RUNNING, S.EVALUATING, S.DELIVERING, S.IN_REVIEW, S.WAITING})
TERMINAL = frozenset(JobState) - OPEN

_BETWEEN: Mapping[JobState, Mapping[E, JobState]] = {
    S.QUEUED: {
        E.SESSION_STARTED: S.RUNNING,
        E.DISPATCH_REFUSED: S.WAITING,
    },
    S.RUNNING: {
        E.WORK_SUBMITTED: S.EVALUATING,
        E.SESSION_LOST: S.QUEUED,
        E.SESSION_STOPPED_SHORT: S.WAITING,
        E.ESCALATED: S.QUEUED,
        E.ESCALATION_RESOLVED: S.QUEUED,
        E.ROLE_COMPLETED: S.QUEUED,
        E.PHASE_COMPLETED: S.QUEUED,
        E.GATE_REJECTED: S.QUEUED,
        E.GATE_REACHED: S.WAITING,
        E.QUESTIONS_ASKED: S.WAITING,
        E.PASSED: S.DELIVERING,
    },
    S.EVALUATING: {
        E.PASSED: S.DELIVERING,
        E.ROLE_COMPLETED: S.QUEUED,
        E.PHASE_COMPLETED: S.QUEUED,
        E.REVISION_ORDERED: S.QUEUED,
        E.ESCALATED: S.QUEUED,
        E.GATE_REACHED: S.WAITING,
        E.QUESTIONS_ASKED: S.WAITING,
        E.FAILED: S.WAITING,
        E.ATTEMPTS_SPENT: S.WAITING,
        E.CHECKS_UNAVAILABLE: S.WAITING,
    },
    S.DELIVERING: {
        E.DELIVERED: S.IN_REVIEW,
        E.DELIVERY_REFUSED: S.WAITING,
    },
    S.IN_REVIEW: {
        E.CHANGES_REQUESTED: S.QUEUED,
        E.CI_FAILED: S.QUEUED,
        E.CONFLICT_FOUND: S.QUEUED,
        E.ROUNDS_SPENT: S.WAITING,
        E.REBASED: S.EVALUATING,
        E.FOREIGN_PUSH_FOUND: S.EVALUATING,
    },
    S.WAITING: {
        E.WORK_RESUMED: S.QUEUED,
        E.CHANGES_REQUESTED: S.QUEUED,
        E.FOREIGN_PUSH_FOUND: S.EVALUATING,
        E.SCOPE_GRANTED: S.EVALUATING,
        E.CHECKS_RESTORED: S.EVALUATING,
        E.DELIVERY_RETRIED: S.DELIVERING,
        E.GATE_APPROVED: S.DELIVERING,
        E.GATE_REJECTED: S.QUEUED,
        E.ROLE_COMPLETED: S.QUEUED,
        E.PHASE_COMPLETED: S.QUEUED,
        E.ESCALATED: S.QUEUED,
        E.GATE_REACHED: S.WAITING,
        E.QUESTIONS_ASKED: S.WAITING,
        E.CONTRACT_EDITED: S.EVALUATING,
    },
}

_FROM_ANY_OPEN: Mapping[E, JobState] = {
    E.MERGED: S.COMPLETED,
    E.PLAN_ACCEPTED: S.COMPLETED,
    E.CALL_ENDED: S.COMPLETED,
    E.STOPPED: S.CANCELLED,
    E.DROPPED: S.CANCELLED,
    E.TAKEN_OVER: S.CANCELLED,
    E.ISSUE_CLOSED: S.CANCELLED,
    E.UNLABELLED: S.CANCELLED,
    E.PR_CLOSED: S.CANCELLED,
    E.LIFETIME_EXCEEDED: S.FAILED,
    E.TERMINATED: S.FAILED,
}

TRANSITIONS: Mapping[tuple[JobState, E], JobState] = {
    (state, event): target
    for state in JobState
    if state in OPEN
    for event, target in {**_BETWEEN[state], **_FROM_ANY_OPEN}.items()
}


def next_state(state: JobState, event: E) -> JobState:
    """Where `event` takes a job that is in `state`; raises IllegalMove when the table has no such move."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalMove(f"a {state} job cannot take {event}") from None


def state_diagram() -> str:
    """TRANSITIONS as a Mermaid state diagram, for ARCHITECTURE.md."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for state, moves in _BETWEEN.items():
        for event, target in moves.items():
            arrows.setdefault((state, target), []).append(event)
    for event, target in _FROM_ANY_OPEN.items():
        arrows.setdefault(("any_open", target), []).append(event)
    lines = ["stateDiagram-v2", "    [*] --> queued: claimed"]
    lines += [f"    {start} --> {end}: {' · '.join(events)}" for (start, end), events in arrows.items()]
    return "\n".join([*lines, *(f"    {state} --> [*]" for state in JobState if state in TERMINAL)])


class RoundKind(StrEnum):
    """What started the current count of two revisions."""

    CLAIM = "claim"
    REVIEW = "review"
    CI = "ci"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One task being worked, from claim to merge. A row; what moves it is in the ledger."""

    id: JobId
    space: RepositoryName
    issue: Issue
    """As it stood when the job was claimed, or when a person last said that its new text counts."""
    state: JobState
    branch: str
    base_branch: str
    contract: str
    phase: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    base_sha: Sha | None = None
    """Where the branch left its base; fixed by the first dispatch."""
    head_sha: Sha | None = None
    """The last canonical commit, or None before the first work came back."""
    phase_sha: Sha | None = None
    """The head its current phase started from, when an earlier phase was completed."""
    role: str = ""
    """Who works, or worked last: an actor of its phase. Empty before the first dispatch, and for jobs of older versions."""
    role_sha: Sha | None = None
    """The head its role's turn started from, when another one worked in this phase before."""
    consultation: str = ""
    """What its next session is asked in place of work, as JSON; empty where it works."""
    pushing_sha: Sha | None = None
    """The commit that was last about to be pushed: where the branch may be at the forge, besides `pushed_sha`."""
    pushed_sha: Sha | None = None
    """What the job's branch at the forge was last seen at."""
    pull_number: int | None = None
    comment_id: int | None = None
    round_kind: RoundKind = RoundKind.CLAIM
    round: int = 0
    """How many rounds there were after the claim's."""
    revision: int = 0
    """0 for a round's first attempt; at most the contract's attempts minus one."""
    losses: int = 0
    """Sessions lost to infrastructure since work last came back; they spend no attempt."""
    reason: str = ""
    """Why it stands where it stands, in a person's words."""
    is_urgent: bool = False
    """Whether its issue carried the priority label when it was claimed: such a job is queued before the others."""
    edited_issue: Issue | None = None
    """As it stands now, if its text is another one: nobody works on that before a person says so."""
    issue_looked_at: datetime | None = None
    """When the issue was last looked for at the forge by itself."""
    issue_missing_at: datetime | None = None
    """When it was first not found there; None while it is there."""
    projected: str = ""
    """The labels and comment last seen at the forge; the tick repairs what differs."""

    @property
    def phase_base(self) -> Sha:
        """What this phase's work is measured against. `NO_COMMIT` before the first dispatch."""
        return self.phase_sha or self.base_sha or NO_COMMIT

    @property
    def role_base(self) -> Sha:
        """What the work of whose turn it is is measured against: a scope is about its own changes only."""
        return self.role_sha or self.phase_base

    @property
    def base(self) -> Sha:
        """Where its branch left its base; `NO_COMMIT` before the first dispatch."""
        return self.base_sha or NO_COMMIT

    @property
    def head(self) -> Sha:
        """Its last canonical commit; `NO_COMMIT` before the first work came back."""
        return self.head_sha or NO_COMMIT

    @property
    def call_number(self) -> int | None:
        """The call of a discipline that it works on, which has no issue at the forge; None for every other job."""
        return -self.issue.number if self.issue.number < 0 else None

    @property
    def issue_number(self) -> int | None:
        """Its issue at the forge; None for the job of a call."""
        return self.issue.number if self.issue.number >= 0 else None

    @property
    def call_ref(self) -> str:
        """The handle of the call it works on, `c7`; empty for every other job."""
        return f"c{-self.issue.number}" if self.issue.number < 0 else ""

    @property
    def issue_ref(self) -> str:
        """What it works on, for people: `acme/calc#7`, and `acme/calc c3` for a call."""
        if (number := self.call_number) is not None:
            return f"{self.space} c{number}"
        return f"{self.space}#{self.issue.number}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


class JobChanges(TypedDict, total=False):
    """What of a job's row may be changed, beside its state: each as the field of `Job` of that name."""

    issue: Issue
    branch: str
    contract: str
    phase: str
    expires_at: datetime
    base_sha: Sha | None
    head_sha: Sha | None
    phase_sha: Sha | None
    role: str
    role_sha: Sha | None
    consultation: str
    pushing_sha: Sha | None
    pushed_sha: Sha | None
    pull_number: int | None
    comment_id: int | None
    round_kind: RoundKind
    round: int
    revision: int
    losses: int
    reason: str
    is_urgent: bool
    edited_issue: Issue | None
    issue_looked_at: datetime | None
    issue_missing_at: datetime | None
    projected: str


def branch_name(issue_number: int, taken: int = 0) -> str:
    """The job's branch: `minion/issue-7`, then `-2`, `-3` when older ones of that name are left over."""
    return f"minion/issue-{issue_number}" + (f"-{taken + 1}" if taken else "")
