"""A role's work is good, or somebody said so: the job goes to the next actor, to a gate, to the next phase, or out.

`prepare` collects what a gate shows, before the transaction; `go` moves the job inside it.
"""

from dataclasses import dataclass

from minion.protocol import ConsultationKind
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.contract import DONE, END
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
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobChanges, JobState
from overlord.engine.contracts import confirmed, gates, questions
from overlord.engine.contracts.gates import GateView
from overlord.engine.contracts.move import Move
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.store import decisions
from overlord.store.contracts import actors

_AFRESH: JobChanges = {"revision": 0, "losses": 0, "consultation": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where a job goes, with what is shown there."""

    onward: Onward
    view: GateView | None = None
    """Of a gate."""


async def prepare(parts: Parts, job: Job, outcome: str = DONE) -> Way:
    """The way of a job whose turn is over with this outcome."""
    turn = await parts.turn_of(job)
    order = await parts.database.read(lambda c: actors.in_order(c, turn.contract, job, job.phase))
    in_round = is_round(turn, job) and not await confirmed.is_changed(parts, job)
    return await shown(parts, job, after_role(turn, outcome, order, is_round=in_round))


def is_round(turn: Turn, job: Job) -> bool:
    """Whether one role mends what was said of a delivered pull request. Version 1 goes through its phases as ever."""
    return job.round > 0 and not turn.contract.keeps_misses


async def shown(parts: Parts, job: Job, onward: Onward) -> Way:
    """The way with what its gate shows."""
    view = await gates.look(parts, job, onward) if isinstance(onward, ToGate) else None
    return Way(onward=onward, view=view)


def go(move: Move, way: Way) -> None:
    """Move the job along its way, inside the transaction of the fact that lets it go."""
    job, onward = move.job, way.onward
    match onward:
        case ToRole():
            changes: JobChanges = {"role": onward.role, "role_sha": job.head_sha, **_AFRESH}
            move.saying(role=job.role, next=onward.role).to(EventName.ROLE_COMPLETED, **changes)
        case ToPhase() if questions.asked_first(move):
            pass
        case ToPhase():
            changes = {**_entry(onward.phase, job), **_AFRESH}
            move.saying(phase=job.phase, next=onward.phase).to(EventName.PHASE_COMPLETED, **changes)
        case Out() if lead_job.accept(move.connection, move.parts, job, move.data, actor=move.actor):
            pass  # its plan is gone by, and nothing is delivered
        case Out():
            event = EventName.GATE_APPROVED if job.state is JobState.WAITING else EventName.PASSED
            move.saying(head=job.head_sha).to(event, consultation="")
        case ToGate():
            assert way.view is not None
            _to_gate(move, way.view)
        case Ended():
            move.to(EventName.DROPPED, reason="a gate of its contract ends it")
        case Nowhere():
            reason = f"phase {job.phase} has no successor for {onward.outcome!r}"
            move.to(EventName.TERMINATED, reason=reason)


def _entry(phase: str, job: Job) -> JobChanges:
    """What of a job's row says that a phase begins at its head; who works first is said when it is dispatched."""
    return {"phase": phase, "phase_sha": job.head_sha, "role": "", "role_sha": None}


def _to_gate(move: Move, view: GateView) -> None:
    move = move.saying(gate=view.name, on=view.gate.on, fingerprint=view.fingerprint)
    gates.keep(move.connection, view)
    if gates.is_approved(move.connection, move.job, view) or lead_job.is_approved_before(
        move.connection, move.job
    ):
        move.note(EventName.GATE_REUSED)
        go(move, Way(onward=entering(move.turn.contract, view.gate.approve or END)))
        return
    if not view.gate.is_for_people:
        asked = Asked(kind=ConsultationKind.GATE, role=view.gate.audience, about=view.name, why=view.body)
        reason = f"{view.gate.audience} decides at gate {view.name}"
        move.saying(to=view.gate.audience).to(
            EventName.ESCALATED, consultation=asked.to_json(), reason=reason
        )
        return
    reason = view.title or f"gate {view.name}: may the work go from {view.gate.source} to {view.gate.target}?"
    moved = move.to(EventName.GATE_REACHED, reason=reason, consultation="")
    decisions.raise_decision(move.connection, gates.question(moved, view))


def send_back(move: Move, phase: str) -> None:
    """A gate was rejected: another phase begins again at the job's head."""
    changes: JobChanges = {**_entry(phase, move.job), **_AFRESH}
    move.saying(next=phase).to(EventName.GATE_REJECTED, **changes)
