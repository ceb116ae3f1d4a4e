"""What people granted a job beyond its contract: scope patterns with an expiry, and tokens."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from overlord.store.rows import insert


class GrantKind(StrEnum):
    SCOPE = "scope"
    TOKENS = "tokens"


def add(
    connection: sqlite3.Connection,
    job_id: int,
    kind: GrantKind,
    value: Sequence[str] | int,
    *,
    by: str,
    at: datetime,
    expires_at: datetime | None = None,
) -> None:
    """Record a grant, in the transaction of the answer that gives it."""
    columns = {"job_id": job_id, "kind": kind, "value": json.dumps(value), "granted_by": by, "at": at}
    insert(connection, "grants", {**columns, "expires_at": expires_at})


def scope_patterns(connection: sqlite3.Connection, job_id: int, *, at: datetime) -> tuple[str, ...]:
    """The patterns granted to a job that have not expired."""
    query = "SELECT value, expires_at FROM grants WHERE job_id = ? AND kind = 'scope' ORDER BY id"
    patterns: dict[str, None] = {}
    for row in connection.execute(query, (job_id,)):
        if row["expires_at"] is None or datetime.fromisoformat(row["expires_at"]) > at:
            patterns.update(dict.fromkeys(json.loads(row["value"])))
    return tuple(patterns)


def tokens(connection: sqlite3.Connection, job_id: int) -> int:
    """The tokens granted to each further session of a job."""
    query = "SELECT value FROM grants WHERE job_id = ? AND kind = 'tokens'"
    return sum(int(json.loads(row["value"])) for row in connection.execute(query, (job_id,)))
