"""Jobs that ended, one after another, with what their sessions were asked and what became of it: for years of them, a few rows at a time."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from overlord.store import evidence
from overlord.store.evidence import EvidenceFile


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedJob:
    """What the database has of a job that ended."""

    id: int
    space: str
    ending: str
    ended_on: str
    agent: str
    model: str
    has_pull: bool
    base: str


def ended_jobs(connection: sqlite3.Connection, *, since: date | None, space: str = "") -> Iterator[EndedJob]:
    """Those that ended on this day or after it, by their number; of all repositories, or of one."""
    where = "outcome.ended_on >= ?" + (" AND lower(outcome.space) = lower(?)" if space else "")
    query = f"""SELECT outcome.*, jobs.pull_number, jobs.base_sha FROM job_outcomes AS outcome JOIN jobs ON jobs.id = outcome.job_id
                WHERE {where} ORDER BY outcome.job_id"""  # noqa: S608 - words of ours
    values = (since.isoformat() if since else "", *((space,) if space else ()))
    for row in connection.execute(query, values):
        yield EndedJob(
            id=row["job_id"],
            space=row["space"],
            ending=row["ending"],
            ended_on=row["ended_on"],
            agent=row["agent"],
            model=row["model"],
            has_pull=row["pull_number"] is not None,
            base=row["base_sha"] or "",
        )


def verdicts_of(connection: sqlite3.Connection, job: int) -> Mapping[str, str]:
    """What the last evaluation of each commit of a job came to."""
    query = "SELECT head_sha, overall FROM evaluations WHERE job_id = ? AND closed ORDER BY id"
    return {row["head_sha"]: row["overall"] for row in connection.execute(query, (job,))}


def evidence_of(connection: sqlite3.Connection, job: int) -> Mapping[tuple[str, str], EvidenceFile]:
    """The last file of each session and kind; those that were removed too."""
    return {
        (item.session_id, item.kind): item
        for item in evidence.exhibits(connection, job)
        if item.session_id is not None
    }
