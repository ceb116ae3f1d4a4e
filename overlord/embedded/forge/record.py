"""What the embedded forge remembers: frozen records, each with the key it is kept under.

A pull request is an issue with more to it, as on GitHub: both are numbered from one sequence.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Association = Literal["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"]
MAY_WRITE: frozenset[Association] = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


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

    @property
    def key(self) -> str:
        return self.login.casefold()

    @property
    def may_write(self) -> bool:
        return self.association in MAY_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """A GitHub App, installed on some repositories. It acts as its bot, with tokens that expire."""

    id: int
    slug: str
    public_key: str
    repositories: tuple[str, ...]

    @property
    def key(self) -> str:
        return str(self.id)

    @property
    def installation_id(self) -> int:
        """One installation holds all of its repositories."""
        return self.id + 1_000_000

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

    @property
    def key(self) -> str:
        return f"{self.repository}#{self.number}".casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull(Issue):
    """A pull request between two branches of one repository. `head_sha` stays where it was once it is closed."""

    head_branch: str
    head_sha: str
    base_branch: str
    base_sha: str
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


Record = User | App | Grant | Repository | Label | Issue | Pull | Comment | Status
KINDS: tuple[type[Record], ...] = (User, App, Grant, Repository, Label, Issue, Pull, Comment, Status)
