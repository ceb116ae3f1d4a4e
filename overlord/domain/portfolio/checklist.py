"""What has to hold before a session stops, before a task counts as done, and before a cycle ends: code asks, and gives its reasons.

Each reason is a sentence that whoever is kept can act on. What a session was given no tool for is not asked of it.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from overlord.domain.portfolio.task import MOST_NOTES_CHARS, AddressedCriterion, Task
from overlord.domain.text.plain import count, plain_line

_SHOWN = 5
_EMPTY = frozenset(
    {"done", "yes", "ok", "okay", "met", "passes", "works", "implemented", "addressed", "n/a", "todo"}
)
"""What is said of a criterion without saying anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleFacts:
    """A session that wants to stop: what it says, and what is on record of it."""

    is_blocked: bool
    """Whether it ends for a blocker, and not because it is done."""
    summary: str
    follow_ups: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    task: Task | None = None
    """None for a lead, and for a session that is of no initiative."""
    is_lead: bool = False
    plan_is_said: bool = False
    """Whether a lead proposed a plan, or said that the present one holds."""
    tasks_added: int = 0
    """By sessions of its job."""
    notes_kept: int = 0
    says_nothing_learned: bool = False
    escalations: int = 0
    """Of its job, those that were not withdrawn."""
    may_add_tasks: bool = True
    may_note: bool = True
    may_escalate: bool = True
    may_complete: bool = True


def idle_reasons(facts: IdleFacts) -> tuple[str, ...]:
    """Why a session may not stop yet, in the order of the six checks; none when it may."""
    checks = (
        _status(facts),
        _follow_ups(facts),
        _plan(facts),
        _learnings(facts),
        "" if facts.summary.strip() else "Say in `summary` what you did and what is left: it is your report.",
        _blockers(facts),
    )
    return tuple(reason for reason in checks if reason)


def _status(facts: IdleFacts) -> str:
    task = facts.task
    if task is None or facts.is_blocked or not facts.may_complete:
        return ""
    if task.completion_notes.strip() and task.is_addressed:
        return ""
    return (
        f"The completion of task {task.ref} is not on record: call `record_completion` with notes and what was done for each "
        "acceptance criterion, or end as blocked after you have called `escalate`."
    )


def _follow_ups(facts: IdleFacts) -> str:
    missing = len(facts.follow_ups) - facts.tasks_added
    if not facts.may_add_tasks or missing <= 0:
        return ""
    named = "; ".join(plain_line(text, limit=120) for text in facts.follow_ups[:_SHOWN])
    return (
        f"You name {count(len(facts.follow_ups), 'follow-up')} ({named}) and {facts.tasks_added} became tasks: call `add_task` for each, "
        "or leave out of your report what nobody is to do."
    )


def _plan(facts: IdleFacts) -> str:
    """Of a lead alone: in the plan of a task's initiative Overlord writes down the state by itself."""
    if not facts.is_lead or facts.plan_is_said or facts.is_blocked:
        return ""
    return (
        "The plan does not say the present state: call `propose_plan` with the text and tasks, or with `still_holds` where the "
        "present plan holds as it is."
    )


def _learnings(facts: IdleFacts) -> str:
    if not facts.may_note or facts.notes_kept or facts.says_nothing_learned:
        return ""
    told = " What you say of it in `learnings` is read by no later session." if facts.learnings else ""
    return (
        "Nothing is noted of what you learned: call `note_knowledge` for what the next session should know, or with "
        f"`nothing_learned` and why.{told}"
    )


def _blockers(facts: IdleFacts) -> str:
    if not facts.is_blocked or facts.escalations or not facts.may_escalate:
        return ""
    return "You end as blocked, and nobody was asked: call `escalate` with what you need, and what it blocks."


def completion_reasons(task: Task, notes: str, addressed: Sequence[AddressedCriterion]) -> tuple[str, ...]:
    """Why a completion of a task is not taken, by the two checks; none when it is."""
    reasons = list[str]()
    if not notes.strip():
        reasons.append("Give `notes`: what was done, and what the next one to work here should know.")
    elif len(notes) > MOST_NOTES_CHARS:
        reasons.append(f"Shorten `notes` to {MOST_NOTES_CHARS:,} characters: they have {len(notes):,}.")
    said, most = dict[int, list[str]](), len(task.acceptance_criteria)
    for item in addressed:
        said.setdefault(item.number, []).append(item.evidence)
    if odd := sorted(number for number in said if not 1 <= number <= most):
        there = f"it has {most}, counted from 1" if most else "it has none"
        reasons.append(f"Task {task.ref} has no acceptance criterion {_numbers(odd)}: {there}.")
    for number, criterion in enumerate(task.acceptance_criteria, start=1):
        if not any(_is_evidence(text, criterion) for text in said.get(number, ())):
            reasons.append(
                f"Say for acceptance criterion {number} (“{plain_line(criterion, limit=160)}”) where it can be seen that it holds: a test, "
                "a file, a command and what it prints."
            )
    return tuple(reasons)


def _is_evidence(text: str, criterion: str) -> bool:
    words = " ".join(re.findall(r"\w+", text.casefold()))
    return bool(words) and words not in _EMPTY and words != " ".join(re.findall(r"\w+", criterion.casefold()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownFacts:
    """What a cycle leaves that wants to end."""

    drafts: Collection[str] = ()
    """Escalations nobody looked at: `e5`."""
    orphaned: Collection[str] = ()
    """Tasks that are in progress, with no open job and none under way: `i3.4`."""
    unprocessed: Collection[str] = ()
    """Jobs that have ended and whose results nobody looked at."""


def shutdown_reasons(facts: ShutdownFacts) -> tuple[str, ...]:
    """Why a cycle may not end yet, by the three checks; none when it may."""
    checks = (
        (facts.drafts, "Draft escalations are not reviewed"),
        (facts.orphaned, "Tasks are in progress and no job works on them"),
        (facts.unprocessed, "Results of jobs that have ended are not processed"),
    )
    return tuple(f"{text}: {_named(what)}." for what, text in checks if what)


def _named(what: Collection[str]) -> str:
    names = list(what)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _numbers(numbers: Sequence[int]) -> str:
    return _named([str(number) for number in numbers])
