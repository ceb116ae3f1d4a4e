"""What we read of GitHub's answers: only the fields we use, so that an Enterprise Server's older ones fit too."""

from datetime import datetime
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, Field, RootModel

from minion.protocol import Comment, Issue
from overlord.domain.conversation.comment import Labelling, PostedComment
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.repositories.forge import IssueState, Pull, RelatedIssue, Repository, StateReason

GHOST = "ghost"
"""Whom GitHub shows in place of a deleted account."""


def _login(value: Any) -> Any:
    return GHOST if value is None else value.get("login") if isinstance(value, dict) else value


def _label(value: Any) -> Any:
    return value.get("name") if isinstance(value, dict) else value


def _reason(value: Any) -> Any:
    """A reason that we do not know is none: GitHub may have new ones."""
    return value if value in get_args(StateReason) else None


class AccountPayload(BaseModel):
    login: str = GHOST
    type: str = "User"

    @property
    def is_bot(self) -> bool:
        return self.type == "Bot" or self.login.endswith("[bot]")


Account = Annotated[AccountPayload, BeforeValidator(lambda value: value or AccountPayload())]
Text = Annotated[str, BeforeValidator(lambda value: value or "")]
Login = Annotated[str, BeforeValidator(_login)]
LabelName = Annotated[str, BeforeValidator(_label)]
Reason = Annotated[StateReason | None, BeforeValidator(_reason)]


class _Permissions(BaseModel):
    push: bool = False


class RepositoryPayload(BaseModel):
    id: int
    full_name: str
    default_branch: str
    permissions: _Permissions = _Permissions()

    def record(self, clone_url: str) -> Repository:
        return Repository(
            name=RepositoryName(self.full_name),
            default_branch=self.default_branch,
            clone_url=clone_url,
            can_push=self.permissions.push,
            id=self.id,
        )


class IssuePayload(BaseModel):
    number: int
    title: str
    body: Text = ""
    user: Login = GHOST
    labels: list[LabelName] = []
    state: str
    state_reason: Reason = None
    created_at: datetime
    updated_at: datetime | None = None
    pull_request: dict[str, Any] | None = None

    def record(self) -> IssueState:
        issue = Issue(
            number=self.number,
            title=self.title,
            body=self.body,
            author=self.user,
            labels=tuple(self.labels),
        )
        return IssueState(
            issue=issue,
            open=self.state == "open",
            created_at=self.created_at,
            updated_at=self.updated_at or self.created_at,
            is_pull=self.pull_request is not None,
            state_reason=self.state_reason,
        )


class RelatedPayload(BaseModel):
    """An issue in the list of another one's sub-issues or blockers."""

    id: int
    number: int
    state: str
    state_reason: Reason = None
    repository_url: str

    def record(self) -> RelatedIssue:
        return RelatedIssue(
            repository=RepositoryName("/".join(self.repository_url.split("/")[-2:])),
            number=self.number,
            open=self.state == "open",
            state_reason=self.state_reason,
            id=self.id,
        )


class NewestPayload(RootModel[list[dict[str, Any]]]):
    """Issues and pull requests in whatever detail they come: a change of anything is a change."""


class CommentPayload(BaseModel):
    id: int
    body: Text = ""
    user: Account = AccountPayload()
    author_association: str = "NONE"
    issue_url: str = ""
    updated_at: datetime | None = None

    def record(self) -> Comment:
        return Comment(author=self.user.login, association=self.author_association, body=self.body)

    def posted(self) -> PostedComment:
        number = self.issue_url.rpartition("/")[2]
        if not number.isdecimal() or self.updated_at is None:
            raise ValueError("a comment of a repository names its issue and when it was changed")
        return PostedComment(
            id=self.id,
            number=int(number),
            comment=self.record(),
            is_bot=self.user.is_bot,
            at=self.updated_at,
        )


class EventPayload(BaseModel):
    """An issue event. `label` is there for those about one."""

    event: str
    actor: Account = AccountPayload()
    created_at: datetime
    label: LabelName = ""

    def labelling(self) -> Labelling:
        return Labelling(actor=self.actor.login, is_bot=self.actor.is_bot, at=self.created_at)


class PermissionPayload(BaseModel):
    permission: str
    role_name: Text = ""


class _Edited(BaseModel):
    last_edited_at: datetime | None = Field(default=None, alias="lastEditedAt")


class _EditedRepository(BaseModel):
    issue: _Edited


class EditPayload(BaseModel):
    repository: _EditedRepository

    @property
    def edited_at(self) -> datetime | None:
        """When the issue's text was last changed; None when it never was."""
        return self.repository.issue.last_edited_at


class _HeadRepository(BaseModel):
    full_name: str


class _Head(BaseModel):
    ref: str
    sha: str
    repo: _HeadRepository | None = None


class _Base(BaseModel):
    ref: str = ""


class PullPayload(BaseModel):
    number: int
    node_id: str
    html_url: str
    state: str
    title: str
    body: Text = ""
    draft: bool = False
    merged_at: datetime | None = None
    mergeable: bool | None = None
    head: _Head
    base: _Base = _Base()

    def is_from(self, name: RepositoryName) -> bool:
        """Whether its head is a branch of this repository, and not of a fork."""
        return self.head.repo is not None and self.head.repo.full_name.casefold() == name.casefold()

    def record(self) -> Pull:
        return Pull(
            number=self.number,
            node_id=self.node_id,
            url=self.html_url,
            head_branch=self.head.ref,
            head_sha=Sha(self.head.sha),
            draft=self.draft,
            open=self.state == "open",
            merged=self.merged_at is not None,
            title=self.title,
            body=self.body,
            mergeable=self.mergeable,
            base_branch=self.base.ref,
        )


class CreatedPayload(BaseModel):
    """All we need to know of what we just made."""

    id: int
