"""What a person can see of one initiative, or of one task: its plan, what waits for what, what was asked, what it cost, what happened.

A task of a repository that whoever looks may not see is named by its number, without a word of it.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from overlord.domain.event_description import describe_event
from overlord.domain.inquiry import HistoryLine
from overlord.domain.job import JobState
from overlord.domain.portfolio.escalation import Escalation
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import ENDED, Task, TaskState
from overlord.errors import NotFound
from overlord.queries.look import Look
from overlord.queries.portfolio import InitiativeLine, lines
from overlord.store.portfolio import board, escalations, initiatives, plan_drafts, tasks
from overlord.store.portfolio.board import LinkedTask, OpenQuestion, WorkedJob

MOST_TOLD = 300
"""Lines of a story, the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """A task in a line."""

    ref: str
    number: int
    space: str
    subject: str
    """Empty where it may not be seen."""
    state: TaskState
    priority: Priority
    waits: str
    """Why it is not begun, or does not go on; empty where nothing keeps it."""
    waits_for: tuple[str, ...]
    """The tasks that are to be done first, done ones too."""
    blocks: tuple[str, ...]
    """The tasks that wait for it."""
    is_ready: bool
    """Whether it could be begun now."""
    issue_number: int | None
    job_id: int | None
    job_state: JobState | None
    pull_number: int | None
    decision_id: int | None = None
    """What a person is asked of it, the oldest."""
    is_hidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InitiativeStory:
    """All that is known of an initiative."""

    initiative: Initiative
    line: InitiativeLine
    plan: str
    """The plan in words, as it is in its file, or as it was proposed; empty before there is one."""
    is_plan_proposed: bool
    """Whether nobody has approved it yet."""
    tasks: tuple[TaskLine, ...]
    escalations: tuple[Escalation, ...]
    questions: tuple[OpenQuestion, ...]
    """What a person is asked of it now."""
    jobs: tuple[WorkedJob, ...]
    told: tuple[HistoryLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStory:
    """All that is known of a task."""

    task: Task
    line: TaskLine
    initiative: str
    """Its title; empty where it may not be seen."""
    escalations: tuple[Escalation, ...]
    questions: tuple[OpenQuestion, ...]
    jobs: tuple[WorkedJob, ...]
    told: tuple[HistoryLine, ...]


def initiative_story(look: Look, initiative: Initiative) -> InitiativeStory:
    """Raises NotFound for one that may not be seen."""
    check_seen(look, initiative.space, initiative.ref)
    found = tasks.of_initiative(look.connection, initiative.id)
    worked = board.worked(look.connection, [initiative.id])
    asked = [
        item for item in escalations.of_initiative(look.connection, initiative.id) if look.sees(item.space)
    ]
    plan, is_proposed = _plan(look, initiative)
    return InitiativeStory(
        initiative=initiative,
        line=lines(look, [initiative])[0],
        plan=plan,
        is_plan_proposed=is_proposed,
        tasks=_task_lines(look, initiative.id, found, worked),
        escalations=tuple(asked),
        questions=_questions(look, [initiative.ref, *(item.ref for item in asked)]),
        jobs=tuple(_seen_jobs(look, found, worked)),
        told=told(look, [initiative.ref, *(item.ref for item in asked)], tasks_of=initiative.ref),
    )


def check_seen(look: Look, space: str, ref: str) -> None:
    """Raises NotFound, as for what is not there."""
    if not look.sees(space):
        raise NotFound(f"there is no {ref}")


def task_story(look: Look, task: Task) -> TaskStory:
    """Raises NotFound for one that may not be seen."""
    check_seen(look, task.space, task.ref)
    owner = initiatives.get(look.connection, task.initiative_id)
    worked = [job for job in board.worked(look.connection, [owner.id]) if job.task_number == task.number]
    asked = [item for item in escalations.of_initiative(look.connection, owner.id) if item.task_id == task.id]
    return TaskStory(
        task=task,
        line=_task_lines(look, owner.id, [task], worked)[0],
        initiative=owner.title if look.sees(owner.space) else "",
        escalations=tuple(asked),
        questions=_questions(look, [task.ref, *(item.ref for item in asked)]),
        jobs=tuple(worked),
        told=told(look, [task.ref, *(item.ref for item in asked)]),
    )


def _plan(look: Look, initiative: Initiative) -> tuple[str, bool]:
    """The plan in words, and whether it is only proposed."""
    proposed = board.proposed_plan(look.connection, initiative.id)
    if proposed and not initiative.has_ended:
        return proposed, True
    return plan_drafts.text_of(look.connection, initiative), False


def _questions(look: Look, about: Collection[str]) -> tuple[OpenQuestion, ...]:
    asked = board.asked(look.connection)
    return tuple(question for ref in about for question in asked.get(ref, ()))


def _seen_jobs(look: Look, found: Sequence[Task], worked: Sequence[WorkedJob]) -> Iterator[WorkedJob]:
    hidden = {task.number for task in found if not look.sees(task.space)}
    return (job for job in worked if job.task_number not in hidden)


def _task_lines(
    look: Look, initiative_id: int, found: Sequence[Task], worked: Sequence[WorkedJob]
) -> tuple[TaskLine, ...]:
    blockers, blocked = dict[int, list[LinkedTask]](), dict[int, list[LinkedTask]]()
    for first, second in board.links_at(look.connection, initiative_id):
        blockers.setdefault(second.id, []).append(first)
        blocked.setdefault(first.id, []).append(second)
    last, asked = {job.task_number: job for job in worked}, board.asked(look.connection)
    found_lines = list[TaskLine]()
    for task in found:
        around = blockers.get(task.id, ()), blocked.get(task.id, ())
        line = _task_line(task, *around, last.get(task.number))
        questions = asked.get(task.ref)
        line = replace(line, decision_id=questions[0].decision_id) if questions else line
        found_lines.append(line if look.sees(task.space) else _hidden(line))
    return tuple(found_lines)


def _hidden(line: TaskLine) -> TaskLine:
    """Its number and how far it is, and not a word of it."""
    return replace(
        line,
        space="",
        subject="",
        waits="",
        issue_number=None,
        job_id=None,
        job_state=None,
        pull_number=None,
        decision_id=None,
        is_hidden=True,
    )


def _task_line(
    task: Task,
    blockers: Sequence[LinkedTask],
    blocked: Sequence[LinkedTask],
    job: WorkedJob | None,
) -> TaskLine:
    left = [item.ref for item in blockers if item.state not in ENDED]
    return TaskLine(
        ref=task.ref,
        number=task.number,
        space=task.space,
        subject=task.subject,
        state=task.state,
        priority=task.priority,
        waits="" if task.has_ended else task.waits or _after(task, left),
        waits_for=tuple(item.ref for item in blockers),
        blocks=tuple(item.ref for item in blocked),
        is_ready=task.state is _PENDING and not left and not task.waits,
        issue_number=task.issue_number,
        job_id=job.job_id if job is not None else None,
        job_state=job.state if job is not None else None,
        pull_number=job.pull_number if job is not None else None,
    )


def _after(task: Task, left: Sequence[str]) -> str:
    return f"for {', '.join(left)}" if left and task.state is _PENDING else ""


_PENDING = TaskState.PENDING


def told(look: Look, about: Collection[str], *, tasks_of: str = "") -> tuple[HistoryLine, ...]:
    """What happened to these, as `i3` or `n12`, without what is of a repository that may not be seen; the last of it."""
    found = list[HistoryLine]()
    for entry in board.told(look.connection, about, tasks_of=tasks_of):
        data: Mapping[str, object] = json.loads(entry.data)
        space = data.get("space")
        if isinstance(space, str) and not look.sees(space):
            continue
        if sentence := describe_event(entry.name, json.loads(entry.data)):
            at = datetime.fromisoformat(entry.at)
            found.append(HistoryLine(at=at, sentence=sentence, actor=entry.actor))
    return tuple(found[-MOST_TOLD:])
