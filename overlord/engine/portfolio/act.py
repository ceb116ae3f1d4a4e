"""What a cycle decided, done: each action a small change of rows in the cycle's own transaction. What is outward follows from the rows."""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from overlord.domain.conversation.issue_request import RequestKind, RequestOptions
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.event import OVERLORD
from overlord.domain.job import JobState
from overlord.domain.knowledge.note import MOST_NOTE_CHARS, NoteKind, NoteSource, NoteState
from overlord.domain.knowledge.vetting import vetted
from overlord.domain.portfolio.cycle.action import (
    Action,
    Applied,
    Ask,
    AssignTask,
    ChangeInitiative,
    ChangeTask,
    NoteJob,
    OpenInitiative,
    Replan,
    RequestPlan,
    SayWaits,
    SettleConflict,
)
from overlord.domain.portfolio.initiative import MOST_TITLE_CHARS, Initiative, InitiativeState
from overlord.domain.portfolio.task import MOST_SUBJECT_CHARS, Task, TaskState
from overlord.domain.text.plain import defused_line, plain_line
from overlord.engine.portfolio.lead_job import request_plan
from overlord.engine.portfolio.task_issue import task_issue_text
from overlord.errors import Refused
from overlord.store import decisions, jobs
from overlord.store.bootstrap import issue_requests
from overlord.store.knowledge import notes
from overlord.store.portfolio import endings, facts, initiatives, tasks
from overlord.verbs.commands import work_on


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """What an action is carried out with."""

    connection: sqlite3.Connection
    at: datetime
    actor: str = OVERLORD
    """Who began the cycle."""
    redact: Callable[[str], str] = str
    """A text without secrets."""


def act(acting: Acting, action: Action) -> str:
    """Do it; returns what was done in a few words, for the cycle's summary, or nothing for what nobody needs to read."""
    return _ACTS[type(action)](acting, action)


def _open_initiative(acting: Acting, action: OpenInitiative) -> str:
    state = InitiativeState.PROPOSED if action.is_proposed else InitiativeState.QUEUED
    made = initiatives.add(
        acting.connection,
        Initiative(
            id=0,
            space=action.space,
            slug="",
            title=plain_line(action.title, limit=MOST_TITLE_CHARS) or "Untitled",
            goal=action.goal,
            source=action.source,
            key=action.key,
            state=state,
            priority=action.priority,
            actor=OVERLORD,
            created_at=acting.at,
            updated_at=acting.at,
            paths=action.paths,
        ),
    )
    if made is None:
        return ""
    return f"{'proposed' if action.is_proposed else 'opened'} {made.ref}"


def _change_initiative(acting: Acting, action: ChangeInitiative) -> str:
    changes: dict[str, Any] = {"state": action.state, "waits": ""}
    before = initiatives.get(acting.connection, action.initiative_id)
    if before.state is InitiativeState.PLANNING:
        facts.mark_processed(acting.connection, before.space, before.issue_number)
    changed = initiatives.change(
        acting.connection,
        action.initiative_id,
        at=acting.at,
        actor=action.actor or OVERLORD,
        reason=action.reason,
        **changes,
    )
    if changed.has_ended:
        endings.end_initiative(acting.connection, changed, at=acting.at, actor=action.actor or OVERLORD)
    return f"{changed.ref} is {changed.state}"


def _request_plan(acting: Acting, action: RequestPlan) -> str:
    """Where a job plans it already, it is being planned; where its repository cannot be found, it says so."""
    connection, at = acting.connection, acting.at
    initiative = initiatives.get(connection, action.initiative_id)
    if _is_worked_on(connection, initiative):
        initiatives.change(connection, initiative.id, at=at, state=InitiativeState.PLANNING, waits="")
        return f"planning of {initiative.ref}"
    try:
        request_plan(connection, initiative, actor=acting.actor, at=at, reason=action.reason)
    except Refused as error:
        initiatives.say_waits(connection, initiative.id, plain_line(str(error), limit=200))
        return ""
    return f"planning of {initiative.ref}"


def _is_worked_on(connection: sqlite3.Connection, row: Task | Initiative) -> bool:
    """Whether a job that waits for nobody is at its issue."""
    job = jobs.live_for(connection, row.space, row.issue_number) if row.issue_number is not None else None
    return job is not None and job.state is not JobState.WAITING


def _replan(acting: Acting, action: Replan) -> str:
    changes: dict[str, Any] = {"goal": action.goal} if action.goal else {}
    changes |= {"replan": action.reason} if action.reason else {}
    changed = initiatives.change(acting.connection, action.initiative_id, at=acting.at, **changes)
    return f"{changed.ref} is looked at again: {action.reason}" if action.reason else f"goal of {changed.ref}"


def _assign(acting: Acting, action: AssignTask) -> str:
    """A task gets its issue once; one that has it is worked on there again."""
    connection, at = acting.connection, acting.at
    task = tasks.get(connection, action.task_id)
    changes: dict[str, Any] = {"state": TaskState.IN_PROGRESS, "waits": ""}
    facts.mark_processed(connection, task.space, task.issue_number)
    if task.issue_number is None:
        changes["issue_request_id"] = _issue_request(acting, task)
    elif task.is_issue_closed or facts.is_merged(connection, task.space, task.issue_number):
        changes["is_issue_closed"] = True  # it is opened again first
    elif not _is_worked_on(connection, task):
        try:
            work_on(connection, task.space, task.issue_number, actor=acting.actor, at=at)
        except Refused as error:
            tasks.say_waits(connection, task.id, plain_line(str(error), limit=200))
            return ""
    if task.issue_request_id is not None:
        issue_requests.try_again(connection, task.issue_request_id)
    tasks.change(connection, task.id, at=at, **changes)
    endings.close_questions(connection, task.ref, at=at)
    return f"assigned {task.ref}"


def _issue_request(acting: Acting, task: Task) -> int:
    """The one request by which the task's issue is opened."""
    if task.issue_request_id is not None:
        return task.issue_request_id
    initiative = initiatives.get(acting.connection, task.initiative_id)
    request = issue_requests.request(
        acting.connection,
        space=task.space,
        kind=RequestKind.TASK,
        title=plain_line(task.subject, limit=MOST_SUBJECT_CHARS),
        body=task_issue_text(task, initiative),
        options=RequestOptions(initiative=initiative.id, task=task.id),
        actor=acting.actor,
        at=acting.at,
    )
    return request.id


def _change_task(acting: Acting, action: ChangeTask) -> str:
    connection, before = acting.connection, tasks.get(acting.connection, action.task_id)
    if before.has_ended:
        return ""
    changes: dict[str, Any] = {"state": action.state, "waits": ""}
    if action.is_failed:
        changes |= {"attempts": before.attempts + 1}
    if action.priority is not None:
        changes |= {"priority": action.priority}
    if action.notes:
        changes |= {"completion_notes": action.notes}
    if action.addressed:
        changes |= {"addressed": action.addressed}
    actor = action.actor or OVERLORD
    if action.is_failed or action.state is TaskState.DONE:
        facts.mark_processed(connection, before.space, before.issue_number)
    changed = tasks.change(connection, before.id, at=acting.at, actor=actor, reason=action.reason, **changes)
    if changed.state is TaskState.IN_PROGRESS:
        endings.close_questions(connection, changed.ref, at=acting.at)
    if changed.has_ended:
        endings.end_task(connection, changed, at=acting.at)
    return f"{changed.ref} is {changed.state.replace('_', ' ')}"


def _note_job(acting: Acting, action: NoteJob) -> str:
    if action.task_id is not None:
        tasks.change(acting.connection, action.task_id, at=acting.at, job_id=action.job_id)
    if action.initiative_id is not None:
        initiatives.change(acting.connection, action.initiative_id, at=acting.at, job_id=action.job_id)
    return ""


def _say_waits(acting: Acting, action: SayWaits) -> str:
    if action.task_id is not None:
        tasks.say_waits(acting.connection, action.task_id, action.waits)
    if action.initiative_id is not None:
        initiatives.say_waits(acting.connection, action.initiative_id, action.waits)
    return ""


def _ask(acting: Acting, action: Ask) -> str:
    _raise(acting, action)
    return f"asked about {action.about}"


def _raise(acting: Acting, action: Ask) -> None:
    decisions.raise_decision(
        acting.connection,
        Decision(
            id=0,
            job_id=None,
            kind=action.kind,
            subject=action.subject,
            title=defused_line(action.title),
            body=action.body,
            verbs=action.verbs,
            blocks=action.blocks,
            created_at=acting.at,
            space=action.space,
            options=action.options,
            audience=action.audience,
            about=action.about,
        ),
    )


def _settle_conflict(acting: Acting, action: SettleConflict) -> str:
    """What a person said counts as a decision from now on, in place of the notes that count still. What no session could note is a
    draft, and both notes stay until somebody accepts it."""
    connection, at = acting.connection, acting.at
    known = [notes.get(connection, number) for number in action.notes]
    one, *others = known
    found = vetted(acting.redact(action.text)[:MOST_NOTE_CHARS], one.question)
    is_sound = not found.problem and not found.doubt
    made = notes.add(
        connection,
        replace(
            one,
            id=0,
            space=one.space if all(note.space == one.space for note in others) else "",
            kind=NoteKind.DECISION,
            text=found.text,
            state=NoteState.ACTIVE if is_sound else NoteState.DRAFT,
            source=NoteSource(evidence=f"a person's answer about {' and '.join(note.ref for note in known)}"),
            actor=action.actor,
            created_at=at,
            updated_at=at,
            check=None,
            checked_at=None,
            reason="",
            promoted_from=None,
            contradicted_by="",
        ),
    )
    for note in known:
        if is_sound and note.state is NoteState.ACTIVE:
            reason = f"{made.ref} says what counts"
            notes.change(
                connection, note.id, at=at, actor=action.actor, reason=reason, state=NoteState.WITHDRAWN
            )
    return f"{made.ref} settles a conflict"


def _applied(acting: Acting, action: Applied) -> str:
    decisions.mark_applied(acting.connection, action.decision)
    if action.decision.subject is Subject.STALE_TASK and action.decision.verb is Verb.RETRY:
        task = tasks.named(acting.connection, action.decision.about)
        tasks.touch(acting.connection, task.id, at=acting.at)
    return ""


_ACTS: Mapping[type, Callable[[Acting, Any], str]] = {
    OpenInitiative: _open_initiative,
    ChangeInitiative: _change_initiative,
    RequestPlan: _request_plan,
    Replan: _replan,
    AssignTask: _assign,
    ChangeTask: _change_task,
    NoteJob: _note_job,
    SayWaits: _say_waits,
    Ask: _ask,
    SettleConflict: _settle_conflict,
    Applied: _applied,
}
