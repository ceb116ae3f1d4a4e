"""Jobs as people ask for them: those of an issue or pull request, whatever became of them, and those that have ended."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from overlord.domain.job import TERMINAL, TRANSITIONS, Job, JobState
from overlord.store.rows import select

ENDINGS = sorted({str(event) for (_, event), state in TRANSITIONS.items() if state in TERMINAL})
"""The events that end a job."""
ON_ISSUES = "issue_number >= 0"
"""Of the jobs of calls the number is negative: they are listed with the calls, and not among work on issues."""
_MARKS = ", ".join(f"'{name}'" for name in ENDINGS)


def at_number(connection: sqlite3.Connection, number: int, space: str | None) -> list[Job]:
    """Every job of an issue, or with the pull request of that number, newest first: of one repository, or of all."""
    query = """SELECT * FROM jobs WHERE (issue_number = ? OR pull_number = ?)
               AND (? IS NULL OR lower(space) = lower(?)) ORDER BY id DESC"""
    return select(connection, Job, query, number, number, space, space)


def newest(connection: sqlite3.Connection, *, limit: int) -> list[Job]:
    """Those that ended last, newest first, without those of calls, which are no work on issues."""
    query = f"SELECT * FROM jobs WHERE NOT is_open AND {ON_ISSUES} ORDER BY updated_at DESC, id DESC LIMIT ?"  # noqa: S608
    return select(connection, Job, query, limit)


def last_ended(connection: sqlite3.Connection, *, space: str, limit: int) -> list[Job]:
    """Those that ended last, newest first: of one repository, or of all where none is named."""
    query = f"""SELECT * FROM jobs WHERE NOT is_open AND {ON_ISSUES} AND (? = '' OR lower(space) = lower(?))
               ORDER BY updated_at DESC, id DESC LIMIT ?"""  # noqa: S608 - constants
    return select(connection, Job, query, space, space, limit)


def last_claimed(connection: sqlite3.Connection, space: str) -> list[Job]:
    """The one job of a repository that was claimed last; none where there was none."""
    query = f"SELECT * FROM jobs WHERE {ON_ISSUES} AND lower(space) = lower(?) ORDER BY id DESC LIMIT 1"  # noqa: S608
    return select(connection, Job, query, space)


def numbers(
    connection: sqlite3.Connection,
    *,
    spaces: Sequence[str],
    state: JobState | None,
    before: int,
    limit: int,
) -> list[int]:
    """The numbers of jobs, the newest first: of some repositories, or of all where none is named; below `before`, where that is not
    0."""
    where, values = ["1"], list[object]()
    if spaces:
        where.append(f"space IN ({', '.join('?' * len(spaces))})")
        values += spaces
    if state is not None:
        where.append("state = ?")
        values.append(state)
    if before:
        where.append("id < ?")
        values.append(before)
    query = f"SELECT id FROM jobs WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?"  # noqa: S608 - words of ours
    return [row[0] for row in connection.execute(query, (*values, limit))]


def ended_since(connection: sqlite3.Connection, at: datetime) -> list[Job]:
    """Those that ended at a moment or later, oldest claim first."""
    query = f"""SELECT * FROM jobs WHERE NOT is_open AND {ON_ISSUES} AND updated_at >= ? AND EXISTS (
                  SELECT 1 FROM ledger WHERE job_id = jobs.id AND at >= ? AND name IN ({_MARKS}))
                ORDER BY id"""  # noqa: S608 - constants
    return select(connection, Job, query, at.isoformat(), at.isoformat())


def ended_at(connection: sqlite3.Connection, job: Job) -> datetime:
    """When a job that has ended did."""
    query = f"SELECT max(at) AS at FROM ledger WHERE job_id = ? AND name IN ({_MARKS})"  # noqa: S608
    found = connection.execute(query, (job.id,)).fetchone()["at"]
    return datetime.fromisoformat(found) if found else job.updated_at
