"""What is kept for a role between its sessions."""

import sqlite3
from datetime import datetime

from overlord.domain.contracts.note import NoteKind, RoleNote
from overlord.domain.job import Job
from overlord.store.rows import insert, select

MOST_CHARS = 20_000


def add(
    connection: sqlite3.Connection,
    job: Job,
    kind: NoteKind,
    text: str,
    *,
    source: str,
    role: str,
    at: datetime,
) -> None:
    """Keep something for a role in the phase its job is in."""
    values = {"job_id": job.id, "phase": job.phase, "role": role, "kind": kind}
    insert(connection, "role_notes", {**values, "text": text[:MOST_CHARS], "source": source, "at": at})


def of_role(connection: sqlite3.Connection, job_id: int, phase: str, role: str) -> list[RoleNote]:
    """What a role has to know in a phase, oldest first."""
    query = "SELECT * FROM role_notes WHERE job_id = ? AND phase = ? AND role IN (?, '') ORDER BY id"
    return select(connection, RoleNote, query, job_id, phase, role)


def of_job(connection: sqlite3.Connection, job_id: int) -> list[RoleNote]:
    """Everything that was kept for a job's roles, oldest first."""
    return select(connection, RoleNote, "SELECT * FROM role_notes WHERE job_id = ? ORDER BY id", job_id)
