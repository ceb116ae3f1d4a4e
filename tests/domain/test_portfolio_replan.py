"""A plan is looked at again when its goal or its own text was changed, and each change once."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from overlord.domain.portfolio.cycle.action import Replan
from overlord.domain.portfolio.cycle.generate import goal_key
from overlord.domain.portfolio.cycle.replan import GOAL_CHANGED, PLAN_EDITED, replan
from overlord.domain.portfolio.files.goals import Goal
from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.priority import Priority
from overlord.domain.portfolio.view import PortfolioView, SpaceView

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
SPACE = "acme/calc"
GOAL = Goal(title="Sums of three", text="Of any three numbers.")
INITIATIVE = Initiative(
    id=3,
    space=SPACE,
    slug="sums-of-three",
    title=GOAL.title,
    goal=GOAL.text,
    source=InitiativeSource.OVERVIEW,
    key=goal_key(SPACE, GOAL),
    state=InitiativeState.ACTIVE,
    priority=Priority.NORMAL,
    actor="overlord",
    created_at=AT,
    updated_at=AT,
)


def actions(initiative: Initiative, goal: Goal = GOAL, *, edited: bool = False) -> list[object]:
    view = PortfolioView(
        at=AT,
        spaces={SPACE: SpaceView(name=SPACE, goals=(goal,))},
        initiatives=[initiative],
        tasks=[],
        edited_plans=frozenset({initiative.id} if edited else ()),
    )
    return list(replan(view))


def test_a_goal_that_says_what_it_said_changes_nothing() -> None:
    assert actions(INITIATIVE) == []


def test_a_changed_goal_is_taken_over_and_its_plan_looked_at_again() -> None:
    found = actions(INITIATIVE, replace(GOAL, text="Of any numbers."))
    assert found == [Replan(initiative_id=3, goal="Of any numbers.", reason=GOAL_CHANGED)]


@pytest.mark.parametrize("state", [InitiativeState.QUEUED, InitiativeState.PLANNING, InitiativeState.PAUSED])
def test_a_goal_of_what_has_no_plan_yet_is_only_taken_over(state: InitiativeState) -> None:
    found = actions(replace(INITIATIVE, state=state), replace(GOAL, text="Of any numbers."))
    assert found == [Replan(initiative_id=3, goal="Of any numbers.")]


def test_a_goal_that_is_ticked_off_is_not_planned_again() -> None:
    assert actions(INITIATIVE, replace(GOAL, text="Of any numbers.", is_done=True)) == []


def test_an_edited_plan_is_looked_at_again_once() -> None:
    assert actions(INITIATIVE, edited=True) == [Replan(initiative_id=3, reason=PLAN_EDITED)]
    assert actions(replace(INITIATIVE, replan=PLAN_EDITED), edited=True) == []


def test_what_a_person_asked_for_is_not_held_against_overview() -> None:
    asked = replace(INITIATIVE, source=InitiativeSource.PERSON)
    assert actions(asked, replace(GOAL, text="Of any numbers.")) == []
