"""What a cycle wants by itself: each thing once, as much as a space has room for, and proposed where people decide."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from overlord.domain.decision import Subject, Verb
from overlord.domain.portfolio.cycle.action import Action, Ask, ChangeTask, OpenInitiative
from overlord.domain.portfolio.cycle.generate import generate, goal_key, stale_about
from overlord.domain.portfolio.files.goals import Goal, read_overview
from overlord.domain.portfolio.initiative import InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.task import Task
from overlord.domain.portfolio.view import Autonomy, Conflict, PortfolioView
from tests.portfolio_views import LONG_AGO, a_link, a_space, a_task, a_view, an_escalation, an_initiative
from tests.records import NOW, REPO

GOALS = (
    Goal(title="Faster", priority=Priority.LOW),
    Goal(title="Safer"),
    Goal(title="Smaller", priority=Priority.HIGH),
)
P = Priority


def opened(view: PortfolioView) -> list[OpenInitiative]:
    return [item for item in generate(view) if isinstance(item, OpenInitiative)]


def of(*goals: Goal, **given: Any) -> PortfolioView:
    return a_view(initiatives=[], spaces={REPO: a_space(goals=goals, **given)})


def stale(task: Task, *, autonomy: Autonomy = Autonomy.PROACTIVE, **given: Any) -> list[Action]:
    return list(generate(a_view(task, **{"spaces": {REPO: a_space(autonomy=autonomy)}, **given})))


# Goals


def test_a_goal_without_an_initiative_becomes_one_the_most_urgent_first() -> None:
    assert [item.title for item in opened(of(*GOALS))] == ["Smaller", "Safer", "Faster"]
    assert not any(item.is_proposed for item in opened(of(*GOALS)))


def test_a_goal_becomes_an_initiative_once() -> None:
    first = opened(of(*GOALS))
    known = frozenset(item.key for item in first[:2])
    assert [item.title for item in opened(replace(of(*GOALS), keys=known))] == ["Faster"]


def test_goals_that_are_done_are_not_wanted() -> None:
    assert opened(of(replace(GOALS[0], is_done=True))) == []


def test_the_same_goal_in_other_letters_and_blanks_is_the_same_and_a_renamed_one_another() -> None:
    first, again, renamed = (
        read_overview(f"## Goals\n\n{line}\n").goals[0]
        for line in (
            "- Rotate refresh tokens",
            "*   rotate  Refresh tokens [priority: high]",
            "- Rotate tokens",
        )
    )
    assert goal_key(REPO, first) == goal_key(REPO, again)
    assert goal_key(REPO, first) != goal_key(REPO, renamed)
    assert goal_key(REPO, first) != goal_key("acme/other", first)


def test_keys_are_the_same_in_every_run() -> None:
    assert goal_key("acme/api", Goal(title="Faster")) == "overview:de250c5e88c14958244280b9"


@pytest.mark.parametrize("state", [*InitiativeState])
def test_no_more_are_opened_than_a_space_has_room_for(state: InitiativeState) -> None:
    counts = state not in (InitiativeState.PAUSED, InitiativeState.DONE, InitiativeState.CANCELLED)
    view = replace(of(*GOALS, open_initiatives=2), initiatives=[an_initiative(state=state)])
    assert len(opened(view)) == (1 if counts else 2)


def test_cautious_spaces_propose_and_a_person_is_asked_once() -> None:
    view = of(GOALS[0], autonomy=Autonomy.CAUTIOUS)
    assert [item.is_proposed for item in opened(view)] == [True]
    proposed = an_initiative(
        state=InitiativeState.PROPOSED, source=InitiativeSource.OVERVIEW, goal="> quoted\nso"
    )
    [asked] = generate(a_view(initiatives=[proposed]))
    assert isinstance(asked, Ask) and asked.subject is Subject.INITIATIVE
    assert asked.title == "i1 Goal 1: is this initiative wanted?"
    assert asked.body.startswith("OVERVIEW.md has it as a goal, and there is no initiative for it.\n\n> ")
    assert list(generate(a_view(initiatives=[proposed], asked=frozenset({("initiative", "i1")})))) == []


def test_spaces_that_are_paused_or_not_on_turn_want_nothing() -> None:
    assert opened(of(*GOALS, autonomy=Autonomy.SCHEDULED, is_turn=False)) == []
    assert len(opened(of(*GOALS, autonomy=Autonomy.SCHEDULED, is_turn=True))) == 3


def test_each_space_has_its_own_room() -> None:
    other = "acme/web"
    view = a_view(
        initiatives=[],
        spaces={other: a_space(other, goals=GOALS[:1]), REPO: a_space(goals=GOALS[:1])},
    )
    assert [item.space for item in opened(view)] == sorted([REPO, other])


# Tests that fail at base, and thin knowledge


def test_tests_that_fail_at_base_come_first() -> None:
    fix, *rest = opened(of(*GOALS, red_at_base="tests/test_a.py::test_x", open_initiatives=2))
    assert (fix.source, fix.priority, len(rest)) == (InitiativeSource.TESTS, P.HIGH, 1)
    assert "tests/test_a.py::test_x" in fix.goal


def test_other_tests_that_fail_make_no_second_initiative_beside_the_first() -> None:
    view = replace(of(red_at_base="test_y"), initiatives=[an_initiative(source=InitiativeSource.TESTS)])
    assert opened(view) == []


def test_thin_knowledge_is_proposed_after_the_first_work_and_goals() -> None:
    common: dict[str, Any] = {"notes": 1, "thin_notes": 3}
    done = replace(GOALS[0], is_done=True)
    [found] = opened(of(done, has_worked=True, **common))
    assert (found.source, found.is_proposed) == (InitiativeSource.KNOWLEDGE, True)
    assert opened(of(done, has_worked=False, **common)) == []
    assert opened(of(has_worked=True, **common)) == [], "nobody has said what the space is for"
    assert opened(of(done, has_worked=True, notes=3, thin_notes=3)) == []


# Stale tasks


def test_a_task_that_waits_for_long_becomes_more_urgent() -> None:
    [more] = stale(a_task(updated_at=LONG_AGO, priority=P.LOW))
    assert isinstance(more, ChangeTask)
    assert (more.priority, more.reason) == (P.NORMAL, "it has waited for 30 days")


@pytest.mark.parametrize("priority", [P.HIGH, P.URGENT])
def test_one_that_is_urgent_enough_is_asked_about(priority: Priority) -> None:
    [asked] = stale(a_task(updated_at=LONG_AGO, priority=priority))
    assert isinstance(asked, Ask) and asked.subject is Subject.STALE_TASK
    assert asked.title == "i1.1 Do part 1: it has waited for 30 days; is it still wanted?"
    assert asked.verbs == (Verb.RETRY, Verb.DROP)


def test_cautious_spaces_change_no_priority() -> None:
    task = a_task(updated_at=LONG_AGO, priority=P.LOW)
    assert [type(item) for item in stale(task, autonomy=Autonomy.CAUTIOUS)] == [Ask]


def test_a_stale_task_is_asked_about_once_and_again_only_after_a_change() -> None:
    task = a_task(updated_at=LONG_AGO, priority=P.HIGH)
    raised = frozenset({stale_about(task)})
    assert stale(task, raised=raised) == []
    changed = replace(task, updated_at=LONG_AGO + timedelta(days=2))
    assert [type(item) for item in stale(changed, raised=raised)] == [Ask]
    assert stale(changed, raised=raised, asked=frozenset({("stale_task", "i1.1")})) == []


@pytest.mark.parametrize(
    ("task", "given"),
    [
        ({"updated_at": NOW - timedelta(days=6)}, {}),
        ({}, {"links": [a_link(2, 1)]}),
        ({}, {"escalations": [an_escalation(task_id=1)]}),
        ({}, {"escalations": [an_escalation(initiative_id=1, blocks_initiative=True)]}),
        ({}, {"initiatives": [an_initiative(state=InitiativeState.PAUSED)]}),
        ({}, {"spaces": {}}),
        ({}, {"spaces": {REPO: a_space(is_turn=False)}}),
    ],
)
def test_what_could_not_be_begun_is_not_stale(task: dict[str, Any], given: dict[str, Any]) -> None:
    assert stale(a_task(**{"updated_at": LONG_AGO, **task}), **given) == []


# Conflicts, and order


def test_notes_that_do_not_go_together_are_asked_about_once() -> None:
    conflict = Conflict(key="n1 n2", title="Two notes", text="They differ.", space=REPO)
    [asked] = generate(a_view(conflicts=[conflict]))
    assert isinstance(asked, Ask) and (asked.subject, asked.about) == (Subject.CONFLICT, "n1 n2")
    assert list(generate(a_view(conflicts=[conflict], raised=frozenset({"n1 n2"})))) == []


def test_the_same_view_is_the_same_answer() -> None:
    view = of(*GOALS, red_at_base="x", has_worked=True, open_initiatives=9)
    assert list(generate(view)) == list(
        generate(replace(view, spaces=dict(reversed(list(view.spaces.items())))))
    )
