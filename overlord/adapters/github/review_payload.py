"""What we read of what others say of a change: reviews, comments on its diff, check runs and commit statuses."""

from datetime import datetime

from pydantic import BaseModel

from overlord.adapters.github.payload import Account, AccountPayload, Text
from overlord.domain.repositories.forge import FailedCheck, Review, ReviewComment, ReviewState

SUMMARY_CHARS = 2_000
FAILED_CONCLUSIONS = frozenset({"failure", "timed_out", "startup_failure"})
"""Conclusions of a check run that somebody has to do something about in the change."""
FAILED_STATES = frozenset({"failure", "error"})
NOT_WAITED_FOR = frozenset({"completed", "waiting"})
"""Statuses of a check run that nothing goes on in: it is over, or a person must let it go on."""
ACTIONS = "github-actions"
"""The app whose check runs are jobs, with the same id, and have a log."""


class ReviewPayload(BaseModel):
    """A review. One that is only being written has not been submitted at any time."""

    id: int
    user: Account = AccountPayload()
    body: Text = ""
    state: str
    commit_id: Text = ""
    submitted_at: datetime | None = None

    def record(self) -> Review | None:
        """What was submitted; None for what was not, and for a kind of review nobody knows yet."""
        if self.submitted_at is None or self.state not in ReviewState.__members__:
            return None
        return Review(
            id=self.id,
            author=self.user.login,
            is_bot=self.user.is_bot,
            state=ReviewState(self.state),
            body=self.body,
            head_sha=self.commit_id,
            at=self.submitted_at,
        )


class ReviewCommentPayload(BaseModel):
    """A comment on a diff. `side` is LEFT for a line only base has."""

    id: int
    in_reply_to_id: int | None = None
    user: Account = AccountPayload()
    path: str
    line: int | None = None
    side: Text = ""
    body: Text = ""
    created_at: datetime

    def record(self) -> ReviewComment:
        return ReviewComment(
            id=self.id,
            thread=self.in_reply_to_id or self.id,
            author=self.user.login,
            is_bot=self.user.is_bot,
            path=self.path,
            line=None if self.side == "LEFT" else self.line,
            body=self.body,
            at=self.created_at,
        )


class _Output(BaseModel):
    title: Text = ""
    summary: Text = ""


class _App(BaseModel):
    slug: Text = ""


class CheckRunPayload(BaseModel):
    """A check run; `conclusion` is there once it is completed."""

    id: int
    name: str
    status: str
    conclusion: Text = ""
    output: _Output | None = None
    app: _App | None = None

    @property
    def is_pending(self) -> bool:
        return self.status not in NOT_WAITED_FOR

    @property
    def has_failed(self) -> bool:
        return self.status == "completed" and self.conclusion in FAILED_CONCLUSIONS

    def record(self) -> FailedCheck:
        output = self.output or _Output()
        is_job = self.app is not None and self.app.slug == ACTIONS
        text = "\n".join(part for part in (output.title, output.summary) if part)
        return FailedCheck(name=self.name, summary=text[:SUMMARY_CHARS], log=self.id if is_job else None)


class CheckRunsPayload(BaseModel):
    """One page of the check runs of a commit."""

    check_runs: list[CheckRunPayload]


class StatusPayload(BaseModel):
    """The newest commit status of a context."""

    context: str
    state: str
    description: Text = ""

    @property
    def is_pending(self) -> bool:
        return self.state == "pending"

    @property
    def has_failed(self) -> bool:
        return self.state in FAILED_STATES

    def record(self) -> FailedCheck:
        return FailedCheck(name=self.context, summary=self.description[:SUMMARY_CHARS])


class CombinedStatusPayload(BaseModel):
    """One page of the statuses of a commit."""

    statuses: list[StatusPayload]
