"""A person edits a plan, or a task of it, while it waits for them: the gate is asked anew, with what is there now."""

import sqlite3

from overlord.domain.contracts.onward import ToGate, after_phase
from overlord.domain.decision import Subject
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.domain.portfolio.plan_draft import PlanDraft
from overlord.engine.contracts import gates
from overlord.engine.contracts.move import Move
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs
from overlord.store.contracts import plan_files
from overlord.store.portfolio import plan_drafts

EDITED = "people"
"""Who wrote the artifacts."""


def is_due(connection: sqlite3.Connection) -> bool:
    """Whether a plan that a person was shown is another one by now, or one is still to be written to its file."""
    return bool(lead_job.edited(connection)) or lead_job.files_are_behind(connection)


async def step(parts: Parts) -> Progress:
    """Ask anew where a plan was edited, and write plans to their files."""
    edited = await parts.database.read(lead_job.edited)
    for job, draft in edited:
        await _ask_anew(parts, job, draft)
    has_written = await lead_job.write_files(parts)
    if edited:
        parts.notify()
    return Progress.of(bool(edited) or has_written)


async def _ask_anew(parts: Parts, job: Job, draft: PlanDraft) -> None:
    """First what was edited is taken over; then the question is put in the place of the one before. A stop between the two is found
    by the draft, which says that it was not asked about."""

    def adopt(connection: sqlite3.Connection) -> None:
        plan_drafts.adopt_edit(connection, draft, plan_drafts.edited_text(connection, draft))
        known = plan_drafts.of_job(connection, job.id)
        assert known is not None, "a draft is never removed"
        made = lead_job.refreshed(connection, known)
        plan_files.put(connection, job.id, made, session_id=EDITED, at=parts.clock.now())

    await parts.database.write(Failpoint.PLAN_DIRECTED, adopt)
    turn = await parts.turn_of(job)
    onward = after_phase(turn.contract, job.phase)
    assert isinstance(onward, ToGate), "the plan of a lead ends at a gate"
    view = await gates.look(parts, job, onward)

    def ask(connection: sqlite3.Connection) -> None:
        now, at = jobs.get(connection, job.id), parts.clock.now()
        plan_drafts.mark_asked(connection, job.id)
        asked = [item for item in decisions.waiting(connection, job.id) if item.subject is Subject.GATE]
        if now.state is not JobState.WAITING or not asked:
            return  # somebody has just answered
        for decision in asked:
            decisions.supersede(connection, decision, at=at)
        gates.keep(connection, view)
        move = Move(connection=connection, parts=parts, job=now, turn=turn)
        said = move.saying(gate=view.name, on=view.gate.on, fingerprint=view.fingerprint)
        moved = said.to(EventName.GATE_REACHED, reason=view.title, consultation="")
        decisions.raise_decision(connection, gates.question(moved, view))

    await parts.database.write(Failpoint.PLAN_DIRECTED, ask)
