"""The final states of jobs: evidence that is kept once, when a job is over and nothing of it runs any more."""

import json
import sqlite3

from overlord.domain.event import EventName
from overlord.domain.final_state import ENDINGS, Waited
from overlord.domain.job import JobId
from overlord.store.evidence import EvidenceFile, record

KIND = "final"
"""The kind of evidence that holds it."""


def keep(connection: sqlite3.Connection, evidence_file: EvidenceFile) -> None:
    """Write down that this is a job's final state, unless it has one."""
    query = "UPDATE jobs SET has_final = 1 WHERE id = ? AND NOT has_final"
    if connection.execute(query, (evidence_file.job_id,)).rowcount:
        record(connection, evidence_file)


def waited(connection: sqlite3.Connection, job_id: JobId) -> tuple[Waited, ...]:
    """What waited for people when a job ended: its end is the fact after which they were not asked any more."""
    marks = ", ".join("?" * len(ENDINGS))
    ended = f"SELECT max(seq) FROM ledger WHERE job_id = ? AND name IN ({marks})"  # noqa: S608 - constants
    [seq] = connection.execute(ended, (job_id, *ENDINGS)).fetchone()
    query = """SELECT decisions.* FROM decisions JOIN ledger
               ON ledger.job_id = decisions.job_id AND json_extract(ledger.data, '$.decision') = decisions.id
               WHERE ledger.job_id = ? AND ledger.name = ? AND ledger.seq > ? ORDER BY decisions.id"""
    rows = connection.execute(query, (job_id, EventName.DECISION_SUPERSEDED, seq or 0))
    return tuple(
        Waited(
            decision=row["id"],
            subject=row["subject"],
            title=row["title"],
            gate=json.loads(row["options"])[1] if row["subject"] == "gate" else "",
        )
        for row in rows
    )
