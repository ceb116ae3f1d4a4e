"""What is begun: ready tasks alone, by priority, within the limits, in fair turns; and what is not begun says why."""

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import Scope
from overlord.domain.budgets.budget import NANO, Cost
from overlord.domain.decision import Subject
from overlord.domain.job import JobState
from overlord.domain.portfolio.cycle.action import AssignTask, RequestPlan, SayWaits
from overlord.domain.portfolio.cycle.assign import NO_TASKS, assign
from overlord.domain.portfolio.cycle.decide import decide
from overlord.domain.portfolio.initiative import InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task
from overlord.domain.portfolio.view import PortfolioView
from tests.portfolio_views import (
    a_job_view,
    a_link,
    a_space,
    a_task,
    a_view,
    an_escalation,
    an_initiative,
    at_work,
)
from tests.records import NOW, REPO

WEB = "acme/web"
S = InitiativeState


def begun(view: PortfolioView) -> list[int]:
    return [item.task_id for item in assign(view) if isinstance(item, AssignTask)]


def waits(view: PortfolioView) -> dict[int, str]:
    return {
        item.task_id: item.waits
        for item in assign(view)
        if isinstance(item, SayWaits) and item.task_id is not None
    }


def goals_wait(view: PortfolioView) -> dict[int, str]:
    return {
        item.initiative_id: item.waits
        for item in assign(view)
        if isinstance(item, SayWaits) and item.initiative_id is not None and item.waits
    }


# Order


def test_urgent_tasks_and_initiatives_first_then_what_lets_most_go_on_then_the_older() -> None:
    other = an_initiative(2, priority=Priority.HIGH)
    tasks = [
        a_task(1),
        a_task(2, priority=Priority.HIGH),
        a_task(3),
        a_task(4),
        a_task(5, initiative_id=2, priority=Priority.HIGH),
    ]
    spaces = {REPO: a_space(most_pulls=9)}
    view = a_view(*tasks, initiatives=[an_initiative(), other], links=[a_link(3, 4)], spaces=spaces)
    assert begun(view) == [5, 2, 3, 1]
    assert waits(view) == {4: "waits for i1.3"}


@given(st.integers(0, 2**32))
def test_the_order_of_the_rows_changes_nothing(seed: int) -> None:
    tasks = [
        a_task(row, priority=[*Priority][row % 4], paths=(f"src/{row % 3}/**",), space=(REPO, WEB)[row % 2])
        for row in range(1, 12)
    ]
    given: dict[str, Any] = {
        "links": [a_link(1, 2), a_link(2, 3)],
        "spaces": {REPO: a_space(), WEB: a_space(WEB)},
    }
    shuffled = list(tasks)
    random.Random(seed).shuffle(shuffled)
    first, again = a_view(*tasks, **given), a_view(*shuffled, **given)
    assert (begun(first), waits(first)) == (begun(again), waits(again))


# What keeps a task from being begun


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"initiatives": [an_initiative(state=S.PAUSED)]}, "its initiative is paused"),
        ({"initiatives": [an_initiative(state=S.PLANNING)]}, "waits for the plan of its initiative"),
        ({"initiatives": [an_initiative(state=S.QUEUED)]}, "waits for the plan of its initiative"),
        ({"spaces": {}}, "its repository is not managed by Overlord any more"),
        ({"spaces": {REPO: a_space(pause="alice paused it", is_turn=False)}}, "alice paused it"),
        (
            {"escalations": [an_escalation(task_id=1)]},
            "waits for e1: Should the page have a theme?",
        ),
        (
            {"escalations": [an_escalation(initiative_id=1, blocks_initiative=True)]},
            "waits for e1: Should the page have a theme?",
        ),
        ({"asked": frozenset({("task_ended", "i1.1")})}, "waits for a person's answer about it"),
        ({"links": [a_link(7, 1)]}, "waits for another task"),
        ({"spaces": {REPO: a_space(most_pulls=0)}}, f"waits for one of 0 open pull requests of {REPO}"),
        (
            {"spaces": {REPO: a_space(pulls=1, most_pulls=1)}},
            f"waits for one of 1 open pull request of {REPO}",
        ),
    ],
)
def test_what_keeps_it_is_said(given: dict[str, Any], why: str) -> None:
    view = a_view(a_task(), **given)
    assert (begun(view), waits(view)) == ([], {1: why})


def test_an_escalation_that_blocks_nothing_else_keeps_nothing_else() -> None:
    assert begun(a_view(a_task(1), a_task(2), escalations=[an_escalation(task_id=1)])) == [2]
    assert begun(a_view(a_task(1), escalations=[an_escalation(initiative_id=1)])) == [1]


def test_a_question_whether_a_task_is_stale_does_not_keep_it() -> None:
    assert begun(a_view(a_task(), asked=frozenset({(Subject.STALE_TASK, "i1.1")}))) == [1]


def test_a_task_is_ready_once_all_that_it_waits_for_has_ended() -> None:
    tasks = [at_work(1), *(a_task(row) for row in (3, 4, 5, 6, 7))]
    links = [a_link(1, 7), a_link(2, 7), *(a_link(row, 7) for row in (3, 4, 5, 6))]
    view = a_view(*tasks, links=links, done=frozenset({2}), spaces={REPO: a_space(most_pulls=9)})
    assert waits(view) == {7: "waits for i1.1, i1.3, i1.4 and 2 more"}
    assert 7 in begun(replace(view, done=frozenset({1, 2, 3, 4, 5, 6})))


def test_the_budget_of_an_initiative_ends_what_is_begun() -> None:
    cost = {1: Cost(tokens=2_000_000, nusd=5 * NANO)}
    for limit, why in (
        ({"usd": 5.0}, "the initiative's budget of $5.00 is spent"),
        ({"tokens": 2_000_000}, "the initiative's budget of 2,000,000 tokens is spent"),
    ):
        assert waits(a_view(a_task(), costs=cost, spaces={REPO: a_space(**limit)})) == {1: why}
    own = an_initiative(nusd_budget=6 * NANO, token_budget=3_000_000)
    spaces = {REPO: a_space(usd=5.0, tokens=1)}
    assert begun(a_view(a_task(), costs=cost, spaces=spaces, initiatives=[own])) == [1]
    unknown = {1: Cost(tokens=1, nusd=None)}
    assert begun(a_view(a_task(), costs=unknown, spaces={REPO: a_space(usd=5.0)})) == [1]


# Places


@pytest.mark.parametrize(
    ("state", "pulls", "left"),
    [
        (None, 0, 1),
        (JobState.QUEUED, 0, 1),
        (JobState.RUNNING, 1, 1),
        (JobState.IN_REVIEW, 1, 1),
        (JobState.WAITING, 0, 2),
        (JobState.WAITING, 1, 1),
    ],
)
def test_a_task_at_work_takes_one_place_and_none_while_its_job_waits_without_a_pull_request(
    state: JobState | None, pulls: int, left: int
) -> None:
    jobs = {} if state is None else {(REPO, 1): a_job_view(1, state)}
    spaces = {REPO: a_space(pulls=pulls, most_pulls=2)}
    view = a_view(at_work(1), a_task(2), a_task(3), a_task(4), jobs=jobs, spaces=spaces)
    assert len(begun(view)) == left


# Fair turns


def test_spaces_take_turns_and_who_was_served_last_comes_last() -> None:
    tasks = [a_task(row) for row in (1, 2, 3)] + [a_task(row, space=WEB) for row in (4, 5)]
    spaces = {REPO: a_space(), WEB: a_space(WEB)}
    assert begun(a_view(*tasks, spaces=spaces)) == [1, 4, 2, 5, 3]
    last = {REPO: NOW, WEB: NOW - timedelta(hours=1)}
    assert begun(a_view(*tasks, spaces=spaces, last_served=last)) == [4, 1, 5, 2, 3]


# Path leases


def leased(*paths: tuple[str, ...], **given: Any) -> list[Task]:
    return [a_task(row, paths=one, **given) for row, one in enumerate(paths, 1)]


def test_two_tasks_that_may_write_the_same_path_wait_for_each_other() -> None:
    view = a_view(*leased(("src/api/**",), ("src/**",), ("docs/**",)))
    assert begun(view) == [1, 3]
    assert waits(view) == {2: "waits for i1.1, which may write src/api/x too"}


def test_a_lease_holds_while_its_task_is_at_work_or_its_job_waits() -> None:
    going = at_work(1, paths=("src/**",))
    for jobs in ({}, {(REPO, 1): a_job_view(3, JobState.WAITING)}):
        view = a_view(going, a_task(2, paths=("src/a.py",)), jobs=jobs)
        assert waits(view) == {2: "waits for i1.1, which may write src/a.py too"}


def test_jobs_that_are_no_tasks_hold_what_their_sessions_may_write() -> None:
    job = a_job_view(9, scope=Scope(patterns=("src/**",)))
    view = a_view(a_task(1, paths=("src/a.py",)), open_jobs=[(REPO, job), (WEB, job)])
    assert waits(view) == {1: "waits for job 9, which may write src/a.py too"}
    assert begun(a_view(a_task(1, paths=("src/a.py",)), open_jobs=[(WEB, job)])) == [1]


def test_a_tasks_job_whose_scope_was_widened_holds_that_too() -> None:
    jobs = {(REPO, 1): a_job_view(3, scope=Scope(patterns=("docs/**",)))}
    view = a_view(at_work(1, paths=("src/**",)), a_task(2, paths=("docs/a.md",)), jobs=jobs)
    assert waits(view) == {2: "waits for i1.1, which may write docs/a.md too"}


def test_without_paths_or_with_leases_turned_off_nobody_waits_for_paths() -> None:
    assert begun(a_view(at_work(1, paths=("src/**",)), a_task(2))) == [2]
    off = {REPO: a_space(path_leases=False)}
    assert begun(a_view(at_work(1, paths=("src/**",)), a_task(2, paths=("src/**",)), spaces=off)) == [2]
    assert begun(a_view(*leased(("/../x",), ("src/**",)))) == [1, 2], "what cannot be read leases nothing"


# Planning


def planned(view: PortfolioView) -> list[int]:
    return [item.initiative_id for item in assign(view) if isinstance(item, RequestPlan)]


def test_one_initiative_of_a_space_is_planned_at_a_time_the_most_urgent_first() -> None:
    queued = [
        an_initiative(1, state=S.QUEUED),
        an_initiative(2, state=S.QUEUED, priority=Priority.HIGH),
        an_initiative(3, state=S.QUEUED, space=WEB),
    ]
    view = a_view(initiatives=queued, spaces={REPO: a_space(), WEB: a_space(WEB)})
    assert planned(view) == [2, 3]
    assert goals_wait(view) == {1: f"waits for the planning of another initiative of {REPO}"}
    going = an_initiative(4, state=S.PLANNING)
    assert planned(replace(view, initiatives=[*queued, going])) == [3]


def test_a_plan_that_has_to_be_looked_at_again_is_and_says_why_it_waits() -> None:
    again = an_initiative(replan="the API changed")
    assert list(assign(a_view(initiatives=[again]))) == [
        RequestPlan(initiative_id=1, reason="the API changed")
    ]
    spent = a_view(initiatives=[again], costs={1: Cost(tokens=9)}, spaces={REPO: a_space(tokens=5)})
    assert goals_wait(spent) == {1: "the initiative's budget of 5 tokens is spent"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"spaces": {}}, "its repository is not managed by Overlord any more"),
        ({"spaces": {REPO: a_space(pause="alice paused it")}}, "alice paused it"),
        ({"spaces": {REPO: a_space(is_turn=False)}}, "waits for the time of the schedule"),
    ],
)
def test_what_keeps_planning_is_said(given: dict[str, Any], why: str) -> None:
    view = a_view(initiatives=[an_initiative(state=S.QUEUED)], **given)
    assert (planned(view), goals_wait(view)) == ([], {1: why})


def test_an_initiative_without_a_task_says_so() -> None:
    assert goals_wait(a_view()) == {1: NO_TASKS}
    assert goals_wait(a_view(a_task())) == {}


# The whole


def test_what_is_said_already_is_not_said_again() -> None:
    view = a_view(a_task(waits="its initiative is paused"), initiatives=[an_initiative(state=S.PAUSED)])
    assert decide(view) == []


def test_what_was_answered_or_has_ended_comes_before_anything_is_begun() -> None:
    jobs = {(REPO, 1): a_job_view(1, JobState.CANCELLED, ending="stopped")}
    view = a_view(at_work(1, job_id=1), a_task(2), jobs=jobs)
    assert not any(isinstance(item, AssignTask) for item in decide(view))
