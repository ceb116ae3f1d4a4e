"""Why a session may write what it may: a sentence for each pattern, for the brief, the card and `overlord scope explain`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from minion.protocol import Scope
from overlord.domain.identifiers import NO_COMMIT, Sha


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a pattern is in the scope, for people."""

    pattern: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """The scope an issue was given, and why."""

    scope: Scope
    reasons: tuple[Reason, ...] = ()
    """One for each pattern; none when nothing could be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeGrant:
    """Patterns that a person granted a job, or one of its sessions alone."""

    patterns: tuple[str, ...]
    by: str
    expires_at: datetime | None = None
    session_id: str = ""
    """The one session it is for; empty for all of the job's."""
    taken_sha: Sha = NO_COMMIT
    """What that session's work became; empty until that is known."""
    ended_at: datetime | None = None
    """When that session ended."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        until = f", until {self.expires_at:%Y-%m-%d}" if self.expires_at else ""
        why = (
            f"allowed once by {self.by}, for {self.session_id}"
            if self.session_id
            else f"granted by {self.by}{until}"
        )
        return tuple(Reason(pattern=pattern, why=why) for pattern in self.patterns)


def lines(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """A line for each pattern, by the first reason that was given for it."""
    first: dict[str, str] = {}
    for reason in reasons:
        first.setdefault(reason.pattern, reason.why)
    return tuple(f"{pattern}: {why}" for pattern, why in first.items())


def lines_now(
    sentences: Sequence[str], scope: Scope, session_id: str, grants: Iterable[ScopeGrant]
) -> tuple[str, ...]:
    """What a session's brief told, and the grants that reached it since."""
    known = {line.partition(": ")[0] for line in sentences}
    since = (
        reason
        for grant in grants
        if grant.session_id in ("", session_id)
        for reason in grant.reasons
        if reason.pattern in scope.patterns and reason.pattern not in known
    )
    return (*sentences, *lines(since))
