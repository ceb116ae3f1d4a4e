"""A proposed plan, held against its initiative and the tasks there are: everything in it is a model's words.

A lead says what is to be done, in tasks. It cannot say that something is done, and it does not change what is under way: what a person
approved and somebody has begun stays as it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from minion.protocol import PlannedTask, ProposedPlan
from overlord.domain.portfolio.files.plan_file import planned, seen
from overlord.domain.portfolio.graph import circle
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.plan_task import Bounds, clean, folded, line, problems_of
from overlord.domain.portfolio.task import Task, TaskState
from overlord.domain.text.plain import count, visible

MOST_TEXT_CHARS = 40_000
MOST_PROBLEMS = 40
HEADINGS = ("Goal", "Current state", "Approach", "What is next")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(?P<words>.*)$", re.MULTILINE)
_BEGUN = {TaskState.IN_PROGRESS: "in progress", TaskState.DONE: "done", TaskState.CANCELLED: "cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGround:
    """What a plan is held against."""

    initiative: Initiative
    tasks: tuple[Task, ...]
    """All of the initiative."""
    spaces: tuple[str, ...]
    """The repositories of the portfolio."""
    most_tasks: int
    text: str = ""
    """The plan as it is; empty where there is none."""
    drafted: frozenset[int] = frozenset()
    """The numbers of tasks that the same job proposed before: this proposal takes their place."""

    @property
    def has_plan(self) -> bool:
        return bool(self.initiative.plan_digest or self.drafted)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFound:
    """A plan that was read, with what is held against it."""

    text: str
    tasks: tuple[PlannedTask, ...]
    still_holds: bool
    problems: tuple[str, ...]


def judged(proposed: ProposedPlan, ground: PlanGround) -> PlanFound:
    """What is held against a plan; what is kept of it where that is nothing."""
    if proposed.still_holds:
        problems = tuple(_not_holding(proposed, ground))
        return PlanFound(text=ground.text, tasks=(), still_holds=True, problems=problems)
    known = {name.casefold(): name for name in ground.spaces}
    tasks = tuple(_in_space(clean(task), ground.initiative.space, known) for task in proposed.tasks)
    text = seen(planned(visible(proposed.text)))[0].prose  # as its file will be read
    problems = tuple(_problems(text, tasks, ground))
    if len(problems) > MOST_PROBLEMS:
        more = f"There are {len(problems) - MOST_PROBLEMS} more problems."
        problems = (*problems[:MOST_PROBLEMS], more)
    return PlanFound(text=f"{text}\n", tasks=tasks, still_holds=False, problems=problems)


def _in_space(task: PlannedTask, own: str, known: dict[str, str]) -> PlannedTask:
    """With the repository as the settings spell it; none for the initiative's own."""
    name = known.get(task.repository.casefold(), task.repository)
    return replace(task, repository="" if name.casefold() == own.casefold() else name)


def _not_holding(proposed: ProposedPlan, ground: PlanGround) -> Iterator[str]:
    if proposed.text.strip() or proposed.tasks:
        yield "still_holds keeps the present plan as it is: leave text and tasks out with it, or leave still_holds out"
    if not ground.has_plan or not ground.text.strip():
        yield "There is no plan yet that could still hold: propose one, with its text and its tasks."


def _problems(text: str, tasks: tuple[PlannedTask, ...], ground: PlanGround) -> Iterator[str]:
    named = {task.task for task in tasks}
    kept = [item for item in ground.tasks if item.state in _LASTING and item.number not in named]
    if len(tasks) + len(kept) > ground.most_tasks:
        beside = f" beside {count(len(kept), 'task')} that are begun or done" if kept else ""
        yield (
            f"The plan has {count(len(tasks), 'task')}{beside}, and an initiative has at most {ground.most_tasks}: "
            "propose the first ones, each of one pull request, and say under What is next what follows."
        )
        return
    yield from _text_problems(text)
    if not tasks:
        yield "The plan has no tasks: say what is to be done, each of one pull request."
    begun = {item.number for item in ground.tasks if item.state in _BEGUN}
    for place, task in enumerate(tasks, start=1):
        if task.task not in begun:  # what is under way stays as it is, whatever is said of it
            yield from (f"{_name(place, task)} {what}." for what in _task_problems(task, ground))
    yield from _same_subjects(tasks, ground)
    yield from _changed(tasks, ground)
    yield from _links(tasks)


_LASTING = (TaskState.IN_PROGRESS, TaskState.DONE)


def _name(place: int, task: PlannedTask) -> str:
    return f"Task {place} ({task.subject[:60]!r})" if task.subject else f"Task {place}"


def _text_problems(text: str) -> Iterator[str]:
    if len(text) > MOST_TEXT_CHARS:
        yield f"The text has {len(text):,} characters; a plan has at most {MOST_TEXT_CHARS:,}."
        return
    found = list(_HEADING.finditer(text))
    written = dict[str, str]()
    for at, heading in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        written.setdefault(
            line(heading["words"].rstrip(" \t#")).casefold(), text[heading.end() : end].strip()
        )
    for wanted in HEADINGS:
        if wanted.casefold() not in written:
            yield f"The text has no heading {wanted!r}: a plan has {', '.join(HEADINGS)}."
        elif not written[wanted.casefold()]:
            yield f"Nothing stands under the heading {wanted!r}."


def _task_problems(task: PlannedTask, ground: PlanGround) -> Iterator[str]:
    if task.repository and task.repository not in ground.spaces:
        known = ", ".join(sorted(ground.spaces))
        yield f"is to be done in {task.repository[:100]!r}, which is no repository of the portfolio; those are {known}"
    yield from problems_of(task, Bounds(paths=() if task.repository else ground.initiative.paths))


def _same_subjects(tasks: tuple[PlannedTask, ...], ground: PlanGround) -> Iterator[str]:
    seen = dict[str, int]()
    present = {
        folded(item.subject): item.number
        for item in ground.tasks
        if item.state is not TaskState.CANCELLED and item.number not in ground.drafted
    }
    for place, task in enumerate(tasks, start=1):
        subject = folded(task.subject)
        if not subject:
            continue
        if subject in seen:
            yield f"Tasks {seen[subject]} and {place} have the same subject: make them one, or say how they differ."
        seen.setdefault(subject, place)
        number = present.get(subject)
        if number is not None and task.task != number:
            yield f"{_name(place, task)} has the subject of task {number}, which is there already: give it task: {number}."


def _changed(tasks: tuple[PlannedTask, ...], ground: PlanGround) -> Iterator[str]:
    """What a plan does to tasks that are there already and that it may not touch."""
    known = {item.number: item for item in ground.tasks}
    named = dict[int, int]()
    for place, task in enumerate(tasks, start=1):
        if not task.task:
            continue
        if task.task in named:
            yield f"Tasks {named[task.task]} and {place} of the plan are both task {task.task}: name it once."
        named.setdefault(task.task, place)
        there = known.get(task.task)
        if there is None:
            yield f"{_name(place, task)} is to change task {task.task}, which {ground.initiative.ref} does not have."
        elif there.state in _BEGUN and (there.state is TaskState.CANCELLED or not is_as_it_is(task, there)):
            yield _untouchable(place, task, there)
    for item in ground.tasks:
        if item.state is TaskState.IN_PROGRESS and item.number not in named:
            yield (
                f"The plan leaves out task {item.number} ({item.subject[:60]!r}), which is in progress: list it with task: "
                f"{item.number}, as it is. Escalate where it should not go on."
            )


def is_as_it_is(task: PlannedTask, there: Task) -> bool:
    """Whether a task of a plan says what the one there says: what it leaves out counts as the same."""
    return (
        folded(task.subject) == folded(there.subject)
        and task.acceptance_criteria in ((), tuple(map(line, there.acceptance_criteria)))
        and task.description in ("", there.description)
    )


def _untouchable(place: int, task: PlannedTask, there: Task) -> str:
    state = _BEGUN[there.state]
    if there.state is TaskState.CANCELLED:
        return f"{_name(place, task)} is to change task {there.number}, which is cancelled: propose it as a new one."
    return (
        f"{_name(place, task)} changes task {there.number}, which is {state}: subject, description and criteria stay as they are. "
        "A plan does not say that something is done, and does not undo what is; propose a new task for what is still to be done."
    )


def _links(tasks: tuple[PlannedTask, ...]) -> Iterator[str]:
    graph = dict[int, set[int]]()
    for place, task in enumerate(tasks, start=1):
        for blocker in task.blocked_by:
            if not 1 <= blocker <= len(tasks):
                yield (
                    f"{_name(place, task)} waits for task {blocker} of the plan, which has {count(len(tasks), 'task')}: "
                    "blocked_by counts the plan's own tasks from 1."
                )
            else:
                graph.setdefault(place, set()).add(blocker)
    if found := circle(graph):
        shown = ", which waits for ".join(map(str, found)).replace(", which", "", 1)
        yield f"The tasks wait for each other in a circle: {shown}. Take one of these out of blocked_by."
