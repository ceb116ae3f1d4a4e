"""Named points: every commit and every outward act, the places where a program can be cut off and something outlasts it.

`reached` is told just before and just after each. Nothing listens in a daemon that runs; the fault campaign does, and
ends the process there. A point without a place in that campaign fails a test.
"""

from collections.abc import Callable, Coroutine
from enum import StrEnum
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Port = TypeVar("Port")
Act = Callable[Parameters, Coroutine[Any, Any, Result]]


class Moment(StrEnum):
    """On which side of the effect."""

    BEFORE = "before"
    AFTER = "after"


class Failpoint(StrEnum):
    """What is about to last, or has just begun to. Commits in the past tense, outward acts as what is done."""

    DAEMON_STARTED = "daemon_started"
    BACKUP_RESTORED = "backup_restored"
    DISK_NOTED = "disk_noted"
    SPACE_POLLED = "space_polled"
    SPACE_PAUSED = "space_paused"
    SPACE_ADDED = "space_added"
    SPACE_REMOVED = "space_removed"
    SPACE_KNOWN = "space_known"
    ACCESS_GRANTED = "access_granted"
    ACCESS_REVOKED = "access_revoked"
    SETTINGS_TAKEN = "settings_taken"
    POLL_MADE_DUE = "poll_made_due"
    COMMENT_PROCESSED = "comment_heard"
    COMMENT_ACKNOWLEDGED = "comment_acknowledged"
    COMMENTS_SEEN = "comments_seen"
    ISSUES_SEEN = "issues_seen"
    LABEL_REFUSED = "label_refused"
    JOB_CLAIMED = "job_claimed"
    JOB_RESUMED = "job_resumed"
    JOB_STOPPED = "job_stopped"
    JOB_EXPIRED = "job_expired"
    TROUBLE_NOTED = "trouble_noted"
    PROJECTION_NOTED = "projection_noted"

    BASE_CHOSEN = "base_chosen"
    CONTRACT_TAKEN = "contract_taken"
    PHASE_BEGUN = "phase_begun"
    DISCOVERY_RECORDED = "discovery_recorded"
    CONTRACT_PROPOSED = "contract_proposed"
    CONTRACT_EDITED = "contract_edited"
    CONTRACT_COMMITTED = "contract_committed"
    ISSUE_REQUESTED = "issue_requested"
    ISSUE_ORDERED = "issue_ordered"
    ISSUE_REQUEST_SETTLED = "issue_request_settled"
    WORK_PREPARED = "work_prepared"
    SESSION_API_OPENED = "door_opened"
    WORK_STARTED = "work_started"
    PROGRESS_SEEN = "progress_seen"
    EXCHANGE_RESERVED = "exchange_reserved"
    EXCHANGE_SETTLED = "exchange_settled"
    BUDGET_EXHAUSTED = "budget_exhausted"
    QUESTION_ASKED = "question_asked"
    REPORT_TAKEN = "report_taken"
    SESSION_SEALED = "session_sealed"
    STOP_ORDERED = "stop_ordered"
    WORK_SETTLED = "work_settled"
    LOSS_NOTED = "loss_noted"
    SESSION_ABANDONED = "session_abandoned"
    SESSION_CLEARED = "session_cleared"
    FINAL_KEPT = "final_kept"

    EVALUATION_BEGUN = "evaluation_begun"
    DIFF_JUDGED = "diff_judged"
    CHECK_PREPARED = "check_prepared"
    CHECK_STARTED = "check_started"
    CHECK_JUDGED = "check_judged"
    CHECK_LOST = "check_lost"
    CHECK_REFUSED = "check_refused"
    CHECK_UNAVAILABLE = "check_unavailable"
    REVIEW_PREPARED = "review_prepared"
    REVIEW_MADE = "review_made"
    VERDICT_WRITTEN = "verdict_written"
    CONSULTATION_SETTLED = "consultation_settled"

    PUSH_ORDERED = "push_ordered"
    PUSH_NOTED = "push_noted"
    PULL_NOTED = "pull_noted"
    JOB_DELIVERED = "job_delivered"
    FATE_NOTED = "fate_noted"
    ROUND_BEGUN = "round_begun"
    FOREIGN_PUSH_NOTED = "foreign_push_noted"
    REVIEW_ANSWERED = "review_answered"

    PERSON_ASKED = "person_asked"
    SCOPE_ASKED = "scope_asked"
    DEPENDENCIES_ASKED = "dependencies_asked"
    DECISION_ANSWERED = "decision_answered"
    ANSWER_APPLIED = "answer_applied"
    DECISIONS_EXPIRED = "decisions_expired"
    STEERING_SENT = "steering_sent"
    STEERING_READ = "steering_read"
    STEERING_TOLD = "steering_told"

    MESSAGE_WANTED = "message_wanted"
    MESSAGE_ORDERED = "message_ordered"
    MESSAGE_NOTED = "message_noted"
    REQUEST_RECEIVED = "request_heard"
    REQUEST_CARRIED_OUT = "request_obeyed"
    REQUEST_ANSWERED = "request_answered"
    BRIEFING_MADE = "briefing_made"
    HOME_OPENED = "home_opened"
    HOME_MADE = "home_made"
    HOME_NOTED = "home_noted"
    WORK_PAUSED = "work_paused"
    WORK_RESUMED = "work_resumed"
    WORK_WISHED = "work_wished"
    WORK_REQUEST_ANSWERED = "wish_answered"

    PROPOSALS_WEIGHED = "proposals_weighed"
    PROPOSAL_DECIDED = "proposal_decided"
    PROPOSAL_ORDERED = "proposal_ordered"
    PROPOSAL_DISPATCHED = "proposal_dispatched"
    DRAFT_PREPARED = "draft_prepared"
    DRAFT_WRITTEN = "draft_written"
    DRAFT_CHECKED = "draft_checked"
    DRAFT_DECIDED = "draft_decided"
    DRAFT_ORDERED = "draft_ordered"
    DRAFT_DISPATCHED = "draft_dispatched"
    DRAFT_COMPARED = "draft_compared"

    MODEL_OUTAGE_NOTED = "model_outage_noted"
    HOOK_POSITION_NOTED = "hook_position_noted"

    CYCLE_ASKED = "cycle_asked"
    CYCLE_RUN = "cycle_run"
    INITIATIVE_CHANGED = "initiative_changed"
    TASK_CHANGED = "task_changed"
    PORTFOLIO_ANSWERED = "portfolio_answered"
    ISSUE_LINKED = "issue_linked"
    ISSUE_STATE_NOTED = "issue_state_noted"
    PLAN_PROPOSED = "plan_proposed"
    PLAN_DIRECTED = "plan_directed"
    COMPLETION_RECORDED = "completion_recorded"
    TASK_DISCOVERED = "task_discovered"
    ESCALATION_DRAFTED = "escalation_drafted"
    ESCALATION_REVIEWED = "escalation_reviewed"
    NOTE_WRITTEN = "note_written"
    NOTE_CHANGED = "note_changed"
    NOTES_CHECKED = "notes_checked"
    RULE_CHANGED = "rule_changed"
    RETROSPECTIVE_NOTED = "retrospective_noted"
    FILES_READ = "files_read"
    DAY_BRIEFED = "day_briefed"

    CALL_REQUESTED = "call_requested"
    CALL_PREPARED = "call_prepared"
    CALL_STARTED = "call_started"
    CALL_COLLECTED = "call_collected"
    CALL_VERIFIED = "call_verified"
    CALL_ENDED = "call_ended"
    CALL_CANCELLED = "call_cancelled"
    HISTORY_APPENDED = "history_appended"

    PULL_REVIEWED = "pull_vetted"
    SKILL_READ = "skill_read"
    SKILL_REVIEW_SENT = "vetting_told"
    VETTINGS_FORGOTTEN = "vettings_forgotten"

    SETUP_PREPARED = "setup_prepared"
    SETUP_STARTED = "setup_started"
    SETUP_COMPLETED = "setup_completed"
    SETUP_LOST = "setup_lost"
    SETUP_FAILED = "setup_failed"
    EVIDENCE_FORGOTTEN = "evidence_forgotten"
    ROWS_FORGOTTEN = "rows_forgotten"
    ENVIRONMENT_FORGOTTEN = "environment_forgotten"
    TRIAL_BEGUN = "trial_begun"
    TRIAL_ENDED = "trial_ended"

    ADD_COMMENT = "add_comment"
    EDIT_COMMENT = "edit_comment"
    ADD_LABEL = "add_label"
    REMOVE_LABEL = "remove_label"
    REACT = "react"
    OPEN_PULL = "open_pull"
    EDIT_PULL = "edit_pull"
    MARK_READY = "mark_ready"
    SET_STATUS = "set_status"
    ANSWER_REVIEW = "answer_review"
    OPEN_ISSUE = "open_issue"
    CLOSE_ISSUE = "close_issue"
    REOPEN_ISSUE = "reopen_issue"
    EDIT_ISSUE = "edit_issue"
    ADD_SUB_ISSUE = "add_sub_issue"
    ADD_BLOCKED_BY = "add_blocked_by"
    REMOVE_BLOCKED_BY = "remove_blocked_by"
    DELETE_BRANCH = "delete_branch"
    POST_MESSAGE = "post_message"
    EDIT_MESSAGE = "edit_message"
    EPHEMERAL = "whisper"
    RESPOND = "respond"
    OPEN_FORM = "open_form"
    PUBLISH_HOME = "publish_home"
    FETCH = "fetch"
    MAKE_READY = "make_ready"
    PREPARE_REPOSITORY = "prepare_repository"
    KEEP_COMMIT = "keep_commit"
    DROP_PATHS = "drop_paths"
    COMMIT_FILES = "commit_files"
    MERGE = "merge"
    PUSH = "push"
    TIDY_MIRROR = "tidy_mirror"
    REMOVE_MIRROR = "remove_mirror"
    REMOVE_REPOSITORY = "remove_repository"
    FORGET_READY = "forget_ready"
    START_SESSION = "start_session"
    STOP_SESSION = "stop_session"
    REMOVE_SESSION = "remove_session"
    PREPARE_LAYER = "prepare_layer"
    KEEP_LAYER = "keep_layer"
    REMOVE_LAYER = "remove_layer"
    REMOVE_DOWNLOADS = "remove_downloads"
    ASK_MODEL = "ask_model"
    KEEP_EVIDENCE = "keep_evidence"
    REMOVE_EVIDENCE = "remove_evidence"
    KEEP_TRAINING_DATA = "keep_training_data"
    KEEP_BACKUP = "keep_backup"
    RESTORE_HOME = "restore_home"


Watch = Callable[[str, Moment], None]


class _Watched:
    """The one listener of this process; there is none unless a campaign sets one."""

    watch: Watch | None = None


def listen(watch: Watch | None) -> None:
    """Let `watch` be told of every point from now on; None lets nobody. What it raises, the program meets there."""
    _Watched.watch = watch


def reached(point: str, moment: Moment) -> None:
    """Say that a point is reached."""
    if _Watched.watch is not None:
        _Watched.watch(point, moment)


def outward(point: Failpoint) -> Callable[[Act[Parameters, Result]], Act[Parameters, Result]]:
    """Name an adapter's method as an outward act."""

    def named(act: Act[Parameters, Result]) -> Act[Parameters, Result]:
        @wraps(act)
        async def passed(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
            reached(point, Moment.BEFORE)
            result = await act(*arguments, **options)
            reached(point, Moment.AFTER)
            return result

        passed.__dict__[_OUTWARD] = point
        return passed

    return named


_OUTWARD = "outward"


def guarded(port: Port, check: Callable[[], Coroutine[Any, Any, None]]) -> Port:
    """The same port, with `check` before each of its outward acts: one that raises keeps the act from being done."""
    return cast(Port, _Guarded(port, check))


class _Guarded:
    def __init__(self, port: object, check: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._port = port
        self._check = check

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not hasattr(found, _OUTWARD):
            return found

        @wraps(found)
        async def passed(*arguments: Any, **options: Any) -> Any:
            await self._check()
            return await found(*arguments, **options)

        return passed
