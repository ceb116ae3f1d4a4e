"""A role cannot go on: who is asked next, as its contract says. The architect first, a person last."""

import sqlite3
from enum import StrEnum

from minion.protocol import ConsultationKind
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.contract import Exhausted
from overlord.domain.contracts.note import NoteKind
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import Subject
from overlord.domain.event import EventName
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job, JobChanges
from overlord.domain.question import ask
from overlord.domain.text.plain import plain_line
from overlord.engine.contracts.move import Move
from overlord.store import decisions
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


def to(move: Move, target: Target, why: str, event: EventName) -> bool:
    """Hand the work up; whether that is done. A person is asked by who calls, with the question that fits; `event` is the fact
    that takes the job to people."""
    match target:
        case Target.ARCHITECT:
            _to_architect(move, why)
        case Target.GATE:
            _to_gate(move, why, event)
        case Target.NOBODY:
            terminate(move, why)
        case Target.PERSON:
            return False
    return True


def _to_architect(move: Move, why: str) -> None:
    """The architect's session is next: it is told why, and says how the role goes on."""
    role = move.turn.role_name
    role_notes.add(
        move.connection, move.job, NoteKind.ESCALATION, why, source="evaluation", role=role, at=move.at
    )
    asked = Asked(kind=ConsultationKind.RESOLUTION, role=ARCHITECT, about=role, why=why)
    changes: JobChanges = {"consultation": asked.to_json(), "losses": 0, "head_sha": before_turn(move.job)}
    changes["reason"] = f"{role} cannot go on; the architect is asked"
    move.saying(role=role, to=ARCHITECT, why=plain_line(why, limit=300)).to(EventName.ESCALATED, **changes)


def before_turn(job: Job) -> Sha | None:
    """The head from before its role's turn: what missed something goes back to there. None before any work was taken."""
    return job.role_sha or job.phase_sha


def _to_gate(move: Move, why: str, event: EventName) -> None:
    """A person says whether the role has as much again."""
    body = f"Role {move.turn.role_name} has used up its budget in phase {move.turn.phase_name}.\n\n{why}"
    moved = move.to(event, reason=body.splitlines()[0], losses=0)
    decisions.raise_decision(move.connection, ask(moved, Subject.EXHAUSTED, body, at=move.at))


def terminate(move: Move, why: str) -> None:
    """The job fails, as the contract says it does when this role cannot go on."""
    role, phase = move.turn.role_name, move.turn.phase_name
    reason = f"role {role} cannot go on in phase {phase}: {plain_line(why, limit=300)}"
    move.saying(role=role).to(EventName.TERMINATED, reason=reason)
