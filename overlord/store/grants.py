"""What people granted a job beyond its contract: scope patterns with an expiry, tokens and money."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from overlord.domain.budget import Unit
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


def scope_patterns(connection: sqlite3.Connection, job_id: int, *, at: datetime) -> tuple[str, ...]:
    """The patterns granted to a job that have not expired."""
    query = "SELECT value, expires_at FROM grants WHERE job_id = ? AND kind = 'scope' ORDER BY id"
    patterns: dict[str, None] = {}
    for row in connection.execute(query, (job_id,)):
        if row["expires_at"] is None or datetime.fromisoformat(row["expires_at"]) > at:
            patterns.update(dict.fromkeys(json.loads(row["value"])))
    return tuple(patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnceGrant:
    """Paths that one session may write."""

    session_id: str
    patterns: tuple[str, ...]
    taken_sha: str
    """What its work became; empty until that is known."""


def scope_once(connection: sqlite3.Connection, job_id: int) -> tuple[OnceGrant, ...]:
    """What sessions of a job may write, or might, that no other of its sessions may; oldest first."""
    query = """SELECT session_id, value, taken_sha FROM grants JOIN sessions ON sessions.id = session_id
               WHERE grants.job_id = ? AND grants.kind = 'scope_once' ORDER BY grants.id"""
    return tuple(
        OnceGrant(
            session_id=row["session_id"], patterns=tuple(json.loads(row["value"])), taken_sha=row["taken_sha"]
        )
        for row in connection.execute(query, (job_id,))
    )


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
