"""What a job's sessions may write now: the scope of their role and space, and what people granted.

What was granted once holds for the session that asked. Later sessions may not write there, and so the check of their diff, which
is that of all the job's work, looks at whether those paths are still as that session left them.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from minion.protocol import Scope, ScopeError, ScopeMode, is_protected
from overlord.domain.job import Job
from overlord.domain.scope import Change, effective_scope, exact_pattern
from overlord.engine.evolve import of_job, scope_for
from overlord.engine.infer import inferred
from overlord.engine.parts import Parts
from overlord.ports import RepositoryName, Sha
from overlord.store import follow_ups, grants
from overlord.store.grants import OnceGrant


async def scope_of(
    parts: Parts, job: Job, *, base: Sha | None = None, session_id: str | None = None
) -> Scope:
    """What sessions of this job may write, from this base where the job has none yet; with what was granted once to the
    session that is named."""
    if (draft := await of_job(parts, job)) is not None:
        return scope_for(draft)  # no grant widens it
    contract = parts.contract(job.space)
    rule = contract.role_of(job.phase).scope
    if rule is None:
        raise ScopeError(f"role {contract.phase(job.phase).role} declares none")
    at = parts.clock.now()
    granted = await parts.database.read(lambda c: grants.scope_patterns(c, job.id, at=at))
    once = await _granted_once(parts, job)
    own = [pattern for grant in once if grant.session_id == session_id for pattern in grant.patterns]
    declared, more = rule.scope(), (*granted, *own)
    told = None
    if declared.mode is ScopeMode.UNRESTRICTED:
        told = await inferred(parts, job, base or Sha(job.base_sha or ""))
    if told is None:
        allowed = parts.settings.space(job.space).scope_of(job.issue.number, job.issue.labels)
        return effective_scope(declared, allowed, more)
    if told.scope.mode is not ScopeMode.UNRESTRICTED:
        more = (*more, *await parts.database.read(lambda c: _asked_about(c, job)))
    return effective_scope(told.scope, None, more)


def _asked_about(connection: sqlite3.Connection, job: Job) -> tuple[str, ...]:
    """The files that reviews and checks of this round are about, which their answer may have to change."""
    named = (item.finding.file for item in follow_ups.of_round(connection, job))
    return tuple(exact_pattern(path) for path in named if path and not is_protected(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Where sessions wrote that were allowed to once."""

    standing: frozenset[str] = frozenset()
    """The paths that are as they left them."""
    left: Mapping[str, Sha] = field(default_factory=dict)
    """The paths that were changed since, with the commit in which they are as they were left."""


async def settled(parts: Parts, job: Job, head: Sha, changes: Sequence[Change]) -> Settled:
    """Compare a head with what the sessions left that were allowed more once; `changes` are those of all the job's work."""
    written = {path for change in changes for path in change.paths}
    latest: dict[str, Sha] = {}
    for grant in await _granted_once(parts, job):
        if grant.taken_sha:
            scope = Scope(mode=ScopeMode.DIRECTORY, patterns=grant.patterns)
            latest |= dict.fromkeys(filter(scope.allows, written), Sha(grant.taken_sha))
    since = {commit: await _paths_since(parts, job, commit, head) for commit in set(latest.values())}
    left = {path: commit for path, commit in latest.items() if path in since[commit]}
    return Settled(standing=frozenset(latest.keys() - left.keys()), left=left)


def by_commit(paths: Iterable[str], settled: Settled, base: Sha) -> dict[Sha, list[str]]:
    """The commits that paths are put back to: as they were left, or else as they are at base."""
    found: dict[Sha, list[str]] = {}
    for path in paths:
        found.setdefault(settled.left.get(path, base), []).append(path)
    return found


async def _paths_since(parts: Parts, job: Job, commit: Sha, head: Sha) -> frozenset[str]:
    changes = await parts.git.changes(RepositoryName(job.space), commit, head)
    return frozenset(path for change in changes for path in change.paths)


async def _granted_once(parts: Parts, job: Job) -> tuple[OnceGrant, ...]:
    return await parts.database.read(lambda c: grants.scope_once(c, job.id))
