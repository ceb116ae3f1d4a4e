"""What is kept no longer: what it is, how large, and why. A look makes these; whoever clears up takes them away."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RetentionKind(StrEnum):
    EVIDENCE = "evidence"
    STRAY = "stray evidence"
    """Files that no row names any more, or none ever did."""
    ROWS = "rows"
    SESSION = "session"
    MIRROR = "mirror"
    DATABASE = "database copy"
    STAGING = "unfinished restore"
    ENVIRONMENT = "environment"
    DOWNLOADS = "downloads"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionItem:
    """One thing that is kept no longer."""

    kind: RetentionKind
    name: str
    size: int
    """In bytes, where it is known."""
    why: str
    parts: tuple[str, ...] = ()
    """The names of what it consists of, for whoever removes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEvidence:
    """A file of evidence of a job that has ended."""

    job_id: int
    kind: str
    sha256: str
    size: int
    ended_at: datetime


TRANSCRIPT = "transcript"


def over(
    kept: Sequence[KeptEvidence],
    *,
    evidence_before: datetime,
    transcripts_before: datetime,
    most_bytes: int,
    stored: int,
) -> list[RetentionItem]:
    """The evidence whose time is over, and what is beyond the room there is for all of it, those that ended first going
    first; by job. `held` are the bytes of all evidence together, that of open jobs too."""
    due: dict[int, list[KeptEvidence]] = {}
    why: dict[int, str] = {}
    left = []
    for item in sorted(kept, key=lambda item: (item.ended_at, item.job_id)):
        is_old = item.ended_at < evidence_before
        if is_old or (item.kind == TRANSCRIPT and item.ended_at < transcripts_before):
            due.setdefault(item.job_id, []).append(item)
            why[item.job_id] = "kept long enough"
            stored -= item.size
        else:
            left.append(item)
    for item in left:
        if stored <= most_bytes:
            break
        due.setdefault(item.job_id, []).append(item)
        why.setdefault(item.job_id, "there is more than may be kept, and this ended first")
        stored -= item.size
    return [
        RetentionItem(
            kind=RetentionKind.EVIDENCE,
            name=f"job {job}",
            size=sum(item.size for item in items),
            why=why[job],
            parts=tuple(dict.fromkeys(item.sha256 for item in items)),
        )
        for job, items in due.items()
    ]


def total(leavings: Iterable[RetentionItem]) -> int:
    return sum(item.size for item in leavings)
