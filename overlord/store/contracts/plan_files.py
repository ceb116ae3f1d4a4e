"""The artifacts of a job's plan: the files below `plan/` that its sessions made, as they stand now."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime


def of_job(connection: sqlite3.Connection, job_id: int) -> dict[str, str]:
    """Every artifact by its path, in the order of the paths."""
    query = "SELECT path, text FROM plan_files WHERE job_id = ? ORDER BY path"
    return {row["path"]: row["text"] for row in connection.execute(query, (job_id,))}


def put(
    connection: sqlite3.Connection,
    job_id: int,
    changed: Mapping[str, str | None],
    *,
    session_id: str,
    at: datetime,
) -> None:
    """Take over what a session made of them; None for one that is gone."""
    for path, text in changed.items():
        if text is None:
            connection.execute("DELETE FROM plan_files WHERE job_id = ? AND path = ?", (job_id, path))
        else:
            connection.execute(
                "INSERT OR REPLACE INTO plan_files (job_id, path, text, session_id, at) VALUES (?,?,?,?,?)",
                (job_id, path, text, session_id, at.isoformat()),
            )


def made_by(connection: sqlite3.Connection, job_id: int, session_id: str) -> bool:
    """Whether some artifact is as this session left it."""
    query = "SELECT 1 FROM plan_files WHERE job_id = ? AND session_id = ? LIMIT 1"
    return connection.execute(query, (job_id, session_id)).fetchone() is not None


def copy(connection: sqlite3.Connection, from_job: int, to_job: int, *, at: datetime) -> None:
    """Give a job every artifact of another, as it stands now; who made it stays known."""
    statement = """INSERT OR REPLACE INTO plan_files (job_id, path, text, session_id, at)
                   SELECT ?, path, text, session_id, ? FROM plan_files WHERE job_id = ?"""
    connection.execute(statement, (to_job, at.isoformat(), from_job))
