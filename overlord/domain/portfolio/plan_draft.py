"""A plan that waits for a person: what it will make of the initiative's tasks, in the order in which they can be done."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from minion.protocol import PlannedTask
from overlord.domain.portfolio.graph import graph_of
from overlord.domain.portfolio.task import Task, TaskLink, TaskState
from overlord.domain.text.plain import code_block, count, defused_line

SHOWN_TEXT = 6_000
SHOWN_CRITERIA = 8
SHOWN_DESCRIPTION = 400
SHOWN_CHARS = 20_000
"""Of all tasks together; each is whole in the evidence of the gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTask:
    """A task of a draft: a row of its own where it is new, and what changes of one that was there."""

    number: int
    is_new: bool
    planned: PlannedTask
    base: str = ""
    """The digest of the task as it was when the plan was proposed that changes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDraft:
    """A row: the last plan of a job that holds, or the last one that does not."""

    job_id: int
    initiative_id: int
    text: str
    problems: tuple[str, ...]
    at: datetime
    tasks: tuple[KeptTask, ...] = ()
    base_text: str = ""
    """The plan as it was when this one was proposed."""
    session_id: str = ""
    still_holds: bool = False
    is_edited: bool = False
    """Whether a person changed it after a person was asked about it."""
    is_asked: bool = True
    """Whether people were asked about it as it is since they changed it."""
    approved_at: datetime | None = None
    is_written: bool = False
    """Whether plan.md has its text."""

    @property
    def holds(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """A task as it will be once the plan is approved."""

    number: int
    ref: str
    subject: str
    description: str
    criteria: tuple[str, ...]
    priority: str
    labels: tuple[str, ...]
    paths: tuple[str, ...]
    space: str
    waits_for: tuple[int, ...]
    is_: str
    """`new`, `changed`, `as it is`, `in progress`, `done` or `to be cancelled`."""


def content_digest(task: Task, blockers: Collection[int]) -> str:
    """Of what people and plans say of a task, with the rows of those it waits for."""
    told = [task.subject, task.description, task.acceptance_criteria, task.priority, task.labels, task.paths]
    return sha256(json.dumps([*told, *sorted(blockers)]).encode()).hexdigest()[:16]


def is_a_persons(kept: KeptTask, task: Task, blockers: Collection[int]) -> bool:
    """Whether a person changed a task, or what it waits for, after the plan was proposed that changes it: their word stands."""
    return content_digest(task, blockers) != kept.base


def lines(draft: PlanDraft, tasks: Sequence[Task], links: Sequence[TaskLink]) -> tuple[PlanLine, ...]:
    """All tasks of the initiative that are not cancelled, as they will be, those first that can be done first."""
    numbers = {item.id: item.number for item in tasks}
    graph = graph_of((item.blocker_id, item.blocked_id) for item in links)
    kept = {item.number: item for item in draft.tasks}
    found = list[PlanLine]()
    for task in tasks:
        if task.state is TaskState.CANCELLED or _is_of_nobody(task, kept):
            continue
        blockers = graph.get(task.id, set())
        waits = tuple(sorted(numbers[row] for row in blockers if row in numbers))
        item = kept.get(task.number)
        is_settled = item is None or item.is_new or is_a_persons(item, task, blockers)
        found.append(_line(draft, task, item, waits, is_settled=is_settled))
    return in_order(found)


def _is_of_nobody(task: Task, kept: Mapping[int, KeptTask]) -> bool:
    """Whether a task is proposed, and not by this plan: a person is asked about it elsewhere."""
    return task.state is TaskState.PROPOSED and task.number not in kept


def _line(
    draft: PlanDraft, task: Task, kept: KeptTask | None, waits: tuple[int, ...], *, is_settled: bool
) -> PlanLine:
    """`is_settled`: its row says already what it is to be."""
    as_it_is = _of_row(task, waits, _state(draft, task, kept))
    if kept is None or is_settled or task.state not in (TaskState.PENDING, TaskState.PROPOSED):
        return as_it_is
    planned, state = kept.planned, "new" if task.state is TaskState.PROPOSED else "changed"
    changed = PlanLine(
        number=task.number,
        ref=task.ref,
        subject=planned.subject,
        description=planned.description,
        criteria=planned.acceptance_criteria,
        priority=planned.priority,
        labels=planned.labels,
        paths=planned.paths,
        space=task.space,
        waits_for=blockers_of(draft, kept),
        is_=state,
    )
    plain = _of_row(task, waits, state)
    return as_it_is if changed == plain else changed


def _of_row(task: Task, waits: tuple[int, ...], state: str) -> PlanLine:
    return PlanLine(
        number=task.number,
        ref=task.ref,
        subject=task.subject,
        description=task.description,
        criteria=task.acceptance_criteria,
        priority=task.priority,
        labels=task.labels,
        paths=task.paths,
        space=task.space,
        waits_for=waits,
        is_=state,
    )


def _state(draft: PlanDraft, task: Task, kept: KeptTask | None) -> str:
    if task.state is TaskState.PROPOSED:
        return "new"
    if task.state is TaskState.PENDING:
        return "to be cancelled" if kept is None and is_left_out(draft, task) else "as it is"
    return "in progress" if task.state is TaskState.IN_PROGRESS else "done"


def is_left_out(draft: PlanDraft, task: Task) -> bool:
    """Whether a plan cancels a task that nobody has begun: not where the task is younger than the plan."""
    named = {item.number for item in draft.tasks}
    return not draft.still_holds and task.number not in named and task.created_at <= draft.at


def blockers_of(draft: PlanDraft, kept: KeptTask) -> tuple[int, ...]:
    """The numbers of the tasks that one waits for."""
    places = {place: item.number for place, item in enumerate(draft.tasks, start=1)}
    return tuple(sorted(places[place] for place in kept.planned.blocked_by if place in places))


def in_order(found: Sequence[PlanLine]) -> tuple[PlanLine, ...]:
    """Those first that can be done first: what nothing stands before, the most urgent of them first."""
    left = {item.number: item for item in sorted(found, key=_urgency)}
    ordered = list[PlanLine]()
    while left:
        ready = [item for item in left.values() if not (set(item.waits_for) & left.keys()) - {item.number}]
        following = ready[0] if ready else next(iter(left.values()))
        ordered.append(left.pop(following.number))
    return tuple(ordered)


_URGENCY = {"urgent": 0, "high": 1, "normal": 2, "low": 3}


def _urgency(item: PlanLine) -> tuple[int, int]:
    return _URGENCY.get(item.priority, 2), item.number


def digest_of(text: str, found: Sequence[PlanLine]) -> str:
    """Of a plan with its tasks, whatever state these are in."""
    kept = sorted((item for item in found if item.is_ != "to be cancelled"), key=lambda item: item.number)
    told = [
        (
            *(item.number, item.subject, item.description, item.criteria, item.priority),
            *(item.labels, item.paths, item.space, item.waits_for),
        )
        for item in kept
    ]
    return sha256(json.dumps([text.strip(), told]).encode()).hexdigest()[:16]


def changes_nothing(draft: PlanDraft, found: Sequence[PlanLine]) -> bool:
    """Whether everything stays as it is."""
    is_same_text = draft.text.strip() == draft.base_text.strip()
    return is_same_text and not any(item.is_ in ("new", "changed", "to be cancelled") for item in found)


def to_do(found: Sequence[PlanLine]) -> int:
    """How many tasks there are once it is approved, without those that are done."""
    return sum(item.is_ not in ("done", "to be cancelled") for item in found)


def title(found: Sequence[PlanLine]) -> str:
    """What a person is asked."""
    return f"Plan ready: {count(to_do(found), 'task')}"


def as_markdown(found: Sequence[PlanLine]) -> str:
    """plan/tasks.md, whole, for sessions and for the evidence."""
    parts = ["# Tasks, in the order in which they can be done"]
    for item in found:
        told = [f"## {item.ref} {item.subject} ({item.is_})", _facts(item, plain=True)]
        if item.description:
            told.append(item.description)
        told.append("\n".join(f"- [ ] {criterion}" for criterion in item.criteria))
        parts += filter(None, told)
    return "\n\n".join(parts) + "\n"


def _facts(item: PlanLine, *, plain: bool = False) -> str:
    prefix = item.ref.rpartition(".")[0]
    facts = [f"priority {item.priority}"]
    if item.waits_for:
        facts.append("waits for " + ", ".join(f"{prefix}.{number}" for number in item.waits_for))
    if item.paths:
        facts.append(
            "writes " + ", ".join(f"`{path}`" if plain else defused_line(path) for path in item.paths)
        )
    if item.labels:
        facts.append("labels " + ", ".join(item.labels if plain else map(defused_line, item.labels)))
    return "; ".join(facts)


def gate_body(draft: PlanDraft, found: Sequence[PlanLine], own: str) -> str:
    """What people read at the gate: the plan, then its tasks in their order."""
    parts = [_first_words(draft)]
    elsewhere = sorted({item.space for item in found if item.space.casefold() != own.casefold()})
    if elsewhere:
        parts.append(f"**Some tasks are in other repositories: {', '.join(map(defused_line, elsewhere))}.**")
    text, cut = draft.text[:SHOWN_TEXT], len(draft.text) - SHOWN_TEXT
    more = f"\n\n{cut:,} more characters are in the job's evidence." if cut > 0 else ""
    parts.append(f"plan.md:\n\n{code_block(text, limit=SHOWN_TEXT + 1)}{more}")
    parts.append("The tasks, in the order in which they can be done:")
    listed, left = list[str](), SHOWN_CHARS
    for item in found:
        told = _shown(item, own, criteria=left > 0)
        listed.append(told)
        left -= len(told)
    parts.append("\n".join(listed))
    return "\n\n".join(parts)


def _first_words(draft: PlanDraft) -> str:
    edited = (
        "**Changed since you looked: a person edited the plan or its tasks.** " if draft.is_edited else ""
    )
    return (
        f"{edited}A lead proposes this plan. Approved, its tasks are worked on, each as an issue with a pull request of its own. "
        "Rejected, the lead plans again, and reads your words. Tasks can be edited before you answer."
    )


def _cut(text: str) -> str:
    """The first words of a description: they become the issue, which a session goes by."""
    one = " ".join(text.split())
    return (
        one if len(one) <= SHOWN_DESCRIPTION else f"{one[:SHOWN_DESCRIPTION]} … (whole in the job's evidence)"
    )


def _shown(item: PlanLine, own: str, *, criteria: bool) -> str:
    where = "" if item.space.casefold() == own.casefold() else f" in {defused_line(item.space)}"
    told = [f"- **{item.ref}** {defused_line(item.subject)} ({item.is_}{where}): {_facts(item)}"]
    shown = item.criteria[:SHOWN_CRITERIA] if criteria and item.is_ not in ("done", "to be cancelled") else ()
    if item.description and shown:
        told.append(f"  {defused_line(_cut(item.description))}")
    told += [f"  - {defused_line(criterion)}" for criterion in shown]
    if len(item.criteria) > len(shown) > 0:
        told.append(f"  - and {len(item.criteria) - len(shown)} more")
    return "\n".join(told)
