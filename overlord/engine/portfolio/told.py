"""What a session is told by the portfolio: of its task and initiative, of what was resolved, and of what is known.

The briefing is some lines of Overlord's own; everything in it that others wrote stands fenced elsewhere in the brief.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace

from minion.protocol import KnownNote, PortfolioBrief, PortfolioTool, TaskText
from overlord.domain.job import Job
from overlord.domain.portfolio.graph import Graph, graph_of
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.text.plain import count, plain_line
from overlord.engine.knowledge.recall import recall
from overlord.engine.portfolio import lead_job
from overlord.engine.portfolio.escalations import resolved_for
from overlord.engine.portfolio.files import brief_words, plan_of
from overlord.engine.runtime.parts import Parts
from overlord.store.portfolio import escalations, initiatives, tasks

MOST_OTHERS = 40
"""Other tasks of an initiative that a session is told of."""
OF_TASK = (
    PortfolioTool.EXPLORE,
    PortfolioTool.ADD_TASK,
    PortfolioTool.NOTE_KNOWLEDGE,
    PortfolioTool.SEARCH_KNOWLEDGE,
    PortfolioTool.ESCALATE,
    PortfolioTool.RECORD_COMPLETION,
)


async def portfolio_brief(parts: Parts, job: Job) -> PortfolioBrief | None:
    """Of a lead, of a task, or of any other job where something is known; None where there is nothing to tell."""
    lead = await lead_job.told(parts, job)
    found = await parts.database.read(lambda c: _of_lead(c, lead) if lead else _of_job(c, job))
    return None if found is None else await asyncio.to_thread(_without_secrets, parts, found)


def _of_lead(connection: sqlite3.Connection, lead: PortfolioBrief) -> PortfolioBrief:
    return replace(lead, person=_person(connection))


def _of_job(connection: sqlite3.Connection, job: Job) -> PortfolioBrief | None:
    task = tasks.of_issue(connection, job.space, job.issue.number)
    if task is None:
        person = _person(connection)
        return PortfolioBrief(briefing="", initiative="", person=person) if person else None
    notes = recall(connection, job.space, (job.issue.title, job.issue.body))
    initiative = initiatives.get(connection, task.initiative_id)
    others = [item for item in tasks.of_initiative(connection, initiative.id) if item.id != task.id]
    refs = {item.id: item.ref for item in (*others, task)}
    waits = graph_of((link.blocker_id, link.blocked_id) for link in tasks.links(connection, initiative.id))
    return PortfolioBrief(
        briefing=spawn_briefing(connection, initiative, task, others, notes),
        initiative=f'{initiative.ref} "{plain_line(initiative.title, limit=200)}"',
        goal=initiative.goal,
        plan=plan_of(connection, initiative),
        task=_told(task, refs, waits),
        tasks=tuple(_told(item, refs, waits) for item in others[-MOST_OTHERS:]),
        notes=notes,
        resolved=resolved_for(connection, initiative.id, task.id),
        person=_person(connection),
        tools=OF_TASK,
    )


def _told(task: Task, refs: Mapping[int, str], waits: Graph) -> TaskText:
    return TaskText(
        ref=task.ref,
        subject=task.subject,
        state=task.state,
        description=task.description,
        acceptance_criteria=task.acceptance_criteria,
        blocked_by=tuple(refs[row] for row in sorted(waits.get(task.id, ())) if row in refs),
        waits=task.waits,
    )


def spawn_briefing(
    connection: sqlite3.Connection,
    initiative: Initiative,
    task: Task,
    others: list[Task],
    notes: tuple[KnownNote, ...],
) -> str:
    """Where the initiative stands, what was decided, what is to be done now, and what is agreed on: as the first thing a session reads."""
    live = [item for item in (*others, task) if item.state is not TaskState.CANCELLED]
    done = sum(item.state is TaskState.DONE for item in live)
    title = plain_line(initiative.title, limit=120)
    lines = [
        f"{initiative.space}, initiative {initiative.ref} ({title}): {done} of {count(len(live), 'task')} done."
    ]
    for item in escalations.of_initiative(connection, initiative.id):
        if item.resolution and item.task_id in (None, task.id):
            cited = f" (from {item.cites})" if item.cites else ""
            question, answer = plain_line(item.question, limit=160), plain_line(item.resolution, limit=160)
            lines.append(f"Resolved, {item.ref}: {question} -> {answer}{cited}.")
    lines.append(f"Work on task {task.ref} now: {plain_line(task.subject, limit=200)}.")
    if task.attempts:
        lines.append(f"It was tried {count(task.attempts, 'time')} before without a merge.")
    going = [item.ref for item in others if item.state is TaskState.IN_PROGRESS]
    if going:
        lines.append(f"Others are at work on {', '.join(going[:10])}: leave their files alone.")
    for note in notes[:4]:
        where = note.space or "all repositories"
        lines.append(f"Note {note.ref}, a {note.kind} of {where}: {plain_line(note.text, limit=160)}")
    return "\n".join(lines)


def _person(connection: sqlite3.Connection) -> str:
    return "\n\n".join(f"{path}:\n{words}" for path, words in brief_words(connection).items())


def _task_without(task: TaskText, redact: Callable[[str], str]) -> TaskText:
    return replace(
        task,
        subject=redact(task.subject),
        description=redact(task.description),
        acceptance_criteria=tuple(map(redact, task.acceptance_criteria)),
        waits=redact(task.waits),
    )


def _without_secrets(parts: Parts, found: PortfolioBrief) -> PortfolioBrief:
    redact = parts.current.redactor.redact
    return replace(
        found,
        briefing=redact(found.briefing),
        initiative=redact(found.initiative),
        task=_task_without(found.task, redact) if found.task is not None else None,
        tasks=tuple(_task_without(item, redact) for item in found.tasks),
        person=redact(found.person),
        goal=redact(found.goal),
        plan=redact(found.plan),
        notes=tuple(replace(note, text=redact(note.text)) for note in found.notes),
        resolved=tuple(
            replace(item, question=redact(item.question), resolution=redact(item.resolution))
            for item in found.resolved
        ),
    )
