"""What people and others' checks held against a pull request: each taken up once, in a round, and answered where it stands."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from minion.protocol import Finding
from overlord.domain.job import Job, RoundKind
from overlord.store.rows import insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """One thing to change, as the first brief of its round numbers it."""

    id: int = 0
    job_id: int
    kind: RoundKind
    round: int
    key: str
    """What it stands for at the forge: a review, a thread up to a comment, a check of a commit."""
    finding: Finding
    head_sha: str
    """What it was said of."""
    sessions: int
    """How many work sessions the job had had by then."""
    thread: int | None = None
    """The review thread it is answered in."""
    is_owed: bool = False
    """Whether it is still to be answered there."""


def add(connection: sqlite3.Connection, found: Iterable[FollowUp]) -> None:
    """Take them up, in the transaction that begins their round."""
    for item in found:
        columns = {name: getattr(item, name) for name in item.__dataclass_fields__ if name != "id"}
        insert(connection, "follow_ups", columns)


def keys(connection: sqlite3.Connection, job_id: int) -> frozenset[str]:
    """All that was taken up in a job."""
    rows = connection.execute("SELECT key FROM follow_ups WHERE job_id = ?", (job_id,))
    return frozenset(row["key"] for row in rows)


def rounds(connection: sqlite3.Connection, job_id: int, kind: RoundKind) -> int:
    """How many rounds of a kind a job has had."""
    query = "SELECT count(DISTINCT round) FROM follow_ups WHERE job_id = ? AND kind = ?"
    return int(connection.execute(query, (job_id, kind)).fetchone()[0])


def of_round(connection: sqlite3.Connection, job: Job) -> list[FollowUp]:
    """What a job's present round is about, as its briefs number it."""
    query = "SELECT * FROM follow_ups WHERE job_id = ? AND round = ? ORDER BY id"
    return select(connection, FollowUp, query, job.id, job.round)


def of_job(connection: sqlite3.Connection, job_id: int) -> list[FollowUp]:
    """What all of its rounds were about."""
    return select(connection, FollowUp, "SELECT * FROM follow_ups WHERE job_id = ? ORDER BY id", job_id)


def owed(connection: sqlite3.Connection, job_id: int) -> list[FollowUp]:
    """Those that are to be answered once the work on them is delivered."""
    query = "SELECT * FROM follow_ups WHERE job_id = ? AND is_owed ORDER BY id"
    return select(connection, FollowUp, query, job_id)


def settle(connection: sqlite3.Connection, item: FollowUp) -> None:
    """It is answered."""
    connection.execute("UPDATE follow_ups SET is_owed = 0 WHERE id = ?", (item.id,))
