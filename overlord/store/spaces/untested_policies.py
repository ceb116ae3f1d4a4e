"""What people said about repositories without tests: one answer for each, until it is taken back or there are tests."""

import sqlite3

from overlord.domain.checks.untested import UntestedPolicy
from overlord.domain.decision import Subject
from overlord.store.rows import insert, select


def of(connection: sqlite3.Connection, space: str) -> UntestedPolicy | None:
    """What counts in a space now."""
    query = "SELECT * FROM untested_policies WHERE space = ?"
    return next(iter(select(connection, UntestedPolicy, query, space)), None)


def put(connection: sqlite3.Connection, policy: UntestedPolicy) -> None:
    """Remember it in place of what was said before."""
    remove(connection, policy.space)
    columns = {name: getattr(policy, name) for name in policy.__dataclass_fields__}
    insert(connection, "untested_policies", columns)


def remove(connection: sqlite3.Connection, space: str) -> None:
    """Forget it."""
    connection.execute("DELETE FROM untested_policies WHERE space = ?", (space,))


def asked(connection: sqlite3.Connection) -> dict[str, int]:
    """The spaces in which the question waits for an answer, and the job it was put for."""
    query = """SELECT jobs.space, min(jobs.id) AS job FROM decisions JOIN jobs ON jobs.id = decisions.job_id
               WHERE decisions.state = 'open' AND decisions.subject = ? GROUP BY jobs.space"""
    return {row["space"]: row["job"] for row in connection.execute(query, (Subject.UNTESTED,))}


def unworked(connection: sqlite3.Connection, space: str) -> frozenset[int]:
    """The open jobs of a space that had no work session yet, without those of calls, which wait for no answer."""
    query = """SELECT id FROM jobs WHERE is_open AND space = ? AND issue_number >= 0
               AND NOT EXISTS (SELECT 1 FROM sessions WHERE job_id = jobs.id AND kind = 'work')"""
    return frozenset(row["id"] for row in connection.execute(query, (space,)))
