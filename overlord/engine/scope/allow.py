"""What a job's sessions may write now, and why: the scope of their role and space, what its issue or a person says, and what
people granted.

What was granted once holds for the session that asked. Later sessions may not write there, and so the check of their diff, which
is that of all the job's work, looks at whether those paths are still as that session left them. What people pushed to the branch
stands in the same way: a scope limits sessions.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from minion.protocol import Issue, Scope, ScopeMode, SessionKind, is_protected
from overlord.domain.contracts.turn import Turn
from overlord.domain.event import EventName
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job
from overlord.domain.scope.approval import approved
from overlord.domain.scope.check import Change, effective_scope, exact_pattern
from overlord.domain.scope.reason import Inference, Reason, ScopeGrant
from overlord.engine.portfolio.planned_scope import planned_scope
from overlord.engine.runtime.parts import Parts
from overlord.engine.scope.infer import inferred
from overlord.engine.skills import skill_job
from overlord.engine.skills.skill_job import SkillJob
from overlord.errors import GitFailed
from overlord.settings.load import Settings
from overlord.store import decisions, ledger, sessions
from overlord.store.budgets import grants
from overlord.store.conversation import follow_ups


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What may be written."""

    scope: Scope
    reasons: tuple[Reason, ...] = ()
    """One for each pattern, in words for people; for an unrestricted scope, why it is."""
    needs_approval: bool = False
    """Whether the contract wants a person to say so first."""


async def scope_of(
    parts: Parts, job: Job, *, base: Sha | None = None, session_id: str | None = None
) -> Scope:
    """What sessions of this job may write: `allowed`, without the reasons."""
    return (await allowed(parts, job, base=base, session_id=session_id)).scope


async def allowed(
    parts: Parts, job: Job, *, base: Sha | None = None, session_id: str | None = None
) -> Allowed:
    """What sessions of this job may write, from this base where the job has none yet; with what was granted once to the
    session that is named. Raises ScopeError where role and settings do not go together, or `.nebulus/scope.yaml` does not parse.
    """
    at, commit = parts.clock.now(), base or job.base
    facts = await parts.database.read(lambda c: facts_of(c, job, at=at))
    inference = None
    turn = await parts.turn_of(job)
    if is_scope_in_issue(parts.settings, turn, job.issue, facts):
        inference = await inferred(parts, job, commit)
    return composed(parts.settings, turn, facts, inference, session_id=session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the database says of what may be written for an issue."""

    space: RepositoryName
    issue: Issue
    skill_job: SkillJob | None = None
    """What is special about it where it writes a skill."""
    answered: Inference | None = None
    """What a person said for want of anything else, or approved with the plan of its initiative."""
    granted: tuple[ScopeGrant, ...] = ()
    once: tuple[ScopeGrant, ...] = ()
    asked: tuple[Reason, ...] = ()
    """Where the issue itself says it: the files that were spoken of since."""


def facts_of(connection: sqlite3.Connection, job: Job, *, at: datetime) -> Facts:
    """Those of a job, at a moment at which some grants may have expired."""
    return Facts(
        space=job.space,
        issue=job.issue,
        skill_job=skill_job.read(connection, job),
        answered=approved(decisions.answered(connection, job.id), job.issue)
        or planned_scope(connection, job),
        granted=grants.scope_granted(connection, job.id, at=at),
        once=grants.scope_once(connection, job.id),
        asked=_asked_about(connection, job),
    )


def is_scope_in_issue(settings: Settings, turn: Turn, issue: Issue, facts: Facts) -> bool:
    """Whether nothing goes before what the issue says. Raises ScopeError."""
    space = settings.space(facts.space)
    is_declared = (
        facts.skill_job is not None or facts.answered is not None or space.scope_of(issue.number) is not None
    )
    return space.infer_scope and not is_declared and turn.rule.mode is ScopeMode.UNRESTRICTED


def composed(
    settings: Settings,
    turn: Turn,
    facts: Facts,
    inference: Inference | None,
    *,
    session_id: str | None = None,
) -> Allowed:
    """What may be written by all that is known; `told` is what the issue says, where it is asked. Raises ScopeError."""
    if (special := facts.skill_job) is not None:
        return Allowed(scope=special.scope, reasons=(special.scope_reason,))
    ground, is_open = _ground(settings, turn, facts, inference)
    own = (grant for grant in facts.once if grant.session_id == session_id)
    more = [reason for grant in (*facts.granted, *own) for reason in grant.reasons]
    if inference is not None and inference.scope.mode is not ScopeMode.UNRESTRICTED:
        more += facts.asked
    if ground.scope.mode is not ScopeMode.UNRESTRICTED:
        plan = [pattern for pattern in turn.plan_patterns if pattern not in ground.scope.patterns]
        more += [Reason(pattern=pattern, why=f"phase {turn.phase_name} makes it") for pattern in plan]
    scope = effective_scope(ground.scope, None, [reason.pattern for reason in more])
    return Allowed(
        scope=replace(scope, without=turn.closed),
        reasons=(*ground.reasons, *more),
        needs_approval=is_open and turn.rule.asks_first,
    )


def _ground(
    settings: Settings, turn: Turn, facts: Facts, inference: Inference | None
) -> tuple[Inference, bool]:
    """What contract, settings, a person or the issue say, in this order; and whether none of them says anything."""
    space, declared = settings.space(facts.space), turn.scope()
    number, labels = facts.issue.number, facts.issue.labels
    if inference is not None:
        is_open = inference.scope.mode is ScopeMode.UNRESTRICTED
        return (_unrestricted(_NOTHING) if is_open else inference), is_open
    is_free = declared.mode is ScopeMode.UNRESTRICTED and space.scope_of(number) is None
    if is_free and facts.answered is not None:
        return facts.answered, False
    patterns = space.scope_of(number, labels)
    scope = effective_scope(declared, patterns, ())
    if scope.mode is ScopeMode.UNRESTRICTED:
        return _unrestricted("no scope is given, and `infer_scope` is off"), True
    why = f"contract {turn.contract.name}" if patterns is None else space.scope_source(number, labels)
    reasons = tuple(Reason(pattern=pattern, why=why) for pattern in scope.patterns)
    return Inference(scope=scope, reasons=reasons), False


_NOTHING = "no scope is given, and nothing in the issue or its labels says which files it is about"


def _unrestricted(why: str) -> Inference:
    return Inference(scope=Scope.unrestricted(), reasons=(Reason(pattern="any file", why=why),))


def _asked_about(connection: sqlite3.Connection, job: Job) -> tuple[Reason, ...]:
    """The files that reviews, checks and conflicts of all its rounds are about: what was changed for one stays changed later."""
    named = ((item.finding.file, item.round) for item in follow_ups.of_job(connection, job.id))
    return tuple(
        Reason(pattern=exact_pattern(path), why=f"what was said after delivery is about it (round {number})")
        for path, number in named
        if path and not is_protected(path)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Where changes stand that no session could make now: sessions were allowed to once, or people pushed them."""

    accepted: frozenset[str] = frozenset()
    """The paths that are as they left them."""
    left: Mapping[str, Sha] = field(default_factory=dict)
    """The paths that were changed since, with the commit in which they are as they were left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PathsLeft:
    """Paths as somebody left them in a commit."""

    at: datetime
    commit: Sha
    paths: frozenset[str]


async def settled(parts: Parts, job: Job, head: Sha, changes: Sequence[Change]) -> Settled:
    """Compare a head with what was left by sessions that were allowed more once, and by people who pushed; `changes` are those
    of all the job's work."""
    written = {path for change in changes for path in change.paths}
    left = (*await _left_by_sessions(parts, job, written), *await _left_by_people(parts, job, written))
    latest: dict[str, Sha] = {}
    for one in sorted(left, key=lambda one: one.at):
        latest |= dict.fromkeys(one.paths, one.commit)
    since: dict[Sha, frozenset[str]] = {}
    for commit in set(latest.values()):
        # A restored database may know of commits that are nowhere any more; nothing is known of what they left.
        with contextlib.suppress(GitFailed):
            since[commit] = await _paths_between(parts, job, commit, head)
    latest = {path: commit for path, commit in latest.items() if commit in since}
    changed = {path: commit for path, commit in latest.items() if path in since[commit]}
    return Settled(accepted=frozenset(latest.keys() - changed.keys()), left=changed)


async def _left_by_sessions(parts: Parts, job: Job, written: Iterable[str]) -> list[_PathsLeft]:
    """What sessions wrote that were allowed to once; where the issue says what may be written, also what each could then: its words
    may be others since, and so may what is made of them."""
    facts = await parts.database.read(lambda c: facts_of(c, job, at=parts.clock.now()))
    found = []
    is_in_issue = is_scope_in_issue(parts.settings, await parts.turn_of(job), job.issue, facts)
    if is_in_issue or facts.answered is not None:  # both go by the issue's text
        for session in await parts.database.read(lambda c: sessions.of_job(c, job.id)):
            if session.kind is SessionKind.WORK and session.taken_sha:
                paths = frozenset(filter(Scope.parse(session.scope).allows, written))
                at, commit = session.ended_at or session.prepared_at, session.taken_sha
                found.append(_PathsLeft(at=at, commit=commit, paths=paths))
    for grant in await _granted_once(parts, job):
        if grant.taken_sha:
            scope = Scope(mode=ScopeMode.DIRECTORY, patterns=grant.patterns)
            paths = frozenset(filter(scope.allows, written))
            found.append(
                _PathsLeft(at=grant.ended_at or job.created_at, commit=Sha(grant.taken_sha), paths=paths)
            )
    return found


async def _left_by_people(parts: Parts, job: Job, written: set[str]) -> list[_PathsLeft]:
    """What others pushed to the branch; of what is closed to sessions nothing, since that is for people to look at."""
    if await skill_job.of(parts, job) is not None:  # what was approved is one text, word for word
        return []
    pushes = await parts.database.read(lambda c: _pushes(c, job))
    found = []
    for at, before, head in pushes:
        with contextlib.suppress(GitFailed):  # as above
            paths = await _paths_between(parts, job, before, head)
            theirs = frozenset(path for path in paths & written if not is_protected(path))
            found.append(_PathsLeft(at=at, commit=head, paths=theirs))
    return found


def _pushes(connection: sqlite3.Connection, job: Job) -> list[tuple[datetime, Sha, Sha]]:
    """When somebody else pushed, what was there before, and what after."""
    return [
        (datetime.fromisoformat(entry.at), Sha(before), Sha(head))
        for entry in ledger.entries(connection, job_id=job.id)
        if entry.name == EventName.FOREIGN_PUSH_FOUND
        and isinstance(before := entry.details.get("before"), str)
        and isinstance(head := entry.details.get("head"), str)
    ]


def by_commit(paths: Iterable[str], settled: Settled, base: Sha) -> dict[Sha, list[str]]:
    """The commits that paths are put back to: as they were left, or else as they are at base."""
    found: dict[Sha, list[str]] = {}
    for path in paths:
        found.setdefault(settled.left.get(path, base), []).append(path)
    return found


async def _paths_between(parts: Parts, job: Job, one: Sha, other: Sha) -> frozenset[str]:
    changes = await parts.git.changes(job.space, one, other)
    return frozenset(path for change in changes for path in change.paths)


async def _granted_once(parts: Parts, job: Job) -> tuple[ScopeGrant, ...]:
    return await parts.database.read(lambda c: grants.scope_once(c, job.id))
