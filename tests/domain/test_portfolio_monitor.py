"""What follows from how the jobs of tasks and leads stand."""

from typing import Any

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.job import JobState
from overlord.domain.portfolio.cycle.action import Action, Ask, ChangeInitiative, ChangeTask, NoteJob
from overlord.domain.portfolio.cycle.monitor import NOT_MANAGED, ending_of, monitor
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.task import ENDED, AddressedCriterion, TaskState
from overlord.domain.portfolio.view import PortfolioView
from tests.portfolio_views import a_job_view, a_task, a_view, an_initiative, at_work
from tests.records import REPO

ADDRESSED = (
    AddressedCriterion(number=1, evidence="calc.py"),
    AddressedCriterion(number=2, evidence="test_x"),
)
DONE: dict[str, Any] = {"completion_notes": "Done in calc.py.", "addressed": ADDRESSED}


def found(view: PortfolioView) -> list[Action]:
    return list(monitor(view))


def ended(
    state: JobState = JobState.CANCELLED, ending: str = "pr_closed", **given: object
) -> dict[object, object]:
    return {(REPO, 1): a_job_view(1, state, ending=ending, **given)}


def test_a_job_at_work_is_noted_once() -> None:
    jobs = {(REPO, 1): a_job_view(7)}
    assert found(a_view(at_work(), jobs=jobs)) == [NoteJob(job_id=7, task_id=1)]
    assert found(a_view(at_work(job_id=7), jobs=jobs)) == []


def test_merged_work_with_notes_and_every_criterion_is_done() -> None:
    [done] = found(a_view(at_work(job_id=1, **DONE), jobs=ended(JobState.COMPLETED, "merged")))
    assert done == ChangeTask(
        task_id=1, state=TaskState.DONE, reason="its work was merged", notes="Done in calc.py."
    )


def test_a_sessions_last_words_are_its_notes_where_it_wrote_none() -> None:
    task = at_work(job_id=1, addressed=ADDRESSED)
    [done] = found(a_view(task, jobs=ended(JobState.COMPLETED, "merged", summary="All of it.")))
    assert isinstance(done, ChangeTask) and (done.state, done.notes) == (TaskState.DONE, "All of it.")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"completion_notes": "x", "addressed": ADDRESSED[:1]}, ("2. it is tested",)),
        ({"completion_notes": "x"}, ("1. it works", "2. it is tested")),
        ({"addressed": (ADDRESSED[0], AddressedCriterion(number=2, evidence="  "))}, ("2. it is tested",)),
        ({"addressed": ADDRESSED}, ("nothing was written down",)),
    ],
)
def test_merged_work_of_which_not_all_was_said_is_asked_about(
    given: dict[str, Any], named: tuple[str, ...]
) -> None:
    task, jobs = at_work(job_id=1, **given), ended(JobState.COMPLETED, "merged")
    [asked] = found(a_view(task, jobs=jobs))
    assert isinstance(asked, Ask) and asked.subject is Subject.TASK_MERGED
    assert asked.title == "i1.1 Do part 1: does the merged work do all of it?"
    assert asked.verbs == (Verb.ACCEPT, Verb.ONE_MORE, Verb.DROP)
    assert all(words in asked.body for words in named)
    assert found(a_view(task, jobs=jobs, asked=frozenset({(Subject.TASK_MERGED, "i1.1")}))) == []


@pytest.mark.parametrize(
    "ending", ["stopped", "dropped", "taken_over", "pr_closed", "lifetime_exceeded", "new"]
)
def test_a_job_without_a_merge_is_asked_about_and_the_task_waits(ending: str) -> None:
    back, asked = found(a_view(at_work(job_id=1), jobs=ended(ending=ending)))
    assert back == ChangeTask(task_id=1, state=TaskState.PENDING, reason=ending_of(ending), is_failed=True)
    assert isinstance(asked, Ask) and asked.subject is Subject.TASK_ENDED
    assert asked.title == f"i1.1 Do part 1: {ending_of(ending)}; what now?"
    assert "Other tasks go on." in asked.body


def test_an_issue_that_is_refused_is_asked_about() -> None:
    view = a_view(at_work(), troubles={1: "issues are turned off there"})
    back, asked = found(view)
    assert isinstance(back, ChangeTask) and back.reason == "issues are turned off there"
    assert isinstance(asked, Ask) and "its issue could not be taken up" in asked.title


def test_a_question_whether_it_is_stale_keeps_nobody_from_asking_what_now() -> None:
    stale = frozenset({(Subject.STALE_TASK, "i1.1")})
    assert [type(item) for item in found(a_view(at_work(job_id=1), jobs=ended(), asked=stale))] == [
        ChangeTask,
        Ask,
    ]


def test_a_task_of_a_repository_that_is_gone_goes_back() -> None:
    [back] = found(a_view(at_work(issue_number=None), spaces={}))
    assert back == ChangeTask(task_id=1, state=TaskState.PENDING, reason=NOT_MANAGED)
    jobs = {(REPO, 1): a_job_view(1)}
    assert found(a_view(at_work(job_id=1), spaces={}, jobs=jobs)) == [], "its job goes on"


def test_what_is_worked_on_of_an_ended_initiative_ends_with_its_job() -> None:
    given: dict[str, Any] = {"initiatives": [], "jobs": ended()}
    [back] = found(a_view(at_work(job_id=1), **given))
    assert isinstance(back, ChangeTask) and back.state is TaskState.CANCELLED
    assert back.reason == "its initiative has ended, and its pull request was closed without a merge"
    jobs = ended(JobState.COMPLETED, "merged")
    [done] = found(a_view(at_work(job_id=1, **DONE), initiatives=[], jobs=jobs))
    assert isinstance(done, ChangeTask) and done.state is TaskState.DONE


def test_an_issue_that_somebody_has_worked_on_before_its_turn_is_in_progress() -> None:
    task = a_task(issue_number=1)
    [begun] = found(a_view(task, jobs={(REPO, 1): a_job_view(4)}))
    assert begun == ChangeTask(task_id=1, state=TaskState.IN_PROGRESS, reason="job 4 works on its issue")
    assert found(a_view(task, jobs=ended())) == []


def test_a_lead_that_ends_without_a_plan_rests_its_initiative() -> None:
    planning = an_initiative(state=InitiativeState.PLANNING, issue_number=1, job_id=1, plan_digest="")
    view = a_view(initiatives=[planning], jobs=ended(ending="stopped"))
    rests, asked = found(view)
    assert isinstance(rests, ChangeInitiative) and rests.state is InitiativeState.PAUSED
    assert isinstance(asked, Ask) and asked.subject is Subject.PLANNING_ENDED
    assert "a person stopped its job" in asked.body
    assert found(a_view(initiatives=[planning], jobs={(REPO, 1): a_job_view(1)})) == []


def test_a_lead_of_a_repository_that_is_gone_waits_for_it() -> None:
    planning = an_initiative(state=InitiativeState.PLANNING)
    [back] = found(a_view(initiatives=[planning], spaces={}))
    assert back == ChangeInitiative(initiative_id=1, state=InitiativeState.QUEUED, reason=NOT_MANAGED)


@pytest.mark.parametrize(
    ("states", "given", "state"),
    [
        ((TaskState.DONE, TaskState.CANCELLED), {}, InitiativeState.DONE),
        ((TaskState.CANCELLED, TaskState.CANCELLED), {}, InitiativeState.CANCELLED),
        ((TaskState.DONE, TaskState.PENDING), {}, None),
        ((TaskState.DONE, TaskState.PROPOSED), {}, None),
        ((TaskState.DONE,), {"replan": "the API changed"}, None),
        ((), {}, None),
    ],
)
def test_an_initiative_ends_with_its_tasks(
    states: tuple[TaskState, ...], given: dict[str, Any], state: InitiativeState | None
) -> None:
    tasks = [a_task(row, state=one) for row, one in enumerate(states, 1) if one not in ENDED]
    ended = frozenset(one for one in states if one in ENDED)
    view = a_view(*tasks, initiatives=[an_initiative(**given)], ended={1: ended} if ended else {})
    said = found(view)
    assert [item.state for item in said if isinstance(item, ChangeInitiative)] == ([state] if state else [])
