"""A role cannot go on: who is asked next, as its contract says. The architect first, a person last."""

import sqlite3
from collections.abc import Mapping
from enum import StrEnum

from minion.protocol import ConsultationKind
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.contract import Exhausted
from overlord.domain.contracts.note import NoteKind
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import Subject
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.question import ask
from overlord.domain.text.plain import plain_line
from overlord.engine.runtime.parts import Parts
from overlord.store import decisions, jobs
from overlord.store.contracts import role_notes

ARCHITECT = "architect"


class Target(StrEnum):
    """Who is asked."""

    ARCHITECT = "architect"
    GATE = "gate"
    PERSON = "person"
    NOBODY = "nobody"
    """The job ends."""


def when_exhausted(connection: sqlite3.Connection, turn: Turn, job: Job) -> Target:
    """Who is asked when a role has used up its budget."""
    declared = turn.budget.exhausted or Exhausted.ASK
    if declared is Exhausted.ARCHITECT:
        return Target.ARCHITECT if may_consult(connection, turn, job) else Target.PERSON
    return {Exhausted.GATE: Target.GATE, Exhausted.TERMINATE: Target.NOBODY}.get(declared, Target.PERSON)


def by_chain(connection: sqlite3.Connection, turn: Turn, job: Job, event: str = "") -> Target:
    """Who is asked when a role hands its work up, or did what no feedback mends."""
    chain = (turn.contract.events[event],) if event in turn.contract.events else turn.contract.escalation
    if ARCHITECT in chain and may_consult(connection, turn, job):
        return Target.ARCHITECT
    return Target.PERSON if "person" in chain or ARCHITECT in chain else Target.NOBODY


def may_consult(connection: sqlite3.Connection, turn: Turn, job: Job) -> bool:
    """Whether the architect is there, is somebody else, and was not asked about this role as often as it may be."""
    role = turn.contract.roles.get(ARCHITECT)
    if role is None or turn.role_name == ARCHITECT:
        return False
    notes = role_notes.of_role(connection, job.id, turn.phase_name, turn.role_name)
    asked = sum(note.kind is NoteKind.ESCALATION for note in notes)
    return asked < (role.budget.iterations if role.budget is not None else 1)


def to_architect(
    connection: sqlite3.Connection, parts: Parts, turn: Turn, job: Job, why: str, *, data: Mapping[str, Json]
) -> None:
    """The architect's session is next: it is told why, and says how the role goes on."""
    at = parts.clock.now()
    role_notes.add(connection, job, NoteKind.ESCALATION, why, source="evaluation", role=turn.role_name, at=at)
    asked = Asked(kind=ConsultationKind.RESOLUTION, role=ARCHITECT, about=turn.role_name, why=why)
    about: dict[str, Json] = {**data, "role": turn.role_name, "to": ARCHITECT, "why": plain_line(why, limit=300)}
    jobs.move(
        connection, job.id, EventName.ESCALATED, at=at, data=about, consultation=asked.to_json(), losses=0,
        reason=f"{turn.role_name} cannot go on; the architect is asked", head_sha=before_turn(job),
    )  # fmt: skip


def before_turn(job: Job) -> Sha | None:
    """The head from before its role's turn: what missed something goes back to there. None before any work was taken."""
    return job.role_sha or job.phase_sha


def to_gate(
    connection: sqlite3.Connection,
    parts: Parts,
    turn: Turn,
    job: Job,
    why: str,
    *,
    event: EventName,
    data: Mapping[str, Json],
) -> None:
    """A person says whether the role has as much again."""
    at = parts.clock.now()
    body = f"Role {turn.role_name} has used up its budget in phase {turn.phase_name}.\n\n{why}"
    moved = jobs.move(connection, job.id, event, at=at, data=data, reason=body.splitlines()[0], losses=0)
    decisions.raise_decision(connection, ask(moved, Subject.EXHAUSTED, body, at=at))


def terminate(
    connection: sqlite3.Connection, parts: Parts, turn: Turn, job: Job, why: str, *, data: Mapping[str, Json]
) -> None:
    """The job fails, as the contract says it does when this role cannot go on."""
    reason = f"role {turn.role_name} cannot go on in phase {turn.phase_name}: {plain_line(why, limit=300)}"
    jobs.move(
        connection, job.id, EventName.TERMINATED, at=parts.clock.now(), data={**data, "role": turn.role_name}, reason=reason
    )


def to(
    connection: sqlite3.Connection,
    parts: Parts,
    turn: Turn,
    job: Job,
    target: Target,
    why: str,
    *,
    event: EventName,
    data: Mapping[str, Json],
) -> bool:
    """Hand the work up; whether that is done. A person is asked by who calls, with the question that fits."""
    match target:
        case Target.ARCHITECT:
            to_architect(connection, parts, turn, job, why, data=data)
        case Target.GATE:
            to_gate(connection, parts, turn, job, why, event=event, data=data)
        case Target.NOBODY:
            terminate(connection, parts, turn, job, why, data=data)
        case Target.PERSON:
            return False
    return True
