"""An issue that a person wants opened and worked on: a requirement, a repository's first contract, or the mending of a failed job."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import TypeAdapter


class RequestKind(StrEnum):
    """What its job is for."""

    BUILD = "build"
    """A requirement, under the repository's contract."""
    INIT = "init"
    """The repository's contract itself, with vision and architecture."""
    FIX = "fix"
    """What an earlier job failed at, from where it failed."""
    PLAN = "plan"
    """The plan of an initiative."""
    TASK = "task"
    """A task of an initiative."""


class InitMode(StrEnum):
    """From where an architect starts."""

    NEW = "new"
    REVIEW = "review"
    """From the contract there, and what was experienced under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What is said of one kind alone."""

    mode: InitMode = InitMode.NEW
    discovers: bool = True
    """For `init`: whether questions are asked and vision and architecture written."""
    from_job: int | None = None
    """For `fix`: the job that failed."""
    initiative: int | None = None
    """For `plan` and `task`: the initiative's number."""
    task: int | None = None
    """For `task`: the task's row."""
    documents: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """For `init`: what was given to read, each as a name and its text. Untrusted."""

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self).decode()


_ADAPTER = TypeAdapter(RequestOptions)


def read_options(text: str) -> RequestOptions:
    """What a row has."""
    return _ADAPTER.validate_json(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRequest:
    """A row: what was asked for, and the issue once it is there."""

    id: int
    space: str
    kind: RequestKind
    title: str
    body: str
    key: str
    """In the issue's text, so that it is found again and opened once."""
    options: RequestOptions
    actor: str
    requested_at: datetime
    ordered_at: datetime | None = None
    issue_number: int | None = None
    trouble: str = ""
    """Why it is not opened, or not taken up; empty for what goes well."""
    wish_id: int | None = None
    """The request for work on the issue."""
    comment_id: int | None = None
    """The comment that asked, where one did: whoever wrote it is answered there."""
    is_told: bool = False
    """Whether they know what became of it."""

    @property
    def is_refused(self) -> bool:
        """Whether it will not be opened."""
        return self.issue_number is None and bool(self.trouble)
