"""Search: what can be found of a job, and what is shown of it. All of these texts are somebody else's words."""

from dataclasses import dataclass
from enum import StrEnum


class HitKind(StrEnum):
    """Where words were found."""

    ISSUE = "issue"
    """In the issue's title or text."""
    FINDING = "finding"
    """In what a check found."""
    TRANSCRIPT = "transcript"
    """In what a session, its model and its tools said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenText:
    """What was said in a turn of a session or in a few short ones."""

    turn: int
    """The first of them, counted from 1."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a snippet: on one line, without hidden characters."""

    text: str
    is_match: bool = False
    """Whether it is what was looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One place where words were found."""

    kind: HitKind
    source: str = ""
    """The check, or the session."""
    turn: int = 0
    """Of the session: where to begin to read. 0 elsewhere."""
    pieces: tuple[Piece, ...] = ()
    """The words with what stands around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """A job in which something was found."""

    id: int
    space: str
    issue_number: int | None
    """None for the job of a call, which has none."""
    call: str
    """The handle of the call it works on, as `c7`; empty for every other job."""
    title: str
    state: str
    hits: tuple[Hit, ...]
    """The first two: of its issue, then of its checks, then of its sessions, the newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """What was found, the newest job first."""

    words: str
    jobs: tuple[FoundJob, ...]
    older: int = 0
    """Older ones are found with `before` this number; 0 where there are none."""
