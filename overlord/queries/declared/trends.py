"""How work went over 7, 30 or 90 days: throughput, first passes, revisions, times, costs, and what ends jobs without a merge.

A job counts on the day it ended, with all that it did and cost before. Days are those of UTC.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated

from overlord.domain.budgets.budget import NANO, Cost, cost_text
from overlord.domain.chat.lines import facts, words
from overlord.domain.conversation.look_argument import (
    DaysArgument,
    DaySpan,
    NamedArgument,
    SpaceOptionArgument,
)
from overlord.domain.event import EventName
from overlord.domain.text.plain import count
from overlord.domain.trend import Breakdown, Bucket, FailurePattern, Figures, Trends, trends, window_start
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Chart, ChartKind, Heading, Note, Paragraph, Part, Table, View
from overlord.queries.look import Look
from overlord.queries.query import Cell, Query
from overlord.store import job_outcomes

MOST_ROWS = 20
"""Repositories, agents, models or ways to end that are shown to people; programs get all."""
_COLUMNS = ("ended", "merged", "first pass", "revisions", "to PR", "per merge")
MEANS = (
    "A job counts on the day it ended (UTC), with all that it did and cost before. Rows are: jobs that ended, merged,"
    " delivered at first pass, revisions per job, median time to the pull request, cost per merge."
)
"""A chat shows no names of columns."""
_ENDED = {
    EventName.PR_CLOSED: "pull request closed",
    EventName.LIFETIME_EXCEEDED: "lifetime over",
    EventName.UNLABELLED: "label taken off",
}
"""Of the others the event's name says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTrends:
    """Over which days, and of what."""

    days: Annotated[DaySpan, DaysArgument()] = DaySpan.MONTH
    by: Annotated[
        str,
        NamedArgument(
            name="by", help="A point for each day or week; by week over 90 days.", choices=tuple(Bucket)
        ),
    ] = ""
    model: Annotated[
        str, NamedArgument(name="model", help="Only jobs whose first session asked this model.")
    ] = ""
    agent: Annotated[
        str,
        NamedArgument(
            name="agent", help="Only jobs that this agent program worked on; `native`, `codex`, …."
        ),
    ] = ""
    space: Annotated[str, SpaceOptionArgument()] = ""


def _read(look: Look, arguments: OfTrends) -> Trends:
    days = int(arguments.days)
    usual = Bucket.WEEK if arguments.days is DaySpan.QUARTER else Bucket.DAY
    space = look.space(arguments.space or None)
    wanted = job_outcomes.Wanted(
        first=window_start(look.at, days).date(),
        last=look.at.astimezone(UTC).date(),
        space=space,
        agent=arguments.agent,
        model=arguments.model,
    )
    return trends(
        job_outcomes.ended(look.connection, wanted),
        at=look.at,
        days=days,
        bucket=Bucket(arguments.by) if arguments.by else usual,
        space=space,
        model=arguments.model,
        agent=arguments.agent,
    )


def _view(_look: Look, found: Trends) -> View:
    whole = found.whole
    of = f" in {words(found.space)}" if found.space else ""
    of += f" with {words(found.model)}" if found.model else ""
    of += f" by {words(found.agent)}" if found.agent else ""
    text = f"The last {found.days} days{of}: {count(whole.ended, 'job')} ended, {whole.merged:,} merged"
    if not whole.ended:
        return View(summary=text, parts=(Heading(text), Paragraph(("No job ended in these days.",))))
    parts: list[Part] = [Heading(text), _facts(whole), *_charts(found)]
    if len(found.spaces) > 1:
        parts.append(_table("repository", found.spaces))
    if len(found.agents) > 1:
        parts.append(_table("agent", found.agents))
    if len(found.models) > 1:
        parts.append(_table("model", found.models))
    if found.failures:
        parts += [Heading("Ended without a merge"), _failures_table(found.failures)]
    parts.append(Note(MEANS))
    return View(summary=text, parts=tuple(parts))


def _facts(whole: Figures) -> Part:
    times = f"{took(whole.pull_median_s)} (median), {took(whole.pull_p90_s)} (90th percentile)"
    return facts(
        ("merged", f"{whole.merged:,} of {whole.ended:,} that ended ({percent(whole.merge_rate)})"),
        (
            "first pass",
            f"{whole.first_pass:,} of {whole.delivered:,} delivered without a revision ({percent(whole.first_pass_rate)})",
        ),
        ("revisions", f"{number(whole.revisions_per_job)} per job"),
        ("label to pull request", times if whole.pull_median_s is not None else "-"),
        ("cost per merged pull request", _cost(whole.cost_per_merged)),
    )


def _charts(found: Trends) -> Iterator[Chart]:
    def points(value: Iterable[float | None]) -> tuple[tuple[str, float | None], ...]:
        return tuple(zip((item.name for item in found.points), value, strict=True))

    each = [item.figures for item in found.points]
    by, line = f"by {found.bucket}", ChartKind.LINE
    yield Chart(f"Jobs ended {by}", "jobs", points(item.ended for item in each))
    yield Chart(f"Merged {by}", "jobs", points(item.merged for item in each))
    yield Chart(f"First pass {by}", "%", points(_scaled(item.first_pass_rate, 100) for item in each), line)
    yield Chart(f"To PR {by}", "h", points(_scaled(item.pull_median_s, 1 / 3600) for item in each), line)
    is_priced = found.whole.cost.nusd is not None
    spent = points(_per_merge(item.cost_per_merged, is_priced=is_priced) for item in each)
    yield Chart(f"Per merge {by}", "USD" if is_priced else "tokens", spent)


def _per_merge(cost: Cost | None, *, is_priced: bool) -> float | None:
    if cost is None:
        return None
    return _scaled(cost.nusd, 1 / NANO) if is_priced else cost.tokens


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value * by


def _table(name: str, found: Sequence[Breakdown]) -> Table:
    rows = tuple((Bold(words(item.name) or "none"), item.figures) for item in found[:MOST_ROWS])
    return Table(
        (name, *_COLUMNS),
        tuple(
            (
                (title,),
                (str(item.ended),),
                (f"{item.merged} ({percent(item.merge_rate)})",),
                (percent(item.first_pass_rate),),
                (number(item.revisions_per_job),),
                (took(item.pull_median_s),),
                (cost_short(item.cost_per_merged),),
            )
            for title, item in rows
        ),
    )


def _failures_table(found: Sequence[FailurePattern]) -> Table:
    rows = tuple(
        ((str(item.jobs),), (_ended(item.event),), (words(item.rule) or "-",)) for item in found[:MOST_ROWS]
    )
    return Table(("jobs", "how", "held against the last work"), rows)


def _ended(event: str) -> str:
    known = {str(name): text for name, text in _ENDED.items()}
    return known.get(event, event.replace("_", " "))


def percent(rate: float | None) -> str:
    """A rate for people; a dash where there is none."""
    return "-" if rate is None else f"{rate * 100:.0f} %"


def number(value: float | None) -> str:
    """A number with one decimal, for people."""
    return "-" if value is None else f"{value:.1f}"


def _cost(cost: Cost | None) -> str:
    return "-" if cost is None else cost_text(cost)


def cost_short(cost: Cost | None) -> str:
    """Money alone where there is a price."""
    return _cost(cost).rpartition(" for ")[2]


def took(seconds: float | None) -> str:
    """How long something took, for people."""
    if seconds is None:
        return "-"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 48 else f"{hours / 24:.1f} d"


_FIELDS = (
    *("ended", "merged", "merge_rate", "delivered", "first_pass", "first_pass_rate"),
    *("revisions", "revisions_per_job", "pull_median_s", "pull_p90_s"),
)


def _csv(found: Trends) -> Iterator[Sequence[Cell]]:
    yield ("of", "name", *_FIELDS, "tokens", "usd", "tokens_per_merged", "usd_per_merged")
    yield ("all", "", *_cells(found.whole))
    for of, items in (
        (str(found.bucket), found.points),
        ("repository", found.spaces),
        ("agent", found.agents),
        ("model", found.models),
    ):
        yield from ((of, item.name, *_cells(item.figures)) for item in items)


def _cells(item: Figures) -> Iterator[Cell]:
    yield from (getattr(item, name) for name in _FIELDS)
    for cost in (item.cost, item.cost_per_merged):
        yield cost.tokens if cost else None
        yield cost.nusd / NANO if cost and cost.nusd is not None else None


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    arguments=OfTrends,
    usage="trends 30",
    means="how work went over `7`, `30` or `90` days, also `trends 90 by week owner/repo`",
    position=24,
)
