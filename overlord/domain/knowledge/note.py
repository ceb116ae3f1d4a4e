"""A note: one thing that was learned, with where it comes from, and for how long it counts."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_NOTE_CHARS = 2_000
MOST_SOURCE_CHARS = 300
MOST_DOCUMENT_CHARS = 100_000
DOCUMENT_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?!\.)){0,76}\.md")
"""The name of a document's file."""


class NoteKind(StrEnum):
    """What it says; each kind has a file of its own."""

    CONVENTION = "convention"
    """How things are done here."""
    PREFERENCE = "preference"
    """How people like to work."""
    DECISION = "decision"
    """What was decided, and why."""
    PATTERN = "pattern"
    """How code here is built."""

    @property
    def file_name(self) -> str:
        return f"{self}s.md"


class NoteState(StrEnum):
    """Whether it counts."""

    DRAFT = "draft"
    """A session or a retrospective wrote it; nobody has accepted it."""
    ACTIVE = "active"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    """It counted once: its check does not hold any more, a person took it out, or another one says better."""


class CheckKind(StrEnum):
    """What has to hold at base for a note to count."""

    PATH_EXISTS = "path_exists"
    PATH_MISSING = "path_missing"
    TEXT_PRESENT = "text_present"
    """A file has this text."""
    TEXT_ABSENT = "text_absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteCheck:
    """What is held against the base commit. It is looked at, never run."""

    kind: CheckKind
    path: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSource:
    """Where it comes from; empty where that says nothing."""

    job_id: int | None = None
    session_id: str = ""
    escalation_id: int | None = None
    file: str = ""
    """A knowledge file into which a person wrote it."""
    evidence: str = ""
    """What it rests on, in words: `finding of evaluation 3`, `ledger 812`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A row. Those that count stand in a knowledge file too, which people edit."""

    id: int
    space: str
    """Empty: for all of them."""
    kind: NoteKind
    text: str
    """Untrusted, as whoever wrote it."""
    question: str
    """What it answers; empty where it answers none."""
    state: NoteState
    source: NoteSource
    actor: str
    created_at: datetime
    updated_at: datetime
    check: NoteCheck | None = None
    checked_at: datetime | None = None
    reason: str = ""
    """Why it does not count any more."""
    promoted_from: int | None = None
    """The note of a space that it was made from."""
    decision_id: int | None = None
    """In which a person is asked about it."""
    contradicted_by: str = ""
    """What a session held against it, with the session's name; empty where nothing."""
    document: str = ""
    """The name of its file, where it is a document: longer than a note, and no bullet among others."""
    tags: tuple[str, ...] = ()
    """Words by which it is found, beside its own."""

    @property
    def ref(self) -> str:
        """As people write it: `n12`."""
        return f"n{self.id}"

    @property
    def is_global(self) -> bool:
        return not self.space
