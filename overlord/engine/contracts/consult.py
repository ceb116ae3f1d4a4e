"""A session that is asked and writes nothing: what its answer does."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace

from minion.protocol import Consultation, ConsultationKind, Outcome, Report, Scope, ScopeMode, is_protected
from overlord.domain.contracts.asked import Asked
from overlord.domain.contracts.contract import END
from overlord.domain.contracts.note import NoteKind
from overlord.domain.contracts.onward import ToPhase, after_role, entering
from overlord.domain.contracts.resolution import AT_GATE, RESOLUTIONS, AnswerError, Choice, Resolution, read_resolution
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import Subject
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.question import ask, never_granted
from overlord.domain.session import Session
from overlord.domain.text.plain import quoted
from overlord.engine.contracts import actors, carry_on, gates
from overlord.engine.contracts.carry_on import Way
from overlord.engine.contracts.escalate import terminate
from overlord.engine.runtime.parts import Parts
from overlord.store import decisions, jobs
from overlord.store.contracts import role_notes

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
    return Settled(asked=asked, turn=turn, resolution=resolution, way=await _way(parts, job, turn, asked, resolution))


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
        return await carry_on.shown(parts, job, turn.contract, entering(turn.contract, gate.approve or END))
    if resolution.choice is Choice.BLOCK:
        left = await parts.database.read(lambda c: actors.assignments(c, job, asked.about))
        if left and all(item.blocked or item.name in resolution.assignments for item in left):
            order = await parts.database.read(lambda c: actors.in_order(c, turn.contract, job, job.phase))
            is_round = carry_on.is_round(turn, job)
            return await carry_on.shown(
                parts, job, turn.contract, after_role(turn, "done", order, is_round=is_round)
            )
    return None


async def _person_at_gate(parts: Parts, job: Job, turn: Turn, asked: Asked) -> Way | None:
    """The same gate, put to a person: whose answer it was to be gave none."""
    if asked.kind is not ConsultationKind.GATE:
        return None
    gate = turn.contract.gates[asked.about].model_copy(update={"audience": "person"})
    view = await gates.look(parts, job, gates.ToGate(name=asked.about, gate=gate))
    return Way(contract=turn.contract, onward=gates.ToGate(name=asked.about, gate=gate), view=view)


def settle(connection: sqlite3.Connection, parts: Parts, job: Job, found: Settled, *, data: Mapping[str, Json]) -> None:
    """Write down what follows, in the transaction that ends the session."""
    asked, resolution = found.asked, found.resolution
    if resolution is None:
        _no_answer(connection, parts, job, found, data=data)
        return
    about: dict[str, Json] = {**data, "by": asked.role, "about": asked.about, "choice": resolution.choice}
    about["text"] = resolution.text[:2000]
    actor, at = f"role:{asked.role}", parts.clock.now()
    _remember(connection, parts, job, asked, resolution)
    match resolution.choice:
        case Choice.APPROVE:
            assert found.way is not None
            carry_on.go(connection, parts, job, found.way, data={**about, "gate": asked.about}, actor=actor)
        case Choice.REJECT:
            _reject(connection, parts, job, found, about, actor)
        case Choice.EXPAND_SCOPE:
            _ask_for_scope(connection, parts, job, asked, resolution, about)
        case Choice.GIVE_UP:
            why = f"The architect gives up on {asked.about}: {resolution.text}\n\n{asked.why}"
            hand_to_person(connection, parts, job, found.turn, why, data=about)
        case _ if found.way is not None:
            carry_on.go(connection, parts, job, found.way, data=about, actor=actor)
        case _:
            jobs.move(
                connection, job.id, EventName.ESCALATION_RESOLVED, at=at, actor=actor, data=about,
                consultation="", revision=0, losses=0,
            )  # fmt: skip


def _remember(connection: sqlite3.Connection, parts: Parts, job: Job, asked: Asked, resolution: Resolution) -> None:
    """Keep what the role has to know."""
    at, kinds = parts.clock.now(), {Choice.REASSIGN: NoteKind.ASSIGNMENT, Choice.BLOCK: NoteKind.BLOCKED}
    if (kind := kinds.get(resolution.choice)) is not None:
        for name, text in resolution.assignments.items():
            role_notes.add(connection, job, kind, text, source=name, role=asked.about, at=at)
    if resolution.text.strip() and asked.kind is ConsultationKind.RESOLUTION:
        role_notes.add(
            connection, job, NoteKind.GUIDANCE, resolution.text, source=asked.role, role=asked.about, at=at
        )


def _reject(
    connection: sqlite3.Connection, parts: Parts, job: Job, found: Settled, about: Mapping[str, Json], actor: str
) -> None:
    assert found.resolution is not None
    gate = found.turn.contract.gates[found.asked.about]
    rejected(connection, parts, job, found.turn, gate.reject or "", found.resolution.text, gate=found.asked.about,
             data=about, actor=actor)  # fmt: skip


def rejected(
    connection: sqlite3.Connection,
    parts: Parts,
    job: Job,
    turn: Turn,
    target: str,
    words: str,
    *,
    gate: str,
    data: Mapping[str, Json],
    actor: str,
) -> None:
    """A gate was rejected: its phase begins again with the words, or the job ends."""
    onward = entering(turn.contract, target)
    if not isinstance(onward, ToPhase):
        reason = f"gate {gate} was rejected"
        jobs.move(connection, job.id, EventName.DROPPED, at=parts.clock.now(), actor=actor, data=data, reason=reason)
        return
    carry_on.send_back(connection, parts, job, onward.phase, gate=gate, data=data, actor=actor)
    if words.strip():
        there = replace(job, phase=onward.phase)
        role_notes.add(connection, there, NoteKind.REJECTION, words, source=actor, role="", at=parts.clock.now())


def _ask_for_scope(
    connection: sqlite3.Connection, parts: Parts, job: Job, asked: Asked, resolution: Resolution, about: Mapping[str, Json]
) -> None:
    at = parts.clock.now()
    body = (
        f"The architect asks that role {asked.about} may also write {', '.join(resolution.patterns)}. "
        f"Granted, it holds for 14 days.\n\n{quoted(resolution.text)}\n\n{asked.why}"
    )
    assert not never_granted(resolution.patterns)
    moved = jobs.move(
        connection, job.id, EventName.GATE_REACHED, at=at, data=about, consultation="", revision=0,
        reason=body.splitlines()[0],
    )  # fmt: skip
    asked_for = ask(moved, Subject.SCOPE_EXPANSION, body, at=at, patterns=resolution.patterns)
    decisions.raise_decision(connection, asked_for)


def hand_to_person(
    connection: sqlite3.Connection, parts: Parts, job: Job, turn: Turn, why: str, *, data: Mapping[str, Json]
) -> None:
    """Nobody of the contract's roles can go on: a person is asked, or where the contract asks none, the job ends."""
    at = parts.clock.now()
    if "person" not in turn.contract.escalation:
        terminate(connection, parts, turn, job, why, data=data)
        return
    moved = jobs.move(
        connection, job.id, EventName.SESSION_STOPPED_SHORT, at=at, data=data, consultation="", losses=0,
        reason=why.splitlines()[0],
    )  # fmt: skip
    decisions.raise_decision(connection, ask(moved, Subject.ESCALATION, why, at=at))


def _no_answer(
    connection: sqlite3.Connection, parts: Parts, job: Job, found: Settled, *, data: Mapping[str, Json]
) -> None:
    asked, at = found.asked, parts.clock.now()
    if asked.tried + 1 < MOST_TRIES:
        again = replace(asked, tried=asked.tried + 1)
        jobs.move(
            connection, job.id, EventName.ESCALATED, at=at, data={**data, "to": asked.role, "why": found.trouble},
            consultation=again.to_json(), reason=f"{asked.role} is asked again: {found.trouble}",
        )  # fmt: skip
    elif found.way is not None:
        carry_on.go(connection, parts, job, found.way, data={**data, "why": found.trouble})
    else:
        why = f"The architect was asked how {asked.about} goes on, and {found.trouble}.\n\n{asked.why}"
        hand_to_person(connection, parts, job, found.turn, why, data=data)
