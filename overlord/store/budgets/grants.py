"""What people granted a job beyond its contract: scope patterns with an expiry, tokens and money."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from overlord.domain.budgets.budget import Unit
from overlord.domain.identifiers import NO_COMMIT, Sha
from overlord.domain.scope.reason import ScopeGrant
from overlord.store.rows import insert


class GrantKind(StrEnum):
    SCOPE = "scope"
    SCOPE_ONCE = "scope_once"
    """For one session alone: what it leaves there stands, and no later one may change it."""
    DEPENDENCIES = "dependencies"
    """Dependency files that may be installed, by the digest of what was shown."""
    TOKENS = "tokens"
    USD = "usd"
    """In nano-dollars."""


def add(
    connection: sqlite3.Connection,
    job_id: int,
    kind: GrantKind,
    value: Sequence[str] | int,
    *,
    by: str,
    at: datetime,
    expires_at: datetime | None = None,
    session_id: str | None = None,
) -> None:
    """Record a grant, in the transaction of the answer that gives it; for one session alone where one is named."""
    columns = {"job_id": job_id, "kind": kind, "value": json.dumps(value), "granted_by": by, "at": at}
    insert(connection, "grants", {**columns, "expires_at": expires_at, "session_id": session_id})


def scope_granted(connection: sqlite3.Connection, job_id: int, *, at: datetime) -> tuple[ScopeGrant, ...]:
    """What was granted to all of a job's sessions and has not expired, oldest first."""
    every = scope_ever_granted(connection, job_id)
    return tuple(
        grant
        for grant in every
        if not grant.session_id and (grant.expires_at is None or grant.expires_at > at)
    )


def scope_once(connection: sqlite3.Connection, job_id: int) -> tuple[ScopeGrant, ...]:
    """What sessions of a job may write, or might, that no other of its sessions may; oldest first."""
    return tuple(grant for grant in scope_ever_granted(connection, job_id) if grant.session_id)


def scope_ever_granted(connection: sqlite3.Connection, job_id: int) -> tuple[ScopeGrant, ...]:
    """Every grant of scope a job ever had, expired or not, oldest first."""
    query = """SELECT grants.kind, value, granted_by, expires_at, session_id, taken_sha, ended_at
               FROM grants LEFT JOIN sessions ON sessions.id = session_id
               WHERE grants.job_id = ? AND grants.kind IN ('scope', 'scope_once') ORDER BY grants.id"""
    return tuple(_scope_grant(row) for row in connection.execute(query, (job_id,)))


def _scope_grant(row: sqlite3.Row) -> ScopeGrant:
    is_once = row["kind"] == GrantKind.SCOPE_ONCE
    return ScopeGrant(
        patterns=tuple(json.loads(row["value"])),
        by=row["granted_by"],
        expires_at=_moment(row["expires_at"]),
        session_id=row["session_id"] if is_once else "",
        taken_sha=Sha(row["taken_sha"] or "") if is_once else NO_COMMIT,
        ended_at=_moment(row["ended_at"]) if is_once else None,
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def may_install(connection: sqlite3.Connection, job_id: int, digest: str) -> bool:
    """Whether a person allowed these dependency files to be installed."""
    query = "SELECT value FROM grants WHERE job_id = ? AND kind = 'dependencies'"
    return any(digest in json.loads(row["value"]) for row in connection.execute(query, (job_id,)))


def added(
    connection: sqlite3.Connection,
    unit: Unit,
    *,
    job_id: int | None = None,
    day: str | None = None,
    space: str | None = None,
) -> int:
    """What people added of a unit: to one job, or on one UTC day to every job (of one space)."""
    query = """SELECT coalesce(sum(CAST(value AS INTEGER)), 0) FROM grants JOIN jobs ON jobs.id = job_id
               WHERE kind = :unit AND (:job IS NULL OR job_id = :job)
               AND (:day IS NULL OR substr(at, 1, 10) = :day) AND (:space IS NULL OR space = :space)"""
    names = {"unit": str(unit), "job": job_id, "day": day, "space": space}
    return int(connection.execute(query, names).fetchone()[0])
