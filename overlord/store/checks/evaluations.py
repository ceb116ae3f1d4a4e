"""Evaluations: one open per job while checks come in, closed with its verdict, kept as history."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.evaluation import CheckName, CheckResult, EvaluationResult, Verdict, overall
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.store import ledger
from overlord.store.rows import insert, select, update


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRow:
    """An evaluation under way or closed."""

    id: int
    job_id: int
    head_sha: Sha
    revision: int
    at: datetime
    checks: tuple[CheckResult, ...]
    closed: bool

    def made(self, name: CheckName) -> bool:
        return any(check.name == name for check in self.checks)


def current(connection: sqlite3.Connection, job: Job, *, at: datetime) -> EvaluationRow:
    """The open evaluation of a job's head, begun now if there is none."""
    query = "SELECT * FROM evaluations WHERE job_id = ? AND NOT closed"
    if found := select(connection, EvaluationRow, query, job.id):
        return found[0]
    insert(
        connection,
        "evaluations",
        {
            "job_id": job.id,
            "head_sha": job.head_sha,
            "revision": job.revision,
            "at": at,
            "checks": (),
            "overall": "",
        },
    )
    return select(connection, EvaluationRow, query, job.id)[0]


def add_check(
    connection: sqlite3.Connection, row: EvaluationRow, check: CheckResult, *, at: datetime
) -> None:
    """Write a check's outcome down. A check that is there already stays as it is: it was made once."""
    fresh = select(connection, EvaluationRow, "SELECT * FROM evaluations WHERE id = ?", row.id)[0]
    if fresh.made(check.name):
        return
    update(connection, "evaluations", row.id, {"checks": (*fresh.checks, check)})
    ledger.append(
        connection,
        LedgerEvent(
            name=EventName.CHECK_COMPLETED,
            at=at,
            job_id=row.job_id,
            data={
                "check": check.name,
                "score": check.score,
                "summary": check.summary,
                "head": row.head_sha,
                "evidence": list(check.evidence),
            },
        ),
    )


def explain(connection: sqlite3.Connection, row: EvaluationRow) -> None:
    """Keep what was told of checks that are there already; what each of them came to stays as it is."""
    update(connection, "evaluations", row.id, {"checks": row.checks})


def close(connection: sqlite3.Connection, row: EvaluationRow, verdict: Verdict | None = None) -> None:
    """Finish an evaluation with its verdict; the next one of this job begins anew."""
    update(connection, "evaluations", row.id, {"closed": True, "overall": verdict or overall(row.checks)})


def begun_at(connection: sqlite3.Connection, job_id: int) -> datetime | None:
    """When a job's newest evaluation began."""
    query = "SELECT at FROM evaluations WHERE job_id = ? ORDER BY id DESC LIMIT 1"
    row = connection.execute(query, (job_id,)).fetchone()
    return datetime.fromisoformat(row["at"]) if row else None


def closed(connection: sqlite3.Connection, job_id: int) -> list[EvaluationRow]:
    """The evaluations of a job that have a verdict, oldest first."""
    query = "SELECT * FROM evaluations WHERE job_id = ? AND closed ORDER BY id"
    return select(connection, EvaluationRow, query, job_id)


def of_job(connection: sqlite3.Connection, job_id: int) -> list[EvaluationRow]:
    """Every evaluation of a job, also one that was cut off before its verdict, oldest first."""
    query = "SELECT * FROM evaluations WHERE job_id = ? ORDER BY id"
    return select(connection, EvaluationRow, query, job_id)


def history(connection: sqlite3.Connection, job: Job) -> list[EvaluationResult]:
    """Every evaluation of a job, oldest first."""
    rows = select(connection, EvaluationRow, "SELECT * FROM evaluations WHERE job_id = ? ORDER BY id", job.id)
    return [result(row, job) for row in rows]


def result(row: EvaluationRow, job: Job) -> EvaluationResult:
    """A row in the form people and cards read."""
    return EvaluationResult(
        job_id=job.id,
        repo=job.space,
        pr_number=job.pull_number,
        head_sha=row.head_sha,
        revision_number=row.revision,
        timestamp=row.at,
        checks=row.checks,
    )
