"""What a briefing tells of the portfolio: what was done, answered and learned since a moment, and what goes on."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from overlord.domain.chat.briefing import Mentioned
from overlord.domain.decision import Decision
from overlord.domain.event import OVERLORD
from overlord.domain.inquiry import OpenDecision
from overlord.domain.job import Job
from overlord.domain.knowledge.document import title_of
from overlord.domain.knowledge.note import NoteState
from overlord.domain.portfolio.escalated import Affected, task_blocked
from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.domain.portfolio.task import Task, TaskState
from overlord.errors import NotFound
from overlord.store.knowledge import notes
from overlord.store.portfolio import escalations, initiatives, tasks


def affected_by(connection: sqlite3.Connection, escalation: Escalation) -> Affected:
    """What an escalation is of, and what it blocks, in the words people know."""
    number = escalation.initiative_id
    name = initiatives.get(connection, number).slug if number is not None else ""
    blocks = "entire initiative" if escalation.blocks_initiative else "nothing"
    if escalation.task_id is not None:
        task = tasks.get(connection, escalation.task_id)
        blocks = task_blocked(task.number, task.subject)
    return Affected(initiative=name, blocks=blocks)


def open_decision(connection: sqlite3.Connection, decision: Decision) -> OpenDecision:
    """A decision about no job: about a space as a whole, or something of the portfolio."""
    escalation = escalations.of_decision(connection, decision.id) if decision.about.startswith("e") else None
    of = initiative_named(connection, decision.about)
    if escalation is not None and escalation.initiative_id is not None:
        of = initiatives.get(connection, escalation.initiative_id)
    why = escalation.suggested[0].description if escalation is not None and escalation.suggested else ""
    space = of.space if of is not None else decision.space
    return OpenDecision(decision=decision, space=space, initiative=of.slug if of else "", why=why)


def initiative_of_job(connection: sqlite3.Connection, job: Job) -> Initiative | None:
    """The initiative that a job works for, or plans."""
    task = tasks.of_issue(connection, job.space, job.issue.number)
    if task is not None:
        return initiatives.get(connection, task.initiative_id)
    return initiatives.of_issue(connection, job.space, job.issue.number)


def initiative_named(connection: sqlite3.Connection, about: str) -> Initiative | None:
    """The initiative that a decision is about: `i3`, or of a task `i3.4`."""
    if not about.startswith("i"):
        return None
    try:
        return initiatives.named(connection, about.partition(".")[0])
    except NotFound:
        return None


def done_since(connection: sqlite3.Connection, since: datetime) -> tuple[Mentioned, ...]:
    """Tasks that were completed."""
    return _of_tasks(connection, tasks.completed_since(connection, since))


def answered_since(connection: sqlite3.Connection, since: datetime) -> tuple[Mentioned, ...]:
    """What sessions asked and Overlord answered from a rule or a note."""
    found = [item for item in escalations.resolved_since(connection, since) if item.resolved_by == OVERLORD]
    return tuple(
        Mentioned(
            ref=item.ref,
            place=affected_by(connection, item).place(item.space),
            text=f"{item.question} {item.resolution} (from {item.cites})",
        )
        for item in found
    )


def noted_since(connection: sqlite3.Connection, since: datetime) -> tuple[Mentioned, ...]:
    """Drafts of notes that nobody has accepted, and what jobs and answers taught that counts at once."""
    waiting = notes.of_state(connection, NoteState.DRAFT, documents=True)
    drafts = [item for item in waiting if item.created_at >= since]
    counting = notes.of_state(connection, NoteState.ACTIVE)
    learned = [
        item
        for item in counting
        if item.created_at >= since
        and (item.source.job_id is not None or item.source.escalation_id is not None)
    ]
    found = sorted((*drafts, *learned), key=lambda item: item.id)
    return tuple(
        Mentioned(ref=item.ref, place=item.space, text=title_of(item) if item.document else item.text)
        for item in found
    )


def going_on(connection: sqlite3.Connection) -> tuple[Mentioned, ...]:
    """Tasks that are worked on, and initiatives that are planned."""
    planned = (
        Mentioned(ref=item.ref, place=f"{item.space} / {item.slug}", text=f"it is planned: {item.title}")
        for item in initiatives.unfinished(connection)
        if item.state is InitiativeState.PLANNING
    )
    return (*_of_tasks(connection, tasks.of_states(connection, (TaskState.IN_PROGRESS,))), *planned)


def _of_tasks(connection: sqlite3.Connection, found: Iterable[Task]) -> tuple[Mentioned, ...]:
    slugs = dict[int, str]()
    told = list[Mentioned]()
    for item in found:
        if item.initiative_id not in slugs:
            slugs[item.initiative_id] = initiatives.get(connection, item.initiative_id).slug
        text = f"{item.subject}: {item.waits}" if item.waits else item.subject
        told.append(Mentioned(ref=item.ref, place=f"{item.space} / {slugs[item.initiative_id]}", text=text))
    return tuple(told)
