"""What a session said of what it learned: how much it noted, or that there was nothing to note."""

import sqlite3

from overlord.domain.knowledge.note import Note
from overlord.store.rows import select

MOST_CHARS = 500


def nothing_learned(connection: sqlite3.Connection, job_id: int, why: str) -> None:
    """A session of this job says that there is nothing to note, and why."""
    query = """INSERT INTO job_portfolio (job_id, no_learnings) VALUES (?, ?)
               ON CONFLICT (job_id) DO UPDATE SET no_learnings = excluded.no_learnings"""
    connection.execute(query, (job_id, why[:MOST_CHARS]))


def why_nothing(connection: sqlite3.Connection, job_id: int) -> str:
    """Why a job's sessions noted nothing, as one of them said; empty where none did."""
    query = "SELECT no_learnings FROM job_portfolio WHERE job_id = ?"
    row = connection.execute(query, (job_id,)).fetchone()
    return str(row[0]) if row is not None else ""


def of_job(connection: sqlite3.Connection, job_id: int) -> list[Note]:
    """What the sessions of a job noted themselves, oldest first."""
    query = """SELECT * FROM notes WHERE json_extract(source, '$.job_id') = ?
               AND json_extract(source, '$.session_id') <> '' ORDER BY id"""
    return select(connection, Note, query, job_id)


def count_of_session(connection: sqlite3.Connection, session_id: str) -> int:
    """How many notes a session wrote."""
    query = "SELECT count(*) FROM notes WHERE json_extract(source, '$.session_id') = ?"
    return int(connection.execute(query, (session_id,)).fetchone()[0])
