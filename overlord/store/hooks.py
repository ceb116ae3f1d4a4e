"""How far operators' programs that observe have been told, and those that failed."""

import sqlite3
from datetime import datetime

from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.hooks import HookCall, HookFailure
from overlord.domain.identifiers import RepositoryName
from overlord.store import ledger
from overlord.store.evidence import EvidenceFile


def positions(connection: sqlite3.Connection) -> dict[str, int]:
    """By the name of what is followed, the number of the last row that was told."""
    rows = connection.execute("SELECT name, ledger_id FROM hook_positions")
    return {row["name"]: row["ledger_id"] for row in rows}


def put_position(connection: sqlite3.Connection, name: str, number: int | None) -> None:
    """Rows up to this one are told; None: nobody follows any more."""
    if number is None:
        connection.execute("DELETE FROM hook_positions WHERE name = ?", (name,))
        return
    connection.execute(
        "INSERT OR REPLACE INTO hook_positions (name, ledger_id) VALUES (?, ?)", (name, number)
    )


def last_evidence(connection: sqlite3.Connection) -> int:
    """The number of the newest evidence file."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM evidence").fetchone()[0])


def evidence_after(
    connection: sqlite3.Connection, number: int, limit: int
) -> list[tuple[int, RepositoryName, EvidenceFile]]:
    """The next evidence files after a known one, each with its number and its job's space."""
    query = """SELECT evidence.*, jobs.space FROM evidence JOIN jobs ON jobs.id = evidence.job_id
               WHERE evidence.id > ? ORDER BY evidence.id LIMIT ?"""
    return [
        (
            row["id"],
            RepositoryName(row["space"]),
            EvidenceFile(
                job_id=row["job_id"],
                session_id=row["session_id"],
                kind=row["kind"],
                sha256=row["sha256"],
                size=row["size"],
                at=datetime.fromisoformat(row["at"]),
            ),
        )
        for row in connection.execute(query, (number, limit))
    ]


def note_failure(connection: sqlite3.Connection, call: HookCall, failure: HookFailure, at: datetime) -> None:
    """Write down that a program which was asked gave no answer."""
    asked = {"hook": call.hook.value, "program": failure.program, "why": failure.why}
    whose = {"space": call.space, "session": call.session, "initiative": call.initiative, "task": call.task}
    data = {**asked, **{name: value for name, value in whose.items() if value}}
    event = LedgerEvent(name=EventName.HOOK_FAILED, at=at, job_id=call.job, data=data)
    ledger.append(connection, event)
