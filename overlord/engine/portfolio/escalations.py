"""What sessions escalate: answered from what is known, else put to a person; a person's answer is delivered, noted, and lets work go on.

Nothing here waits. Each part is one transaction over rows, and is done again after a crash where it was not: a draft is still a draft, an
answer that was not carried out is still unapplied.
"""

import asyncio
import secrets
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import structlog

from minion.protocol import ResolvedText, SessionKind
from overlord.config_files import packaged
from overlord.domain.decision import Audience, Decision
from overlord.domain.event import OVERLORD, EventName
from overlord.domain.job import JobState
from overlord.domain.knowledge.note import MOST_NOTE_CHARS, Note, NoteKind, NoteSource, NoteState
from overlord.domain.knowledge.vetting import vetted
from overlord.domain.portfolio import escalated, known_answer
from overlord.domain.portfolio.escalation import Escalation, EscalationState
from overlord.domain.portfolio.known_answer import KnownAnswer
from overlord.domain.session import Account
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ModelRefused, ModelUnavailable, Refused
from overlord.failpoints import Failpoint
from overlord.queries import portfolio_brief
from overlord.store import decisions, jobs, sessions
from overlord.store.knowledge import notes
from overlord.store.portfolio import cycles, escalations, known
from overlord.verbs.message import send_message

WITHIN_S = 45.0
"""How long a model may take to say whether a note answers a question."""
MOST_NOTES = 8
"""Notes that a model is told of: the best that have words of the question."""
MOST_TOLD = 20
"""Resolutions that a brief tells, the newest."""
LETTER = "e"
ORCHESTRATOR = "overlord"

log = structlog.get_logger()


def is_due(connection: sqlite3.Connection) -> bool:
    """Whether there is a draft nobody has looked at, an answer nobody has carried out, or a question nobody needs any more."""
    return bool(
        escalations.drafts(connection)
        or decisions.unapplied_about(connection, LETTER)
        or escalations.needless(connection)
    )


async def step(parts: Parts) -> Progress:
    """Carry out what people answered, take back what nobody needs, and look at each draft once."""
    answered, needless = await parts.database.read(
        lambda c: (decisions.unapplied_about(c, LETTER), escalations.needless(c))
    )
    for decision in answered:
        act = partial(_carry_out, parts=parts, decision=decision)
        await parts.database.write(Failpoint.PORTFOLIO_ANSWERED, act)
    for escalation in needless:
        act = partial(_withdraw, escalation=escalation, at=parts.clock.now())
        await parts.database.write(Failpoint.ESCALATION_REVIEWED, act)
    drafts = await parts.database.read(escalations.drafts)
    for draft in drafts:
        await _review(parts, draft)
    if answered or drafts:
        parts.notify()
    return Progress.of(bool(answered or needless or drafts))


async def _review(parts: Parts, draft: Escalation) -> None:
    """Answer a draft from what is known, or put it to a person."""
    found = await _from_notes(parts, draft) if known_answer.takes_model(draft) else None
    await parts.database.write(
        Failpoint.ESCALATION_REVIEWED, lambda c: _settle(c, parts, draft.id, found, at=parts.clock.now())
    )


def _settle(
    connection: sqlite3.Connection, parts: Parts, number: int, found: KnownAnswer | None, *, at: datetime
) -> None:
    draft = escalations.get(connection, number)
    if draft.state is not EscalationState.DRAFT:
        return
    found = known.answer_of(connection, draft, at=at) or found
    if found is not None:
        by = OVERLORD
        known.note_used(connection, found, at=at)
        resolved = escalations.resolve(connection, number, found.answer, by=by, cites=found.cites, at=at)
        _go_on(connection, resolved, by=by, at=at)
        return
    path = (*draft.path, ORCHESTRATOR)
    is_approvers = draft.kind in escalated.OF_APPROVERS and parts.settings.approvers(draft.space)
    asked = escalated.as_decision(
        draft,
        portfolio_brief.affected_by(connection, draft),
        path=path,
        audience=Audience.APPROVER if is_approvers else Audience.WRITER,
        at=at,
    )
    raised = decisions.raise_decision(connection, asked)
    escalations.raise_to_person(connection, number, decision_id=raised.id, path=path, at=at)


async def _from_notes(parts: Parts, draft: Escalation) -> KnownAnswer | None:
    """Which note answers it, as a model says with a quote; asked once for a question and the notes there are. Without a model, or over
    budget, none does."""

    def look(connection: sqlite3.Connection) -> tuple[bool, Sequence[Note]]:
        if known.answer_of(connection, draft, at=parts.clock.now()) is not None:
            return False, ()
        near = notes.search(connection, draft.question, space=draft.space, limit=MOST_NOTES)
        found = [note for note in near if known_answer.takes_note(draft, note) and not note.contradicted_by]
        mark = known_answer.fingerprint(draft, found)
        return not escalations.was_searched(connection, mark), found

    is_new, candidates = await parts.database.read(look)
    if not is_new or not candidates:
        return None
    mark = known_answer.fingerprint(draft, candidates)
    await parts.database.write(
        Failpoint.ESCALATION_REVIEWED, lambda c: escalations.mark_searched(c, draft.id, mark)
    )
    asked = known_answer.messages_for(
        draft, candidates, prompt=packaged("prompts/note_answers.md"), fence=f"data-{secrets.token_hex(8)}"
    )
    account = Account(id=f"escalation-{draft.id}", space=draft.space, kind=SessionKind.REVIEW)
    try:
        async with asyncio.timeout(WITHIN_S):
            reply = await parts.assistant.answer(account, asked)
    except (ModelUnavailable, ModelRefused, TimeoutError) as error:
        log.warning("notes_not_read", escalation=draft.ref, reason=str(error) or "no reply in time")
        return None
    return known_answer.answer_in(parts.current.redactor.redact(reply), candidates)


def _carry_out(connection: sqlite3.Connection, *, parts: Parts, decision: Decision) -> None:
    """What a person answered resolves it, is noted, delivered, and lets what waited go on."""
    decision = decisions.get(connection, decision.id)
    if decision.applied:
        return
    decisions.mark_applied(connection, decision)
    escalation = escalations.of_decision(connection, decision.id)
    if escalation is None or not escalation.is_open:
        return
    at, by = parts.clock.now(), decision.answered_by
    resolution = parts.current.redactor.redact(escalated.resolution_of(escalation, decision))
    resolved = escalations.resolve(connection, escalation.id, resolution, by=by, at=at)
    if escalated.is_learned(escalation, decision):
        _learn(connection, resolved, decision, at=at)
    _go_on(connection, resolved, by=by, at=at)


def _learn(connection: sqlite3.Connection, resolved: Escalation, decision: Decision, *, at: datetime) -> None:
    """Keep question and answer as a decision that counts in the repository: a person has said it. The question is part of the text,
    which is what people read in files. What no session could note is not kept, and what is doubtful is a draft."""
    asked = f"{' '.join(resolved.question.split())} " if resolved.question.rstrip().endswith("?") else ""
    is_short = len(asked) + len(resolved.resolution) <= MOST_NOTE_CHARS
    text = f"{asked if is_short else ''}{resolved.resolution}"[:MOST_NOTE_CHARS]
    # The question is a session's, and so may be the words of the answer that was chosen.
    found = vetted(text, resolved.question[:MOST_NOTE_CHARS])
    if found.problem:
        return
    note = Note(
        id=0,
        space=resolved.space,
        kind=NoteKind.DECISION,
        text=found.text,
        question=found.question,
        state=NoteState.DRAFT if found.doubt else NoteState.ACTIVE,
        source=NoteSource(
            job_id=resolved.job_id, escalation_id=resolved.id, evidence=f"decision {decision.id}"
        ),
        actor=decision.answered_by,
        created_at=at,
        updated_at=at,
        decision_id=decision.id,
    )
    notes.add(connection, note)


def _go_on(connection: sqlite3.Connection, resolved: Escalation, *, by: str, at: datetime) -> None:
    """Tell whoever asked, let their job go on, and have a cycle look at what is not blocked any more."""
    _deliver(connection, resolved, by=by, at=at)
    _resume(connection, resolved, by=by, at=at)
    if resolved.initiative_id is not None and not _is_blocked(connection, resolved):
        cycles.ask(connection, trigger="fact", actor=by, at=at)


def _is_blocked(connection: sqlite3.Connection, resolved: Escalation) -> bool:
    """Whether something else still blocks what it blocked."""
    others = escalations.of_initiative(connection, resolved.initiative_id or 0)
    return any(
        item.is_open
        and (item.blocks_initiative or (item.task_id is not None and item.task_id == resolved.task_id))
        for item in others
    )


def _deliver(connection: sqlite3.Connection, resolved: Escalation, *, by: str, at: datetime) -> None:
    """Say it to the job it came from: its session reads it before its next turn, or its next brief has it. Where that job is over, the
    next brief of the task or the initiative has it."""
    if resolved.job_id is None or not jobs.get(connection, resolved.job_id).is_open:
        return
    try:
        send_message(connection, resolved.job_id, escalated.message_of(resolved), actor=by, at=at)
    except Refused as error:
        log.info("escalation_not_told", escalation=resolved.ref, reason=str(error))
        return
    escalations.mark_delivered(connection, resolved.id)


def _resume(connection: sqlite3.Connection, resolved: Escalation, *, by: str, at: datetime) -> None:
    """Let a job go on that waits for its escalations alone: it has no decision of its own."""
    if resolved.job_id is None:
        return
    job = jobs.get(connection, resolved.job_id)
    if job.state is not JobState.WAITING or sessions.live_of(connection, job.id) is not None:
        return
    is_asked = decisions.waiting(connection, job.id) or decisions.unapplied(connection, job.id)
    if not is_asked and not any(item.is_open for item in escalations.of_job(connection, job.id)):
        data = {"escalation": resolved.ref}
        jobs.move(connection, job.id, EventName.WORK_RESUMED, at=at, actor=by, data=data, losses=0, reason="")


def _withdraw(connection: sqlite3.Connection, *, escalation: Escalation, at: datetime) -> None:
    """Nobody needs an answer any more: what waits of it was ended."""
    escalations.withdraw(connection, escalation.id, reason="what it is about has ended", at=at)
    _resume(connection, escalation, by=OVERLORD, at=at)


def resolved_for(
    connection: sqlite3.Connection, initiative_id: int, task_id: int | None = None
) -> tuple[ResolvedText, ...]:
    """What was resolved in an initiative, as a brief tells it: the newest, and those of the task itself last."""
    found = escalations.newest_resolved(connection, initiative_id, limit=MOST_TOLD)
    found.sort(key=lambda item: item.task_id is not None and item.task_id == task_id)
    return tuple(
        ResolvedText(
            ref=item.ref,
            question=item.question,
            resolution=item.resolution,
            by=f"{item.resolved_by} from {item.cites}" if item.cites else item.resolved_by,
        )
        for item in found
    )
