"""What was noted in two repositories may be so in all: a person is asked once, and the answer is carried out."""

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256

from overlord.domain.decision import Audience, Decision, DecisionKind, Subject, Verb
from overlord.domain.knowledge.matching import alike, says_same
from overlord.domain.knowledge.note import Note, NoteState
from overlord.domain.text.plain import plain_line, quoted
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import NotFound
from overlord.failpoints import Failpoint
from overlord.store import decisions
from overlord.store.knowledge import notes, promotions

MOST_ASKED = 3
"""Decisions of this kind that wait at once: more would drown what is urgent."""


async def step(parts: Parts) -> Progress:
    """Carry answers out, and ask about what was noted twice since."""
    answered, mark = await parts.database.read(lambda c: (promotions.answered(c), promotions.mark(c)))
    if not answered and parts.notes_compared.get("promotion") == mark:
        return Progress.IDLE
    at = parts.clock.now()
    moved = await parts.database.write(Failpoint.NOTE_CHANGED, lambda c: _act(c, at=at))
    parts.notes_compared["promotion"] = await parts.database.read(promotions.mark)
    return Progress.of(moved)


def _act(connection: sqlite3.Connection, *, at: datetime) -> bool:
    moved = False
    for decision in promotions.answered(connection):
        _apply(connection, decision, at=at)
        moved = True
    pairs = alike(notes.of_state(connection, NoteState.ACTIVE))
    known = {digest_of(one, other) for one, other in pairs}
    waiting = promotions.waiting(connection)
    for decision in waiting:
        if decision.bound_to not in known:
            decisions.supersede(connection, decision, at=at)
            moved = True
    left = MOST_ASKED - len(waiting)
    for decision in _unasked(connection, pairs, at=at):
        if left <= 0:
            break
        decisions.raise_decision(connection, decision)
        left, moved = left - 1, True
    return moved


def digest_of(one: Note, other: Note) -> str:
    """What an answer is bound to: both notes, as they were shown."""
    return sha256(f"{one.id}\0{one.text}\0{other.id}\0{other.text}".encode()).hexdigest()[:16]


def _unasked(
    connection: sqlite3.Connection, pairs: tuple[tuple[Note, Note], ...], *, at: datetime
) -> Iterator[Decision]:
    """A pair is asked about once, whatever was answered; a note that is in several pairs, in one of them."""
    taken = set[int]()
    for one, other in pairs:
        bound = digest_of(one, other)
        if {one.id, other.id} & taken or promotions.was_asked(connection, bound):
            continue
        taken |= {one.id, other.id}
        shown = "\n\n".join(
            f"{note.ref} of {note.space}, by {note.actor}:\n\n{quoted(note.text)}" for note in (one, other)
        )
        yield Decision(
            id=0,
            job_id=None,
            kind=DecisionKind.APPROVAL,
            subject=Subject.NOTE_PROMOTION,
            title=f"Does this {one.kind} count in all repositories? {plain_line(one.text, limit=100)}",
            body=f"Two repositories noted the same:\n\n{shown}\n\nApproved, {one.ref} counts in all, and takes the place of both.",
            verbs=(Verb.APPROVE, Verb.REJECT),
            blocks="nothing: both count where they are",
            created_at=at,
            audience=Audience.APPROVER,
            about=one.ref,
            bound_to=bound,
        )


def _apply(connection: sqlite3.Connection, decision: Decision, *, at: datetime) -> None:
    """A note that changed, or counts no more since somebody answered, is left alone."""
    decisions.mark_applied(connection, decision)
    try:
        note = notes.get(connection, int(decision.about.removeprefix("n")))
    except NotFound:
        return
    if decision.verb is not Verb.APPROVE or note.state is not NoteState.ACTIVE or note.is_global:
        return
    others = [
        other
        for other in notes.of_state(connection, NoteState.ACTIVE)
        if other.space not in ("", note.space)
        and other.kind is note.kind
        and says_same(other.text, note.text)
    ]
    if decision.bound_to not in {
        digest_of(*sorted((note, other), key=lambda item: item.id)) for other in others
    }:
        return
    made = notes.promote(connection, note, actor=decision.answered_by, at=at)
    for other in others:
        reason = f"{made.ref} says it for all repositories"
        notes.change(
            connection, other.id, at=at, actor=decision.answered_by, reason=reason, state=NoteState.WITHDRAWN
        )
