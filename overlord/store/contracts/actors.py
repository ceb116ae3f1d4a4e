"""The actors of a phase in their order: as the contract lists them, or as the plan's delegation gives them work."""

import sqlite3

from minion.protocol import Assignment
from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.delegation import Delegation
from overlord.domain.contracts.note import NoteKind, RoleNote
from overlord.domain.job import Job
from overlord.store.contracts import plan_files, role_notes

DELEGATION = "plan/delegation.yaml"


def in_order(connection: sqlite3.Connection, contract: Contract, job: Job, phase: str) -> tuple[str, ...]:
    """Who works in a phase. Who is given nothing by the delegation is left out, unless it gives nobody of the phase anything."""
    actors = contract.phase(phase).actors
    delegation = of_job(connection, job)
    if delegation is None:
        return actors
    blocked = {note.source for note in role_notes.of_job(connection, job.id) if note.kind is NoteKind.BLOCKED}
    busy = {item.role for item in delegation.assignments if item.name not in blocked}
    return tuple(role for role in delegation.order if role in actors and role in busy) or actors


def of_job(connection: sqlite3.Connection, job: Job) -> Delegation | None:
    """The delegation of the job's plan; None where there is none that can be read."""
    text = plan_files.of_job(connection, job.id).get(DELEGATION)
    if text is None:
        return None
    try:
        return Delegation.parse(text.encode(), DELEGATION)
    except ValueError:
        return None  # `delegation_coverage` says what is wrong with it


def assignments(connection: sqlite3.Connection, job: Job, role: str) -> tuple[Assignment, ...]:
    """What a role is to do of the job, with what was changed since the plan was made."""
    delegation = of_job(connection, job)
    if delegation is None:
        return ()
    notes = role_notes.of_job(connection, job.id)
    return tuple(
        Assignment(
            name=item.name,
            text=_last(notes, NoteKind.ASSIGNMENT, item.name) or item.text,
            blocked=_last(notes, NoteKind.BLOCKED, item.name),
        )
        for item in delegation.assignments
        if item.role == role
    )


def _last(notes: list[RoleNote], kind: NoteKind, name: str) -> str:
    return next((note.text for note in reversed(notes) if note.kind is kind and note.source == name), "")
