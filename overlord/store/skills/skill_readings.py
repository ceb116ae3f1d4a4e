"""What a model said of proposed skills: one row a text, so that it is asked once."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from overlord.domain.skills.finding import SkillFinding
from overlord.store.rows import select, to_column

KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A row. `digest` is of the text, its path, and what was asked about it."""

    space: str
    digest: str
    findings: tuple[SkillFinding, ...]
    at: datetime


def get(connection: sqlite3.Connection, space: str, digest: str) -> Reading | None:
    """What was said of a text of a space; None for one that was never read."""
    query = "SELECT * FROM skill_readings WHERE space = ? AND digest = ?"
    return next(iter(select(connection, Reading, query, space, digest)), None)


def count_since(connection: sqlite3.Connection, space: str, since: datetime) -> int:
    """How many texts of a space were read since then."""
    query = "SELECT count(*) FROM skill_readings WHERE space = ? AND at > ?"
    return int(connection.execute(query, (space, since.isoformat())).fetchone()[0])


def note(connection: sqlite3.Connection, reading: Reading) -> None:
    """Remember what was said; what is older than any open pull request should be goes."""
    connection.execute("DELETE FROM skill_readings WHERE at < ?", ((reading.at - KEPT).isoformat(),))
    columns = (reading.space, reading.digest, reading.findings, reading.at)
    query = "INSERT OR REPLACE INTO skill_readings (space, digest, findings, at) VALUES (?, ?, ?, ?)"
    connection.execute(query, [to_column(value) for value in columns])
