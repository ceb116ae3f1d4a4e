"""What makes a plan be looked at again: its goal or its own text says something else than when it was approved."""

from collections.abc import Iterator

from overlord.domain.portfolio.cycle.action import Action, Replan
from overlord.domain.portfolio.cycle.generate import goal_key
from overlord.domain.portfolio.initiative import Initiative, InitiativeSource, InitiativeState
from overlord.domain.portfolio.view import PortfolioView, SpaceView

GOAL_CHANGED = "its goal in OVERVIEW.md was changed"
PLAN_EDITED = "a person changed plan.md"


def replan(view: PortfolioView) -> Iterator[Action]:
    """Each change once: what it was changed to is taken over with the action. A plan that waits for a person is left to them."""
    for initiative in view.initiatives:
        space = view.spaces.get(initiative.space)
        if space is None or initiative.state is InitiativeState.PROPOSED:
            continue
        is_planned = initiative.state is InitiativeState.ACTIVE
        goal = _changed_goal(space, initiative)
        if goal:
            yield Replan(initiative_id=initiative.id, goal=goal, reason=GOAL_CHANGED if is_planned else "")
        elif is_planned and not initiative.replan and initiative.id in view.edited_plans:
            yield Replan(initiative_id=initiative.id, reason=PLAN_EDITED)


def _changed_goal(space: SpaceView, initiative: Initiative) -> str:
    """What its goal says now, where that is something else."""
    if initiative.source is not InitiativeSource.OVERVIEW:
        return ""
    for goal in space.goals:
        if goal_key(space.name, goal) == initiative.key:
            text = goal.text or goal.title
            return text if text != initiative.goal and not goal.is_done else ""
    return ""
