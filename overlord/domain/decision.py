"""A decision: anything a person must answer, whoever raised it: a job, a repository, a proposal, a draft of a skill.

It goes from draft to open, is answered once by somebody of its audience, and the answer is bound to what was shown.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256

from overlord.domain.job import JobId

SCOPE_GRANT_LIFETIME = timedelta(days=14)
"""How long a job may write more than it was given."""


class DecisionKind(StrEnum):
    """How it is put to people."""

    DECISION = "decision"
    BLOCKER = "blocker"
    QUESTION = "question"
    APPROVAL = "approval"
    PROPOSAL = "proposal"
    DRAFT = "draft"


class DecisionState(StrEnum):
    DRAFT = "draft"
    """What it is about is still being made: nobody is asked yet, and it can only be done without."""
    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


class Audience(StrEnum):
    """Whose answer counts, at least."""

    WRITER = "writer"
    """Who may write to the repository."""
    APPROVER = "approver"
    """A person whom the settings name: no text, no program and no account of the forge."""


class ApprovalKind(StrEnum):
    """What people approve and reject, by the numbers they know."""

    DECISION = "decision"
    PROPOSAL = "proposal"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRef:
    """A decision `5`, a proposal `p3` or a draft `d3`."""

    kind: ApprovalKind
    number: int

    @property
    def label(self) -> str:
        """As people write it."""
        return f"{_PREFIXES[self.kind]}{self.number}"

    @property
    def name(self) -> str:
        """With what it is: `decision 5`, `proposal p3`."""
        return f"{self.kind} {self.label}"


_PREFIXES = {ApprovalKind.DECISION: "", ApprovalKind.PROPOSAL: "p", ApprovalKind.DRAFT: "d"}


class Subject(StrEnum):
    """What a decision is about: the code that says who raises it and what its answers do."""

    EMPTY_REPOSITORY = "empty_repository"
    ENVIRONMENT = "environment"
    DEPENDENCIES = "dependencies"
    DISPATCH_REFUSED = "dispatch_refused"
    FOUND_WORK = "found_work"
    BLOCKED = "blocked"
    STOPPED_SHORT = "stopped_short"
    BUDGET = "budget"
    LOSSES = "losses"
    MODEL = "model"
    UNTESTED = "untested"
    """Before the first session."""
    NO_TESTS = "no_tests"
    """Of a change that was made."""
    NO_TOOLCHAIN = "no_toolchain"
    CHECKS_UNAVAILABLE = "checks_unavailable"
    ESCALATION = "escalation"
    FAILED = "failed"
    PROTECTED_CHANGE = "protected_change"
    CHANGED_TESTS = "changed_tests"
    """What tests expect is not what they expected, or a red one was rewritten or stays red, and nobody but a person can say whether that
    is right."""
    UNPROVEN = "unproven"
    SCOPE = "scope"
    SCOPE_REQUEST = "scope_request"
    SCOPE_UNKNOWN = "scope_unknown"
    GATE = "gate"
    """Of the job's contract: may the work go on?"""
    EXHAUSTED = "exhausted"
    """A role has used up its budget, and its contract puts that to a person."""
    SCOPE_EXPANSION = "scope_expansion"
    """The architect asks for more paths for a role."""
    DISCOVERY = "discovery"
    """An architect asks what neither documents nor code say."""
    CONTRACT_INVALID = "contract_invalid"
    """The contract that an architect proposes does not hold, and it had all its tries."""
    QUESTION = "question"
    DELIVERY_REFUSED = "delivery_refused"
    ISSUE_EDITED = "issue_edited"
    ROUNDS = "rounds"
    SPACE_GONE = "space_gone"
    SPACE_DOUBLED = "space_doubled"
    PROPOSAL = "proposal"
    RESTING_PROPOSAL = "resting_proposal"
    SKILL_DRAFT = "skill_draft"
    INITIATIVE = "initiative"
    """Overlord came upon a goal: is an initiative for it wanted?"""
    DISCOVERED_TASK = "discovered_task"
    """A session came upon more work."""
    ESCALATED = "escalated"
    """What a session cannot decide, and no rule or note says."""
    NOTE = "note"
    """A draft of a note: does it count?"""
    NOTE_PROMOTION = "note_promotion"
    """What was noted in two spaces: does it count in all?"""
    STALE_TASK = "stale_task"
    """A task that has waited for long."""
    TASK_ENDED = "task_ended"
    """The job of a task ended without a merge."""
    TASK_MERGED = "task_merged"
    """The work of a task was merged, and not everything was said of what was done."""
    PLANNING_ENDED = "planning_ended"
    """The job that planned an initiative ended without a plan."""
    CONFLICT = "conflict"
    """What is noted in two spaces, or wanted of them, does not go together."""


class Verb(StrEnum):
    """What an answer does. The tick carries it out."""

    RETRY = "retry"
    ONE_MORE = "one_more"
    INSTALL = "install"
    TAKE_OVER = "take_over"
    DROP = "drop"
    ADD_BUDGET = "add_budget"
    ONCE = "once"
    GRANT = "grant"
    REFUSE = "refuse"
    LIMIT = "limit"
    UNRESTRICTED = "unrestricted"
    ACCEPT = "accept"
    WITHOUT_TESTS = "without_tests"
    WRITE_TESTS = "write_tests"
    RECHECK = "recheck"
    REDELIVER = "redeliver"
    REPLY = "reply"
    ADOPT = "adopt"
    KEEP = "keep"
    APPROVE = "approve"
    REJECT = "reject"


_AGAIN = frozenset({Verb.RETRY, Verb.RECHECK, Verb.REDELIVER})
FOR_MACHINES: Mapping[Subject, frozenset[Verb]] = {
    Subject.QUESTION: frozenset({Verb.REPLY}),
    Subject.BLOCKED: frozenset({Verb.RETRY, Verb.REPLY}),
    Subject.STOPPED_SHORT: frozenset({Verb.RETRY, Verb.REPLY}),
    Subject.ENVIRONMENT: _AGAIN,
    Subject.LOSSES: _AGAIN,
    Subject.MODEL: _AGAIN,
    Subject.NO_TOOLCHAIN: _AGAIN,
    Subject.CHECKS_UNAVAILABLE: _AGAIN,
    Subject.DELIVERY_REFUSED: _AGAIN,
}
"""What another agent may answer, and how: words for a session that asks, and another try where something failed that is no fault of the
work. All else asks a person: gates, approvals, budgets, scopes, escalations, and what no line here names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A row: what is asked, what it rests on, what it blocks, and the answer once there is one."""

    id: int
    job_id: JobId | None
    """None for what is about a space as a whole."""
    kind: DecisionKind
    subject: Subject
    title: str
    body: str
    """What it rests on: facts of Overlord's; a model's or a repository's words only as quotes."""
    verbs: tuple[Verb, ...]
    """The answers offered, the suggested one first."""
    blocks: str
    created_at: datetime
    space: str = ""
    """Where it is about one as a whole."""
    session_id: str | None = None
    expires_at: datetime | None = None
    options: tuple[str, ...] = ()
    """For a question: the answers the Minion offered. For a spent budget: an amount of what it counts. For what an answer
    must be bound to as a whole (dependencies, an edited issue): its hash. For a scope that nothing says: the text's hash, and
    then what is suggested. For a discovery: the ids of its questions. For a gate: the fingerprint of what it shows, its name, the transition, and where approval and
    rejection lead."""
    patterns: tuple[str, ...] = ()
    """For a scope request: the paths asked for."""
    head_sha: str | None = None
    audience: Audience = Audience.WRITER
    proposal_id: int | None = None
    """The proposal or the draft of a skill it is about; people know it by that one's number."""
    draft_id: int | None = None
    bound_to: str = ""
    """The digest of what was shown, where that is a proposal or a draft."""
    about: str = ""
    """What of the portfolio it is about, as people write it: `i3`, `i3.4`, `e5`, `n12`. Then it has no job, and a cycle carries the
    answer out."""
    state: DecisionState = DecisionState.OPEN
    verb: Verb | None = None
    answer: str = ""
    answered_by: str = ""
    answered_at: datetime | None = None
    applied: bool = False

    @property
    def suggested(self) -> tuple[str, ...]:
        """The texts that are offered with an answer in words."""
        if self.subject in (Subject.GATE, Subject.DISCOVERY):
            return ()
        return self.options[1:] if self.subject is Subject.SCOPE_UNKNOWN else self.options

    def is_for_machines(self, verb: Verb) -> bool:
        """Whether a machine may give this answer. What is an approval, or is for approvers, never is."""
        if self.kind is DecisionKind.APPROVAL or self.audience is Audience.APPROVER:
            return False
        return verb in FOR_MACHINES.get(self.subject, ())

    @property
    def asks_a_person(self) -> bool:
        """Whether no machine may give any of its answers."""
        return not any(map(self.is_for_machines, self.verbs))

    @property
    def ref(self) -> ApprovalRef:
        """What people call it."""
        if self.draft_id is not None:
            return ApprovalRef(kind=ApprovalKind.DRAFT, number=self.draft_id)
        if self.proposal_id is not None:
            return ApprovalRef(kind=ApprovalKind.PROPOSAL, number=self.proposal_id)
        return ApprovalRef(kind=ApprovalKind.DECISION, number=self.id)

    @property
    def digest(self) -> str:
        """What an answer is bound to: a change to anything shown makes another digest."""
        if self.bound_to:
            return self.bound_to
        shown = [
            self.id,
            self.kind,
            self.subject,
            self.title,
            self.body,
            self.verbs,
            self.options,
            self.patterns,
            self.blocks,
            self.head_sha,
        ]
        return sha256(json.dumps(shown).encode()).hexdigest()[:16]
