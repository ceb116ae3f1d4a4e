"""What a forge shows: repositories, issues, pull requests, reviews and checks."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal
from urllib.parse import urlsplit

from minion.protocol import Issue
from overlord.domain.identifiers import RepositoryName, Sha

ClosedAs = Literal["completed", "not_planned"]
"""As what Overlord closes an issue."""
StateReason = Literal["completed", "not_planned", "reopened", "duplicate"]
"""Why an issue is open or closed, in GitHub's words. An issue that was never closed has none."""


def web_of(api_url: str) -> str:
    """Where people see what an API is about: https://github.com for api.github.com, an Enterprise Server's own address, and on
    GitHub's own machines with residence of data that of the enterprise."""
    parts = urlsplit(api_url)
    is_githubs = parts.netloc == "api.github.com" or parts.netloc.endswith(".ghe.com")
    host = parts.netloc.removeprefix("api.") if is_githubs else parts.netloc
    return f"{parts.scheme}://{host}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository as the forge describes it."""

    name: RepositoryName
    default_branch: str
    clone_url: str
    can_push: bool
    id: int
    """What it keeps when it is renamed or transferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueState:
    """An issue as the forge shows it now."""

    issue: Issue
    open: bool
    created_at: datetime
    updated_at: datetime
    is_pull: bool = False
    state_reason: StateReason | None = None

    @property
    def state(self) -> Literal["open", "closed"]:
        return "open" if self.open else "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedIssue:
    """An issue as another one's sub-issue or blocker. It may be in another repository."""

    repository: RepositoryName
    number: int
    open: bool
    state_reason: StateReason | None = None
    id: int
    """The forge's own, which is not its number: requests about relations name an issue by it."""

    def is_at(self, repository: RepositoryName, number: int) -> bool:
        return (self.repository.casefold(), self.number) == (repository.casefold(), number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A pull request. `node_id` is what the draft → ready mutation needs."""

    number: int
    node_id: str
    url: str
    head_branch: str
    head_sha: Sha
    draft: bool
    open: bool
    merged: bool
    title: str
    body: str
    mergeable: bool | None = None
    """Whether it merges into its base without conflict; None while the forge has not found out."""
    base_branch: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledFile:
    """A path that a pull request changes, beside where it began."""

    path: str
    is_removed: bool = False
    old_path: str | None = None
    """Where it was before, for one that was moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """What a directory of a commit has under a name."""

    mode: str
    """As git writes it: 100644, 100755, 120000 (a symbolic link), 160000 (a submodule), 040000 (a directory)."""
    sha: str
    size: int | None = None
    """The bytes of a file."""

    @property
    def is_file(self) -> bool:
        return self.mode in {"100644", "100755"}


class ReviewState(StrEnum):
    """What somebody who reviewed said of the whole."""

    APPROVED = "APPROVED"
    CHANGES_REQUESTED = "CHANGES_REQUESTED"
    COMMENTED = "COMMENTED"
    DISMISSED = "DISMISSED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A submitted review of a pull request."""

    id: int
    author: str
    is_bot: bool
    state: ReviewState
    body: str
    head_sha: str
    """The commit that was looked at."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """A comment on a line of a pull request's diff."""

    id: int
    thread: int
    """The id of the comment its thread began with, which may be this one."""
    author: str
    is_bot: bool
    path: str
    line: int | None
    """In the file as it is at the head; None when that line is gone."""
    body: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheck:
    """A check run or commit status that failed."""

    name: str
    summary: str
    """What it says of itself; may be empty."""
    log: int | None = None
    """What `Forge.check_log` takes, where there is a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadChecks:
    """What others' checks say of a commit."""

    is_pending: bool
    """Whether one of them is still waited for."""
    failed: tuple[FailedCheck, ...]
