"""What the embedded forge remembers: frozen records, each with the key it is kept under.

A pull request is an issue with more to it, as on GitHub: both are numbered from one sequence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from overlord.embedded.forge.link import Dependency, SubIssue

Association = Literal["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"]
Role = Literal["none", "read", "triage", "write", "maintain", "admin"]
LEVELS = ("none", "read", "write", "admin")
ACTIONS = "github-actions"
"""The app of GitHub Actions."""
MAY_WRITE: frozenset[Association] = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


def covers(granted: Mapping[str, str], needed: Mapping[str, str]) -> bool:
    """Whether everything needed was granted, at that level or above."""
    return all(
        LEVELS.index(granted.get(name, "none")) >= LEVELS.index(level) for name, level in needed.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Someone with an account. Without a token they act only through the people-side verbs."""

    id: int
    login: str
    token: str = field(default="", repr=False)
    association: Association = "NONE"
    kind: Literal["User", "Bot"] = "User"
    only: tuple[str, ...] | None = None
    """The repositories this sign-in is good for; None means all."""
    permissions: Mapping[str, str] | None = None
    """What this sign-in may do, of an app's token; None means what the account may."""
    suspended: bool = False
    """Whether the installation this sign-in belongs to is suspended."""

    @property
    def key(self) -> str:
        return self.login.casefold()

    @property
    def may_write(self) -> bool:
        return self.association in MAY_WRITE

    def permits(self, **needed: str) -> bool:
        """Whether this sign-in has these permissions at these levels, or may do what its account may."""
        return self.permissions is None or covers(self.permissions, needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """A GitHub App, installed on some repositories. It acts as its bot, with tokens that expire."""

    id: int
    slug: str
    public_key: str
    repositories: tuple[str, ...]
    permissions: Mapping[str, str] = field(default_factory=dict)
    """What its installation was granted: GitHub's name of the permission, and `read` or `write`."""
    installation: int = 1
    """Which installation this is; one that was removed never comes back."""
    is_installed: bool = True
    suspended_at: datetime | None = None

    @property
    def key(self) -> str:
        return str(self.id)

    @property
    def installation_id(self) -> int:
        """One installation holds all of its repositories."""
        return self.id + self.installation * 1_000_000

    @property
    def bot(self) -> str:
        return f"{self.slug}[bot]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A token an app was given."""

    id: int
    token: str = field(repr=False)
    login: str
    repositories: tuple[str, ...]
    expires_at: datetime
    app_id: int = 0
    installation_id: int = 0
    permissions: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return str(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository; its objects live in `<root>/git/<owner>/<name>.git`."""

    id: int
    name: str
    """`owner/name`."""
    default_branch: str
    private: bool
    created_at: datetime

    @property
    def key(self) -> str:
        return self.name.casefold()

    @property
    def owner(self) -> str:
        return self.name.split("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What an account may in one repository, where that is said for it alone."""

    id: int
    repository: str
    login: str
    role: Role

    @property
    def key(self) -> str:
        return f"{self.repository}/{self.login}".casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label of a repository."""

    id: int
    repository: str
    name: str
    color: str = "ededed"
    description: str | None = None

    @property
    def key(self) -> str:
        return f"{self.repository}/{self.name}".casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue, and the part of a pull request that is one."""

    id: int
    repository: str
    number: int
    title: str
    body: str
    author: str
    created_at: datetime
    updated_at: datetime
    labels: tuple[str, ...] = ()
    open: bool = True
    state_reason: str | None = None
    closed_at: datetime | None = None
    locked: bool = False
    edited_at: datetime | None = None
    """When its text was last changed; the title's changes are occurrences."""

    @property
    def key(self) -> str:
        return f"{self.repository}#{self.number}".casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull(Issue):
    """A pull request between two branches, of one repository or of a fork and it. `head_sha` stays where it was once it is
    closed."""

    head_branch: str
    head_sha: str
    base_branch: str
    base_sha: str
    head_repository: str = ""
    """The fork its head is in, `owner/name`; empty for the repository itself."""
    draft: bool = False
    merged_at: datetime | None = None
    merged_by: str | None = None
    merge_commit_sha: str | None = None

    @property
    def merged(self) -> bool:
        return self.merged_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on an issue or pull request."""

    id: int
    repository: str
    number: int
    author: str
    body: str
    created_at: datetime
    updated_at: datetime

    @property
    def key(self) -> str:
        return str(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """What happened to an issue: what GitHub's documentation calls an issue event."""

    id: int
    repository: str
    number: int
    event: Literal[
        "labeled", "unlabeled", "renamed", "closed", "reopened", "locked", "unlocked", "transferred"
    ]
    actor: str
    created_at: datetime
    label: str | None = None
    renamed: tuple[str, str] | None = None
    """The title before and after."""

    @property
    def key(self) -> str:
        return str(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """That an issue is not at its address any more. Its number is given to nothing else."""

    id: int
    repository: str
    number: int
    to: tuple[str, int] | None
    """The repository and number it was transferred to; None for one that was deleted."""

    @property
    def key(self) -> str:
        return f"{self.repository}#{self.number}".casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """That a repository has another name now; its old one leads there until another repository takes it."""

    id: int
    name: str
    """The old one."""
    repository_id: int

    @property
    def key(self) -> str:
        return self.name.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """A reaction to a comment; each account has one of each content."""

    id: int
    comment_id: int
    content: str
    login: str
    created_at: datetime

    @property
    def key(self) -> str:
        return f"{self.comment_id}/{self.content}/{self.login}".casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A commit status; a newer one of the same context stands for it."""

    id: int
    repository: str
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: str
    created_at: datetime

    @property
    def key(self) -> str:
        return str(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A submitted review of a pull request."""

    id: int
    repository: str
    number: int
    author: str
    state: Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED"]
    body: str
    commit_id: str
    submitted_at: datetime

    @property
    def key(self) -> str:
        return str(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """A comment on a line of a pull request's diff, as it was at `commit_id`."""

    id: int
    repository: str
    number: int
    review_id: int
    author: str
    path: str
    line: int
    body: str
    commit_id: str
    created_at: datetime
    in_reply_to_id: int | None = None
    """The comment the thread began with; None for that one itself."""

    @property
    def key(self) -> str:
        return str(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """One run of a check on a commit. A job of GitHub Actions has the id of its check run, and a log."""

    id: int
    repository: str
    sha: str
    name: str
    app: str
    status: str
    conclusion: str | None
    title: str
    summary: str
    log: str
    log_key: str = field(repr=False)
    """What the log's address ends in: who knows it may read, as with the signed addresses of GitHub's storage."""
    started_at: datetime
    completed_at: datetime | None

    @property
    def key(self) -> str:
        return str(self.id)

    @property
    def has_log(self) -> bool:
        return self.app == ACTIONS and self.status == "completed" and bool(self.log)


Record = (
    User
    | App
    | Grant
    | Repository
    | Label
    | Issue
    | Pull
    | Comment
    | Occurrence
    | Departure
    | Reaction
    | Status
    | Review
    | ReviewComment
    | CheckRun
    | Renaming
    | Membership
    | SubIssue
    | Dependency
)
KINDS: tuple[type[Record], ...] = (
    *(User, App, Grant, Repository, Label, Issue, Pull),
    *(Comment, Occurrence, Departure, Reaction, Status),
    *(Review, ReviewComment, CheckRun, Renaming, Membership, SubIssue, Dependency),
)
