"""A session that is asked and writes nothing: what its answer does."""

from dataclasses import dataclass, replace
from functools import partial

from minion.protocol import Consultation, ConsultationKind, Outcome, Report, Scope, ScopeMode, is_protected
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.contract import END
from overlord.domain.contracts.note import NoteKind
from overlord.domain.contracts.onward import ToGate, ToPhase, ToRole, after_role, entering
from overlord.domain.contracts.resolution import (
    AT_GATE,
    RESOLUTIONS,
    AnswerError,
    Choice,
    Resolution,
    read_resolution,
)
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import SCOPE_GRANT_LIFETIME, Subject
from overlord.domain.event import EventName
from overlord.domain.job import Job
from overlord.domain.question import ask
from overlord.domain.session import Session
from overlord.domain.text.plain import quoted
from overlord.engine.contracts import carry_on
from overlord.engine.contracts.carry_on import Way
from overlord.engine.contracts.escalate import terminate
from overlord.engine.contracts.move import Move
from overlord.engine.runtime.parts import Parts
from overlord.store import decisions
from overlord.store.contracts import actors, role_notes

NOTHING = Scope(mode=ScopeMode.EXPLICIT, patterns=(".nebulus/nothing",))
"""The scope of a session that writes nothing: its one path is closed to every session."""
MOST_TRIES = 2
_QUESTIONS = {
    ConsultationKind.RESOLUTION: (
        "Role {about} cannot go on with its part of this task. Read what happened, look at the repository, and say how it goes "
        "on: guidance (words for its next attempt), reassign (assignments with new texts), expand_scope (patterns it has to "
        "write beside its own; a person decides that), block (assignments that are not worked on, each with the reason), or "
        "give_up (a person is asked)."
    ),
    ConsultationKind.GATE: (
        "You decide at gate {about}: may the work go on? Read what it shows and look at the repository; approve, or reject with "
        "words on what has to change."
    ),
}


def consultation(asked: Asked) -> Consultation:
    """What the session is told."""
    choices = RESOLUTIONS if asked.kind is ConsultationKind.RESOLUTION else AT_GATE
    return Consultation(
        kind=asked.kind,
        question=_QUESTIONS[asked.kind].format(about=asked.about),
        facts=asked.why,
        choices=tuple(map(str, choices)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a consultation's end means, worked out before the transaction that writes it."""

    asked: Asked
    turn: Turn
    resolution: Resolution | None
    trouble: str = ""
    """Why there is no answer."""
    way: Way | None = None
    """Where the job goes, where the answer lets it go on."""
    is_over: bool = False
    """Whether nobody of the phase has anything left to do: what there is is judged."""


async def settled(parts: Parts, job: Job, session: Session, asked: Asked) -> Settled:
    """Read the answer, and collect what the way on shows."""
    turn = await parts.turn_of(job)
    report = session.report
    answer = report.answer if isinstance(report, Report) and report.outcome is Outcome.COMPLETE else ""
    try:
        resolution = read_resolution(answer, consultation(asked).choices)
        _check_patterns(turn, resolution)
    except AnswerError as error:
        way = await _person_at_gate(parts, job, turn, asked) if asked.tried + 1 >= MOST_TRIES else None
        return Settled(asked=asked, turn=turn, resolution=None, trouble=str(error), way=way)
    way = await _way(parts, job, turn, asked, resolution)
    is_over = resolution.choice is Choice.BLOCK and way is not None and not isinstance(way.onward, ToRole)
    return Settled(asked=asked, turn=turn, resolution=resolution, way=way, is_over=is_over)


def _check_patterns(turn: Turn, resolution: Resolution) -> None:
    if resolution.choice is not Choice.EXPAND_SCOPE:
        return
    closed = Scope(patterns=turn.closed) if turn.closed else None
    for pattern in resolution.patterns:
        if is_protected(pattern, (pattern,)) or (closed is not None and closed.allows(pattern)):
            raise AnswerError(f"no grant opens {pattern!r} to a session")
        if pattern.startswith(("!", "#", "/")) or ".." in pattern:
            raise AnswerError(f"{pattern!r} is no pattern of paths inside the repository")


async def _way(parts: Parts, job: Job, turn: Turn, asked: Asked, resolution: Resolution) -> Way | None:
    if resolution.choice is Choice.APPROVE:
        gate = turn.contract.gates[asked.about]
        return await carry_on.shown(parts, job, entering(turn.contract, gate.approve or END))
    if resolution.choice is Choice.BLOCK:
        left = await parts.database.read(lambda c: actors.assignments(c, job, asked.about))
        if left and all(item.blocked or item.name in resolution.assignments for item in left):
            order = await parts.database.read(lambda c: actors.in_order(c, turn.contract, job, job.phase))
            is_round = carry_on.is_round(turn, job)
            return await carry_on.shown(parts, job, after_role(turn, "done", order, is_round=is_round))
    return None


async def _person_at_gate(parts: Parts, job: Job, turn: Turn, asked: Asked) -> Way | None:
    """The same gate, put to a person: whose answer it was to be gave none."""
    if asked.kind is not ConsultationKind.GATE:
        return None
    gate = turn.contract.gates[asked.about].model_copy(update={"audience": "person"})
    return await carry_on.shown(parts, job, ToGate(name=asked.about, gate=gate))


def settle(move: Move, found: Settled) -> None:
    """Write down what follows, in the transaction that ends the session."""
    asked, resolution = found.asked, found.resolution
    if resolution is None:
        _no_answer(move, found)
        return
    said = {"by": asked.role, "about": asked.about, "choice": str(resolution.choice)}
    move = replace(move.saying(**said, text=resolution.text[:2000]), actor=f"role:{asked.role}")
    _remember(move, asked, resolution)
    match resolution.choice:
        case Choice.REJECT:
            gate = move.turn.contract.gates[asked.about]
            rejected(move.saying(gate=asked.about), gate.reject or "", resolution.text)
        case Choice.EXPAND_SCOPE:
            _ask_for_scope(move, asked, resolution)
        case Choice.GIVE_UP:
            hand_to_person(move, f"The architect gives up on {asked.about}: {resolution.text}\n\n{asked.why}")
        case _ if found.is_over:
            head = move.job.head_sha or move.job.base_sha
            move.saying(head=head).to(EventName.WORK_SUBMITTED, head_sha=head, consultation="", losses=0)
        case _ if found.way is not None:
            carry_on.go(move, found.way)
        case _:
            move.to(EventName.ESCALATION_RESOLVED, consultation="", revision=0, losses=0)


def _remember(move: Move, asked: Asked, resolution: Resolution) -> None:
    """Keep what the role has to know."""
    kinds = {Choice.REASSIGN: NoteKind.ASSIGNMENT, Choice.BLOCK: NoteKind.BLOCKED}
    add = partial(role_notes.add, move.connection, move.job, role=asked.about, at=move.at)
    if (kind := kinds.get(resolution.choice)) is not None:
        for name, text in resolution.assignments.items():
            add(kind, text, source=name)
    if resolution.text.strip() and asked.kind is ConsultationKind.RESOLUTION:
        add(NoteKind.GUIDANCE, resolution.text, source=asked.role)


def rejected(move: Move, target: str, words: str) -> None:
    """A gate was rejected: its phase begins again with the words, or the job ends."""
    onward = entering(move.turn.contract, target)
    if not isinstance(onward, ToPhase):
        move.to(EventName.DROPPED, reason="a gate of its contract was rejected")
        return
    carry_on.send_back(move, onward.phase)
    if words.strip():
        there = replace(move.job, phase=onward.phase)
        role_notes.add(
            move.connection, there, NoteKind.REJECTION, words, source=move.actor, role="", at=move.at
        )


def _ask_for_scope(move: Move, asked: Asked, resolution: Resolution) -> None:
    body = (
        f"The architect asks that role {asked.about} may also write {', '.join(resolution.patterns)}. "
        f"Granted, it holds for {SCOPE_GRANT_LIFETIME.days} days.\n\n{quoted(resolution.text)}\n\n{asked.why}"
    )
    moved = move.to(EventName.GATE_REACHED, consultation="", revision=0, reason=body.splitlines()[0])
    asked_for = ask(moved, Subject.SCOPE_EXPANSION, body, at=move.at, patterns=resolution.patterns)
    decisions.raise_decision(move.connection, asked_for)


def hand_to_person(move: Move, why: str) -> None:
    """Nobody of the contract's roles can go on: a person is asked, or where the contract asks none, the job ends."""
    if "person" not in move.turn.contract.escalation:
        terminate(move, why)
        return
    reason = why.splitlines()[0]
    moved = move.to(EventName.SESSION_STOPPED_SHORT, consultation="", losses=0, reason=reason)
    decisions.raise_decision(move.connection, ask(moved, Subject.ESCALATION, why, at=move.at))


def _no_answer(move: Move, found: Settled) -> None:
    asked, move = found.asked, move.saying(why=found.trouble)
    if asked.tried + 1 < MOST_TRIES:
        again = replace(asked, tried=asked.tried + 1)
        reason = f"{asked.role} is asked again: {found.trouble}"
        move.saying(to=asked.role).to(EventName.ESCALATED, consultation=again.to_json(), reason=reason)
    elif found.way is not None:
        carry_on.go(move, found.way)
    else:
        why = f"The architect was asked how {asked.about} goes on, and {found.trouble}.\n\n{asked.why}"
        hand_to_person(move, why)
