"""The verbs of initiatives and tasks: each changes rows in one transaction; a cycle does what follows."""

import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from minion.protocol import Scope, ScopeError, ScopeMode
from overlord.command_ref import CommandRef, hint
from overlord.domain.budgets.budget import Unit, parse_amount
from overlord.domain.portfolio.initiative import (
    MOST_GOAL_CHARS,
    MOST_TITLE_CHARS,
    Initiative,
    InitiativeSource,
    InitiativeState,
)
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import (
    MOST_CRITERIA,
    MOST_CRITERION_CHARS,
    MOST_DESCRIPTION_CHARS,
    MOST_LABELS,
    MOST_NOTES_CHARS,
    MOST_SUBJECT_CHARS,
    AddressedCriterion,
    Task,
    TaskState,
)
from overlord.domain.text.plain import count, plain_line
from overlord.domain.text.reference import InitiativeRef, TaskRef, space_named
from overlord.errors import Refused
from overlord.store import jobs
from overlord.store.portfolio import endings, initiatives, tasks
from overlord.verbs.verb import Context, Done

_CRITERION = re.compile(r"[ \t]*[-*+][ \t]+(?:\[[ xX]?\][ \t]+)?(?P<text>\S.*)")
_TASK = re.compile(r"[\s,]+")


def space_of(context: Context, ref: InitiativeRef | TaskRef) -> str:
    """The repository of an initiative or a task. Raises NotFound."""
    return context.initiative(ref).space if isinstance(ref, InitiativeRef) else context.task(ref).space


def add_initiative(context: Context, named: str | None, words: str) -> Done:
    """Open an initiative: the first line is its title, what follows its goal. Raises NotFound, Refused."""
    space = space_named(named, context.settings.repositories)
    title, goal = _first_line(words)
    _check_length(title, MOST_TITLE_CHARS, "the title, which is the first line,")
    _check_length(goal, MOST_GOAL_CHARS, "the goal")
    made = initiatives.add(
        context.connection,
        Initiative(
            id=0,
            space=space,
            slug="",
            title=plain_line(title, limit=MOST_TITLE_CHARS),
            goal=goal or title,
            source=InitiativeSource.PERSON,
            key=f"person:{secrets.token_hex(12)}",
            state=InitiativeState.QUEUED,
            priority=Priority.NORMAL,
            actor=context.actor,
            created_at=context.at,
            updated_at=context.at,
        ),
    )
    assert made is not None, "its key was made just now"
    shows = hint(CommandRef("initiative", (made.ref,)), " shows how it goes")
    return Done(text=f"Initiative {made.ref} in {space}: it is planned next", hint=shows, needs_reply=True)


def _first_line(words: str) -> tuple[str, str]:
    """The first line that has words, and the rest. Raises Refused where there is none."""
    first, _, rest = words.strip().partition("\n")
    if not first.strip():
        raise Refused("say what is wanted, in a line")
    return first.strip(), rest.strip()


def _check_length(text: str, most: int, what: str) -> None:
    if len(text) > most:
        raise Refused(f"{what} has at most {most:,} characters; this has {len(text):,}")


def set_initiative(context: Context, ref: InitiativeRef, words: str) -> Done:
    """Change one thing of an initiative. Raises NotFound, Refused."""
    initiative = context.initiative(ref)
    if initiative.has_ended:
        raise Refused(f"{initiative.ref} has ended: it is {initiative.state}")
    key, value = _key_and_value(words, _OF_INITIATIVE)
    changes = _OF_INITIATIVE[key](value)
    initiatives.change(context.connection, initiative.id, at=context.at, actor=context.actor, **changes)
    return Done(
        text=f"{initiative.ref} has {_changed(key)}: {plain_line(value, limit=100) or 'as the settings say'}."
    )


def _key_and_value(words: str, known: Mapping[str, object]) -> tuple[str, str]:
    key, _, value = words.strip().partition(" ")
    key = key.rstrip(":=").casefold()
    if key not in known:
        raise Refused(f"say what is to change: {', '.join(known)}, and then its value")
    return key, value.strip()


def _priority(value: str) -> dict[str, Any]:
    try:
        return {"priority": Priority(value.casefold())}
    except ValueError:
        raise Refused(f"a priority is one of {', '.join(Priority)}") from None


def _budget(value: str) -> dict[str, Any]:
    """An amount of dollars or tokens for all of its jobs; nothing for what the settings say."""
    if not value:
        return {"nusd_budget": None, "token_budget": None}
    try:
        amount = parse_amount(value)
    except ValueError:
        raise Refused("a budget is dollars as $20, or tokens as 500000") from None
    return {"nusd_budget" if amount.unit is Unit.USD else "token_budget": amount.value}


def _paths(value: str) -> dict[str, Any]:
    patterns = tuple(part for part in _TASK.split(value) if part)
    try:
        Scope.parse(Scope(mode=ScopeMode.DIRECTORY, patterns=patterns).to_json()) if patterns else None
    except ScopeError:
        raise Refused("paths are patterns as a scope has them, as in src/api/** docs/**") from None
    return {"paths": patterns}


def _title(value: str) -> dict[str, Any]:
    _check_length(value, MOST_TITLE_CHARS, "a title")
    if not value:
        raise Refused("say the new title")
    return {"title": plain_line(value, limit=MOST_TITLE_CHARS)}


_OF_INITIATIVE: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "priority": _priority,
    "budget": _budget,
    "paths": _paths,
    "title": _title,
}


def pause_initiative(context: Context, ref: InitiativeRef, reason: str) -> Done:
    """Let an initiative rest. Raises NotFound, Refused."""
    initiative = context.initiative(ref)
    if initiative.state is InitiativeState.PROPOSED:
        raise Refused(f"{initiative.ref} is only proposed: say whether it is wanted")
    if initiative.has_ended or initiative.state is InitiativeState.PAUSED:
        raise Refused(f"{initiative.ref} is {initiative.state} already")
    _change(context, initiative, InitiativeState.PAUSED, reason)
    ends = hint(CommandRef("initiatives resume", (initiative.ref,)), " ends that")
    return Done(text=f"{initiative.ref} rests. What runs goes on, nothing of it is begun", hint=ends)


def resume_initiative(context: Context, ref: InitiativeRef) -> Done:
    """Let it go on: with its plan, or with planning where it has none. Raises NotFound, Refused."""
    initiative = context.initiative(ref)
    if initiative.state not in (InitiativeState.PAUSED, InitiativeState.PROPOSED):
        raise Refused(f"{initiative.ref} does not rest: it is {initiative.state}")
    state = InitiativeState.ACTIVE if initiative.plan_digest else InitiativeState.QUEUED
    _change(context, initiative, state, "a person lets it go on")
    endings.close_questions(context.connection, initiative.ref, at=context.at)
    return Done(text=f"{initiative.ref} goes on.")


def cancel_initiative(context: Context, ref: InitiativeRef, reason: str) -> Done:
    """Give an initiative up: what nobody works on of it ends. Raises NotFound, Refused."""
    initiative = context.initiative(ref)
    if initiative.has_ended:
        raise Refused(f"{initiative.ref} has ended: it is {initiative.state}")
    _change(context, initiative, InitiativeState.CANCELLED, reason)
    ended = context.initiative(ref)
    endings.end_initiative(context.connection, ended, at=context.at, actor=context.actor)
    own = tasks.of_initiative(context.connection, initiative.id)
    left = [task.ref for task in own if task.state is TaskState.IN_PROGRESS]
    goes_on = f" What is worked on goes on to its end: {', '.join(left)}." if left else ""
    return Done(text=f"{initiative.ref} is given up.{goes_on}")


def _change(context: Context, initiative: Initiative, state: InitiativeState, reason: str) -> None:
    initiatives.change(
        context.connection,
        initiative.id,
        at=context.at,
        actor=context.actor,
        reason=plain_line(reason, limit=300),
        state=state,
        waits="",
    )


def add_task(context: Context, ref: InitiativeRef, words: str) -> Done:
    """Add a task: the first line says what, lines with a dash are its acceptance criteria, the rest describes it. Raises NotFound,
    Refused."""
    initiative = context.initiative(ref)
    if initiative.has_ended:
        raise Refused(f"{initiative.ref} has ended: it is {initiative.state}")
    most = context.settings.space(initiative.space).portfolio.most_tasks
    live = [
        task
        for task in tasks.of_initiative(context.connection, initiative.id)
        if task.state is not TaskState.CANCELLED
    ]
    if len(live) >= most:
        raise Refused(
            f"{initiative.ref} has {count(len(live), 'task')}, and {most} is the most of one initiative"
        )
    subject, rest = _first_line(words)
    _check_length(subject, MOST_SUBJECT_CHARS, "the first line, which says what is wanted,")
    lines = rest.splitlines()
    found = [_CRITERION.fullmatch(line) for line in lines]
    criteria = tuple(match["text"].strip() for match in found if match)
    described = "\n".join(line for line, match in zip(lines, found, strict=True) if not match).strip()
    _check_criteria(criteria)
    _check_length(described, MOST_DESCRIPTION_CHARS, "the description")
    made = tasks.add(
        context.connection,
        Task(
            id=0,
            initiative_id=initiative.id,
            number=0,
            space=initiative.space,
            subject=plain_line(subject, limit=MOST_SUBJECT_CHARS),
            description=described,
            acceptance_criteria=criteria,
            state=TaskState.PENDING,
            priority=Priority.NORMAL,
            created_by=context.actor,
            created_at=context.at,
            updated_at=context.at,
            paths=initiative.paths,
        ),
    )
    if not criteria:
        adds = hint(CommandRef("tasks set", (made.ref, "criterion", "your words")), " adds one")
        return Done(
            text=f"Task {made.ref} is added, without acceptance criteria", hint=adds, needs_reply=True
        )
    said = "1 acceptance criterion" if len(criteria) == 1 else f"{len(criteria)} acceptance criteria"
    return Done(text=f"Task {made.ref} is added, with {said}.", needs_reply=True)


def _check_criteria(criteria: tuple[str, ...]) -> None:
    if len(criteria) > MOST_CRITERIA:
        raise Refused(f"a task has at most {MOST_CRITERIA} acceptance criteria: make two tasks of it")
    for text in criteria:
        _check_length(text, MOST_CRITERION_CHARS, "an acceptance criterion")


def set_task(context: Context, ref: TaskRef, words: str) -> Done:
    """Change one thing of a task. Raises NotFound, Refused."""
    task = _open_task(context, ref)
    key, value = _key_and_value(words, {**_OF_TASK, "blocked-by": None, "criterion": None})
    if key == "blocked-by":
        blockers = [
            tasks.named(context.connection, part, initiative_id=task.initiative_id)
            for part in _TASK.split(value)
            if part
        ]
        tasks.link(context.connection, task, blockers, at=context.at, actor=context.actor)
        named = ", ".join(item.ref for item in blockers)
        return Done(
            text=f"{task.ref} waits for {named}." if named else f"{task.ref} waits for no other task."
        )
    if key == "criterion":
        criteria = (*task.acceptance_criteria, value)
        if not value:
            raise Refused("say the acceptance criterion")
        _check_criteria(criteria)
        changes: dict[str, Any] = {"acceptance_criteria": criteria}
    else:
        changes = _OF_TASK[key](value)
    tasks.change(context.connection, task.id, at=context.at, actor=context.actor, **changes)
    return Done(text=f"{task.ref} has {_changed(key)}: {plain_line(value, limit=100) or 'none'}.")


def _changed(key: str) -> str:
    """What was changed of a task, as a sentence says it."""
    many = {"paths": "other paths", "labels": "other labels", "criterion": "one more acceptance criterion"}
    return many.get(key, f"another {key}")


def _open_task(context: Context, ref: TaskRef) -> Task:
    task = context.task(ref)
    if task.has_ended:
        raise Refused(f"{task.ref} has ended: it is {task.state}")
    return task


def _subject(value: str) -> dict[str, Any]:
    _check_length(value, MOST_SUBJECT_CHARS, "what a task is called")
    if not value:
        raise Refused("say what the task is called")
    return {"subject": plain_line(value, limit=MOST_SUBJECT_CHARS)}


def _description(value: str) -> dict[str, Any]:
    _check_length(value, MOST_DESCRIPTION_CHARS, "a description")
    return {"description": value}


def _labels(value: str) -> dict[str, Any]:
    found = tuple(dict.fromkeys(part for part in _TASK.split(value) if part))
    if len(found) > MOST_LABELS:
        raise Refused(f"a task has at most {MOST_LABELS} labels")
    return {"labels": found}


_OF_TASK: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "priority": _priority,
    "paths": _paths,
    "subject": _subject,
    "description": _description,
    "labels": _labels,
}


def finish_task(context: Context, ref: TaskRef, notes: str) -> Done:
    """Say that a task is done, with what was done. Raises NotFound, Refused."""
    task = _open_task(context, ref)
    _check_no_job(context, task)
    if not notes.strip():
        raise Refused("say what was done: a task is done with notes alone")
    _check_length(notes, MOST_NOTES_CHARS, "what was done")
    words = f"said by {context.actor}"
    said = {item.number for item in task.addressed if item.evidence.strip()}
    left = (number for number in range(1, len(task.acceptance_criteria) + 1) if number not in said)
    addressed = (*task.addressed, *(AddressedCriterion(number=item, evidence=words) for item in left))
    _end_task(context, task, TaskState.DONE, "a person says so", notes=notes, addressed=addressed)
    return Done(text=f"{task.ref} is done.")


def cancel_task(context: Context, ref: TaskRef, reason: str) -> Done:
    """Give a task up. Raises NotFound, Refused."""
    task = _open_task(context, ref)
    _check_no_job(context, task)
    _end_task(context, task, TaskState.CANCELLED, reason)
    return Done(text=f"{task.ref} is given up.")


def _check_no_job(context: Context, task: Task) -> None:
    """Raises Refused while a job works on it."""
    job = jobs.live_for(context.connection, task.space, task.issue_number) if task.issue_number else None
    if job is not None:
        stops = hint(CommandRef("stop", (str(job.id),)), " stops it")
        raise Refused(f"job {job.id} works on {task.ref}", hint=stops)


def _end_task(
    context: Context,
    task: Task,
    state: TaskState,
    reason: str,
    *,
    notes: str = "",
    addressed: tuple[AddressedCriterion, ...] = (),
) -> None:
    ended = tasks.change(
        context.connection,
        task.id,
        at=context.at,
        actor=context.actor,
        reason=plain_line(reason, limit=300),
        state=state,
        waits="",
        completion_notes=notes or task.completion_notes,
        addressed=addressed or task.addressed,
    )
    endings.end_task(context.connection, ended, at=context.at)
