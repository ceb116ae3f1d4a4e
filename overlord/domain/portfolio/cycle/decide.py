"""One pass: what became of what was begun, what people answered, what there is to want, and what is begun now."""

from collections.abc import Sequence

from overlord.domain.portfolio.cycle.action import Action, SayWaits
from overlord.domain.portfolio.cycle.assign import assign
from overlord.domain.portfolio.cycle.generate import generate
from overlord.domain.portfolio.cycle.monitor import monitor
from overlord.domain.portfolio.cycle.replan import replan
from overlord.domain.portfolio.cycle.triggers import triggers
from overlord.domain.portfolio.view import PortfolioView


def decide(view: PortfolioView) -> Sequence[Action]:
    """What is to be done, in its order. Where one part moves something, the rest is decided on the next view: it may be another one
    by then."""
    for part in (triggers, monitor, replan):
        if first := list(part(view)):
            return first
    return [action for action in (*generate(view), *assign(view)) if not _is_said(view, action)]


def _is_said(view: PortfolioView, action: Action) -> bool:
    """Whether it is said already why something waits."""
    if not isinstance(action, SayWaits):
        return False
    if action.task_id is not None:
        return view.task_rows[action.task_id].waits == action.waits
    return view.by_id[action.initiative_id or 0].waits == action.waits
