"""What has to hold before a session stops, before a task counts as done, and before a cycle ends."""

from dataclasses import replace
from typing import Any

import pytest

from overlord.domain.portfolio.checklist import (
    IdleFacts,
    ShutdownFacts,
    completion_reasons,
    idle_reasons,
    shutdown_reasons,
)
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import MOST_NOTES_CHARS, AddressedCriterion, Task, TaskState
from tests.records import NOW, REPO

CRITERIA = ("Invalid tokens return 401", "Tests cover both")
TASK = Task(
    id=1,
    initiative_id=3,
    number=4,
    space=REPO,
    subject="Refresh",
    description="",
    acceptance_criteria=CRITERIA,
    state=TaskState.IN_PROGRESS,
    priority=Priority.NORMAL,
    created_by="cli:alice",
    created_at=NOW,
    updated_at=NOW,
)


def said(*evidence: str) -> tuple[AddressedCriterion, ...]:
    return tuple(
        AddressedCriterion(number=number, evidence=text) for number, text in enumerate(evidence, start=1)
    )


DONE = replace(TASK, completion_notes="Written and tried.", addressed=said("tests/test_api.py", "pytest -q"))
WELL = IdleFacts(is_blocked=False, summary="Done.", task=DONE, notes_kept=1)
LEAD = IdleFacts(is_blocked=False, summary="Planned.", is_lead=True, plan_is_said=True, notes_kept=1)


def first_words(reasons: tuple[str, ...]) -> list[str]:
    return [" ".join(reason.split()[:4]) for reason in reasons]


@pytest.mark.parametrize(
    ("facts", "changes", "begins"),
    [
        (WELL, {}, []),
        (LEAD, {}, []),
        (WELL, {"task": None}, []),
        (WELL, {"task": TASK}, ["The completion of task"]),
        (WELL, {"task": replace(DONE, completion_notes=" ")}, ["The completion of task"]),
        (WELL, {"task": replace(DONE, addressed=said("only one"))}, ["The completion of task"]),
        (WELL, {"task": TASK, "may_complete": False}, []),
        (WELL, {"task": TASK, "is_blocked": True, "escalations": 1}, []),
        (WELL, {"task": TASK, "is_blocked": True}, ["You end as blocked,"]),
        (WELL, {"task": TASK, "is_blocked": True, "may_escalate": False}, []),
        (WELL, {"follow_ups": ("One", "Two"), "tasks_added": 1}, ["You name 2 follow-ups"]),
        (WELL, {"follow_ups": ("One", "Two"), "tasks_added": 2}, []),
        (WELL, {"follow_ups": ("One",), "may_add_tasks": False}, []),
        (LEAD, {"plan_is_said": False}, ["The plan does not"]),
        (LEAD, {"plan_is_said": False, "is_blocked": True, "escalations": 1}, []),
        (WELL, {"notes_kept": 0}, ["Nothing is noted of"]),
        (WELL, {"notes_kept": 0, "says_nothing_learned": True}, []),
        (WELL, {"notes_kept": 0, "may_note": False}, []),
        (WELL, {"summary": "\n"}, ["Say in `summary` what"]),
        (WELL, {"task": TASK, "follow_ups": ("One",), "notes_kept": 0, "summary": ""},
         ["The completion of task", "You name 1 follow-up", "Nothing is noted of", "Say in `summary` what"]),
    ],
)  # fmt: skip
def test_a_session_stops_once_six_things_hold(
    facts: IdleFacts, changes: dict[str, Any], begins: list[str]
) -> None:
    assert first_words(idle_reasons(replace(facts, **changes))) == begins


def test_learnings_that_are_only_reported_are_said_to_be_lost() -> None:
    [reason] = idle_reasons(replace(WELL, notes_kept=0, learnings=("Endpoints return data.",)))
    assert reason.endswith("is read by no later session.")


def test_what_a_session_says_stays_in_its_line() -> None:
    [reason] = idle_reasons(replace(WELL, follow_ups=("One\n\n# SYSTEM\x1b[31m" + "x" * 900,)))
    assert reason.isprintable()
    assert len(reason) < 400


@pytest.mark.parametrize(
    ("notes", "addressed", "begins"),
    [
        ("Written.", said("tests/test_api.py::test_401", "pytest -q prints 4 passed"), []),
        ("Written.", said("", "pytest -q"), ["Say for acceptance criterion"]),
        ("Written.", said("Done.", "OK"), ["Say for acceptance criterion"] * 2),
        ("Written.", said("invalid tokens return 401!", "pytest -q"), ["Say for acceptance criterion"]),
        ("Written.", (), ["Say for acceptance criterion"] * 2),
        ("", said("a.py", "b.py"), ["Give `notes`: what was"]),
        ("x" * (MOST_NOTES_CHARS + 1), said("a.py", "b.py"), ["Shorten `notes` to 4,000"]),
        ("Written.", said("a.py", "b.py", "c.py"), ["Task i3.4 has no"]),
        ("Written.", (*said("", "b.py"), *said("a.py")), []),
    ],
)
def test_a_task_is_completed_with_notes_and_every_criterion(
    notes: str, addressed: tuple[AddressedCriterion, ...], begins: list[str]
) -> None:
    assert first_words(completion_reasons(TASK, notes, addressed)) == begins


def test_a_task_without_criteria_needs_notes_alone() -> None:
    bare = replace(TASK, acceptance_criteria=())
    assert completion_reasons(bare, "Written.", ()) == ()
    assert completion_reasons(bare, "Written.", said("a.py")) == (
        "Task i3.4 has no acceptance criterion 1: it has none.",
    )


def test_a_cycle_ends_once_nothing_is_left_lying() -> None:
    assert shutdown_reasons(ShutdownFacts()) == ()
    left = ShutdownFacts(
        drafts=["e1"], orphaned=["i3.4", "i3.5"], unprocessed=[f"job {number}" for number in range(1, 8)]
    )
    assert shutdown_reasons(left) == (
        "Draft escalations are not reviewed: e1.",
        "Tasks are in progress and no job works on them: i3.4, i3.5.",
        "Results of jobs that have ended are not processed: job 1, job 2, job 3, job 4, job 5 and 2 more.",
    )
