"""A role's work is good, or somebody said so: the job goes to the next actor, to a gate, to the next phase, or out.

`prepare` collects what a gate shows, before the transaction; `go` moves the job inside it.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from minion.protocol import ConsultationKind
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.contract import DONE, END, Contract
from overlord.domain.contracts.onward import (
    Ended,
    Nowhere,
    Onward,
    Out,
    ToGate,
    ToPhase,
    ToRole,
    after_role,
    entering,
)
from overlord.domain.contracts.turn import Turn
from overlord.domain.event import OVERLORD, EventName, Json
from overlord.domain.job import Job, JobChanges, JobState
from overlord.engine.contracts import actors, gates
from overlord.engine.contracts.gates import GateView
from overlord.engine.runtime.parts import Parts
from overlord.store import decisions, jobs

_AFRESH: JobChanges = {"revision": 0, "losses": 0, "consultation": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where a job goes, with what is shown there."""

    contract: Contract
    onward: Onward
    view: GateView | None = None
    """Of a gate."""


async def prepare(parts: Parts, job: Job, outcome: str = DONE) -> Way:
    """The way of a job whose turn is over with this outcome."""
    turn = await parts.turn_of(job)
    order = await parts.database.read(lambda c: actors.in_order(c, turn.contract, job, job.phase))
    return await shown(parts, job, turn.contract, after_role(turn, outcome, order, is_round=is_round(turn, job)))


def is_round(turn: Turn, job: Job) -> bool:
    """Whether one role mends what was said of a delivered pull request. Version 1 goes through its phases as ever."""
    return job.round > 0 and not turn.contract.keeps_misses


async def shown(parts: Parts, job: Job, contract: Contract, onward: Onward) -> Way:
    """The way with what its gate shows."""
    view = await gates.look(parts, job, onward) if isinstance(onward, ToGate) else None
    return Way(contract=contract, onward=onward, view=view)


def go(
    connection: sqlite3.Connection,
    parts: Parts,
    job: Job,
    way: Way,
    *,
    data: Mapping[str, Json],
    actor: str = OVERLORD,
) -> None:
    """Move the job along its way, inside the transaction of the fact that lets it go."""
    at, onward, head = parts.clock.now(), way.onward, job.head_sha
    match onward:
        case ToRole():
            jobs.move(
                connection, job.id, EventName.ROLE_COMPLETED, at=at, actor=actor,
                data={**data, "role": job.role, "next": onward.role}, role=onward.role, role_sha=head, **_AFRESH,
            )  # fmt: skip
        case ToPhase():
            jobs.move(
                connection, job.id, EventName.PHASE_COMPLETED, at=at, actor=actor,
                data={**data, "phase": job.phase, "next": onward.phase},
                **_entry(onward.phase, job), **_AFRESH,
            )  # fmt: skip
        case Out():
            event = EventName.GATE_APPROVED if job.state is JobState.WAITING else EventName.PASSED
            jobs.move(connection, job.id, event, at=at, actor=actor, data=data, consultation="")
        case ToGate():
            assert way.view is not None
            _to_gate(connection, parts, job, way, way.view, data)
        case Ended():
            jobs.move(
                connection, job.id, EventName.DROPPED, at=at, actor=actor, data=data, reason="a gate of its contract ends it"
            )
        case Nowhere():
            reason = f"phase {job.phase} has no successor for {onward.outcome!r}"
            jobs.move(connection, job.id, EventName.TERMINATED, at=at, actor=actor, data=data, reason=reason)


def _entry(phase: str, job: Job) -> JobChanges:
    """What of a job's row says that a phase begins at its head; who works first is said when it is dispatched."""
    return {"phase": phase, "phase_sha": job.head_sha, "role": "", "role_sha": None}


def _to_gate(
    connection: sqlite3.Connection, parts: Parts, job: Job, way: Way, view: GateView, data: Mapping[str, Json]
) -> None:
    at = parts.clock.now()
    about: dict[str, Json] = {**data, "gate": view.name, "on": view.gate.on, "fingerprint": view.fingerprint}
    gates.keep(connection, view)
    if gates.is_approved(connection, job, view):
        jobs.note(connection, job.id, EventName.GATE_REUSED, at=at, data=about)
        go(connection, parts, job, _beyond(way, view), data=data)
        return
    if not view.gate.is_for_people:
        asked = Asked(kind=ConsultationKind.GATE, role=view.gate.audience, about=view.name, why=view.body)
        jobs.move(
            connection, job.id, EventName.ESCALATED, at=at, data={**about, "to": view.gate.audience},
            consultation=asked.to_json(), reason=f"{view.gate.audience} decides at gate {view.name}",
        )  # fmt: skip
        return
    reason = f"gate {view.name}: may the work go from {view.gate.source} to {view.gate.target}?"
    moved = jobs.move(connection, job.id, EventName.GATE_REACHED, at=at, data=about, reason=reason, consultation="")
    decisions.raise_decision(connection, gates.question(moved, view, view.evidence))


def _beyond(way: Way, view: GateView) -> Way:
    return Way(contract=way.contract, onward=entering(way.contract, view.gate.approve or END))


def send_back(
    connection: sqlite3.Connection,
    parts: Parts,
    job: Job,
    phase: str,
    *,
    gate: str,
    data: Mapping[str, Json],
    actor: str = OVERLORD,
) -> None:
    """A gate was rejected: another phase begins again at the job's head."""
    about: dict[str, Json] = {**data, "gate": gate, "next": phase}
    jobs.move(
        connection, job.id, EventName.GATE_REJECTED, at=parts.clock.now(), actor=actor, data=about,
        **_entry(phase, job), **_AFRESH,
    )  # fmt: skip
