"""What was spent: today, over the last week, or by one job; and what its budgets leave."""

from dataclasses import dataclass
from typing import Annotated

from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.lines import caps_of, shares
from overlord.domain.conversation.look_argument import CostArgument, CostOf, Span
from overlord.domain.inquiry import Costs, JobCost
from overlord.domain.view.view import Heading, Note, Part, Table, View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class OfCost:
    """What a cost is asked of."""

    of: Annotated[CostOf, CostArgument()]


def _read(look: Look, arguments: OfCost) -> Costs | JobCost:
    of = arguments.of
    if of.span is Span.JOB:
        number = look.newest_job(of.job).id
        return overview.job_cost(look.connection, look.settings, number, at=look.at)
    days = overview.WEEK if of.span is Span.WEEK else 1
    return overview.cost(look.connection, look.settings, at=look.at, days=days)


def _view(_look: Look, cost: Costs | JobCost) -> View:
    if isinstance(cost, JobCost):
        text = f"Job {cost.job.id}, {cost.job.issue_ref}: {cost_text(cost.total)}"
        return View(
            summary=text, parts=(Heading(text), *shares("session", cost.sessions), *caps_of(cost.caps))
        )
    name = "Today" if len(cost.days) == 1 else f"The last {len(cost.days)} days"
    text = f"{name}: {cost_text(cost.total)}"
    parts: list[Part] = [Heading(text)]
    if len(cost.days) > 1:
        rows = tuple(((day.day,), (cost_text(day.cost),)) for day in cost.days)
        parts.append(Table(("day", "cost"), rows))
    parts += [*shares("repository", cost.spaces), *caps_of(cost.caps), Note("Days are those of UTC.")]
    return View(summary=text, parts=tuple(parts))


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfCost,
    usage="cost week",
    means="what was spent: `today`, `week`, or `#42`",
    position=6,
)
