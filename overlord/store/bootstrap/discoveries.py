"""The discovery of a job: every question as it stands. Only Overlord writes it; sessions read a copy."""

import sqlite3
from datetime import datetime

from overlord.domain.discovery.question import Discovery, read_discovery


def of_job(connection: sqlite3.Connection, job_id: int) -> Discovery | None:
    """None where a job discovers nothing."""
    row = connection.execute("SELECT text FROM discoveries WHERE job_id = ?", (job_id,)).fetchone()
    return read_discovery(row["text"]) if row is not None else None


def put(connection: sqlite3.Connection, job_id: int, discovery: Discovery, *, at: datetime) -> None:
    """Keep it as it stands now."""
    statement = "INSERT OR REPLACE INTO discoveries (job_id, text, at) VALUES (?, ?, ?)"
    connection.execute(statement, (job_id, discovery.to_json(), at.isoformat()))
