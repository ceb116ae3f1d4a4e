"""What happened, in the past tense: the only things the ledger holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

OVERLORD = "overlord"
"""The actor of everything code decided."""


class EventName(StrEnum):
    """Every fact the ledger can hold. Those in `job.TRANSITIONS` move a job; the others move nothing."""

    CLAIMED = "claimed"
    SESSION_PREPARED = "session_prepared"
    SESSION_STARTED = "session_started"
    SESSION_ENDED = "session_ended"
    DISPATCH_REFUSED = "dispatch_refused"
    WORK_SUBMITTED = "work_submitted"
    SESSION_LOST = "session_lost"
    SESSION_STOPPED_SHORT = "session_stopped_short"
    CHECK_COMPLETED = "check_completed"
    CHECK_STARTED = "check_started"
    CHECK_LOST = "check_lost"
    PASSED = "passed"
    PHASE_COMPLETED = "phase_completed"
    REVISION_ORDERED = "revision_ordered"
    GATE_REACHED = "gate_reached"
    FAILED = "failed"
    ATTEMPTS_SPENT = "attempts_spent"
    CHECKS_UNAVAILABLE = "checks_unavailable"
    DELIVERED = "delivered"
    DELIVERY_REFUSED = "delivery_refused"
    CHANGES_REQUESTED = "changes_requested"
    CI_FAILED = "ci_failed"
    CONFLICT_FOUND = "conflict_found"
    ROUNDS_SPENT = "rounds_spent"
    REBASED = "rebased"
    FOREIGN_PUSH_FOUND = "foreign_push_found"
    WORK_RESUMED = "work_resumed"
    SCOPE_GRANTED = "scope_granted"
    CHECKS_RESTORED = "checks_restored"
    DELIVERY_RETRIED = "delivery_retried"
    GATE_APPROVED = "gate_approved"
    MERGED = "merged"
    STOPPED = "stopped"
    DROPPED = "dropped"
    TAKEN_OVER = "taken_over"
    ISSUE_CLOSED = "issue_closed"
    UNLABELLED = "unlabelled"
    PR_CLOSED = "pr_closed"
    LIFETIME_EXCEEDED = "lifetime_exceeded"

    BRANCH_PUSHED = "branch_pushed"
    PULL_OPENED = "pull_opened"
    DECISION_RAISED = "decision_raised"
    DECISION_ANSWERED = "decision_answered"
    DECISION_EXPIRED = "decision_expired"
    DECISION_SUPERSEDED = "decision_superseded"
    SETUP_STARTED = "setup_started"
    ENVIRONMENT_COMPLETED = "environment_completed"
    SETUP_LOST = "setup_lost"
    SETUP_FAILED = "setup_failed"
    ENVIRONMENT_REMOVED = "environment_removed"
    BUDGET_WARNED = "budget_warned"
    BUDGET_SPENT = "budget_spent"
    BUDGET_ADDED = "budget_added"
    SCOPE_WIDENED = "scope_widened"
    ISSUE_EDITED = "issue_edited"
    SKILLS_CHOSEN = "skills_chosen"
    SKILL_LOADED = "skill_loaded"
    SKILLS_VETTED = "skills_vetted"
    STEP_FAILED = "step_failed"
    WORK_REQUESTED = "work_requested"
    CHAT_REFUSED = "chat_refused"
    PROPOSAL_RAISED = "proposal_raised"
    PROPOSAL_APPROVED = "proposal_approved"
    PROPOSAL_REJECTED = "proposal_rejected"
    PROPOSAL_DISPATCHED = "proposal_dispatched"
    PROPOSAL_RESTED = "proposal_rested"
    PROPOSAL_IMPLEMENTED = "proposal_implemented"
    DRAFT_REQUESTED = "draft_requested"
    DRAFT_COMPOSED = "draft_composed"
    DRAFT_CHECKED = "draft_checked"
    DRAFT_EDITED = "draft_edited"
    DRAFT_APPROVED = "draft_approved"
    DRAFT_REJECTED = "draft_rejected"
    DRAFT_DISPATCHED = "draft_dispatched"
    DRAFT_DELIVERED = "draft_delivered"
    DRAFT_MERGED = "draft_merged"
    DRAFT_DEPLOYED = "draft_deployed"
    DRAFT_FAILED = "draft_failed"
    PAUSED = "paused"
    RESUMED = "resumed"
    SPACE_ADDED = "space_added"
    SPACE_REMOVED = "space_removed"
    SETTINGS_CHANGED = "settings_changed"
    SETTINGS_REFUSED = "settings_refused"
    DAEMON_STARTED = "daemon_started"
    BACKUP_RESTORED = "backup_restored"
    EVIDENCE_REMOVED = "evidence_removed"
    DISK_RAN_LOW = "disk_ran_low"
    DISK_RECOVERED = "disk_recovered"
    DATABASE_UPGRADED = "database_upgraded"
    SIDE_TASK_FAILED = "side_task_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEvent:
    """One fact: what, about which job, who did it, when, and the details that prove it."""

    name: EventName
    at: datetime
    actor: str = OVERLORD
    job_id: int | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
