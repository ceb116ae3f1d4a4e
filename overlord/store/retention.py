"""What the database holds longer than anybody needs it, and how that is let go of. The ledger is never shortened, and neither is
what keeps a thing from being done twice: claims, hearings, refusals, exchanges.
"""

import sqlite3
from collections.abc import Collection
from datetime import datetime

from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.retention_item import KeptEvidence
from overlord.store import ledger
from overlord.store.chat.requests import KEPT
from overlord.store.rows import select

_OVER = "SELECT id FROM jobs WHERE NOT is_open AND updated_at < ?"
_PLACES = f"SELECT id FROM messages WHERE is_final AND kind IN ('job', 'story') AND ref IN ({_OVER})"  # noqa: S608
_OLD = (
    ("requests", "state = 'answered' AND at < ?"),
    ("buttons", f"message_id IN ({_PLACES})"),
    ("messages", f"is_final AND kind = 'story' AND ref IN ({_OVER})"),
    (
        "wishes",
        "state != 'open' AND answered_at < ? AND id NOT IN (SELECT wish_id FROM requests WHERE wish_id IS NOT NULL)",
    ),
)
"""What was said and shown about jobs that ended long ago, in the order it can be deleted in."""


def evidence_of_ended(connection: sqlite3.Connection) -> list[KeptEvidence]:
    """The evidence of jobs that have ended, as far as it is still kept."""
    query = """SELECT job_id, kind, sha256, size, jobs.updated_at AS ended_at FROM evidence
               JOIN jobs ON jobs.id = job_id WHERE NOT is_open AND removed_at IS NULL ORDER BY evidence.id"""
    return select(connection, KeptEvidence, query)


def evidence_bytes(connection: sqlite3.Connection) -> int:
    """All evidence together."""
    query = "SELECT coalesce(sum(size), 0) FROM evidence WHERE removed_at IS NULL"
    return int(connection.execute(query).fetchone()[0])


def evidence_digests(connection: sqlite3.Connection) -> frozenset[str]:
    """The files that some row says are there."""
    rows = connection.execute("SELECT DISTINCT sha256 FROM evidence WHERE removed_at IS NULL")
    return frozenset(row[0] for row in rows)


def forget_evidence(
    connection: sqlite3.Connection,
    job_id: int,
    digests: Collection[str],
    *,
    size: int,
    actor: str,
    at: datetime,
) -> None:
    """Evidence of a job is kept no longer; the ledger says which."""
    marks = ", ".join("?" * len(digests))
    connection.execute(
        f"UPDATE evidence SET removed_at = ? WHERE job_id = ? AND removed_at IS NULL AND sha256 IN ({marks})",  # noqa: S608
        (at.isoformat(), job_id, *digests),
    )
    event = LedgerEvent(
        name=EventName.EVIDENCE_REMOVED,
        at=at,
        actor=actor,
        job_id=job_id,
        data={"sha256": list(digests), "size": size},
    )
    ledger.append(connection, event)


def old_rows(connection: sqlite3.Connection, before: datetime, now: datetime) -> int:
    """How many rows nobody needs any more."""
    count = 0
    for table, rule in _OLD:
        query = f"SELECT count(*) FROM {table} WHERE {rule}"  # noqa: S608 - constants
        count += int(connection.execute(query, (_until(table, before, now),)).fetchone()[0])
    return count


def forget_rows(connection: sqlite3.Connection, before: datetime, now: datetime) -> int:
    """Delete them; how many there were."""
    return sum(
        connection.execute(f"DELETE FROM {table} WHERE {rule}", (_until(table, before, now),)).rowcount  # noqa: S608
        for table, rule in _OLD
    )


def _until(table: str, before: datetime, now: datetime) -> str:
    return (now - KEPT if table == "requests" else before).isoformat()


_NEEDED = (
    "SELECT space, base_sha, head_sha, phase_sha, pushing_sha, pushed_sha FROM jobs WHERE is_open",
    "SELECT space, taken_sha FROM jobs JOIN sessions ON job_id = jobs.id WHERE is_open",
    """SELECT space, json_extract(data, '$.before'), json_extract(data, '$.head')
       FROM jobs JOIN ledger ON ledger.job_id = jobs.id WHERE is_open AND ledger.name = 'foreign_push_found'""",
)


def commits_needed(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """The commits that open jobs stand on, and that what was left by sessions and people is told from; by repository, in small
    letters."""
    found: dict[str, set[str]] = {}
    for query in _NEEDED:
        for space, *commits in connection.execute(query):
            found.setdefault(space.casefold(), set()).update(filter(None, commits))
    return {space: frozenset(commits) for space, commits in found.items()}


def sessions_present(connection: sqlite3.Connection) -> frozenset[str]:
    """The sessions that have something on the disk or may have: those that are not over, or not cleared away."""
    rows = connection.execute("SELECT id FROM sessions WHERE state != 'ended' OR NOT cleared")
    return frozenset(row[0] for row in rows)


def setups_since(connection: sqlite3.Connection, at: datetime) -> frozenset[str]:
    """The repositories, in small letters, that something was set up for at a moment or later."""
    query = """SELECT DISTINCT space FROM jobs JOIN sessions ON job_id = jobs.id
               WHERE sessions.kind = 'setup' AND prepared_at >= ?"""
    return frozenset(row[0].casefold() for row in connection.execute(query, (at.isoformat(),)))
