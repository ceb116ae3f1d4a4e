"""How work goes, in figures: of jobs that ended in some days, by day or week, by repository, by agent and by model. Pure.

A job counts on the day it ended, with all that it did and cost before: nothing of it is counted twice or cut at the edge of a window.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from itertools import chain
from math import ceil
from statistics import median

from overlord.domain.budgets.budget import Cost
from overlord.domain.inquiry import total

PERCENTILE = 0.9
NO_COST = Cost(tokens=0)


class Bucket(StrEnum):
    """What is one point of a trend."""

    DAY = "day"
    WEEK = "week"
    """From Monday on; the first one is cut where the window begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What some jobs that ended came to, counted up: the jobs of a day, of a repository, of a model. Tallies of other jobs can be added."""

    name: str
    """Of the day (`2026-03-02`), the repository, the agent or the model; empty where no model was asked."""
    ended: int = 0
    merged: int = 0
    delivered: int = 0
    first_pass: int = 0
    """Delivered before any revision was ordered."""
    revisions: int = 0
    cost: Cost = NO_COST
    pull_ms: tuple[int, ...] = ()
    """From claim to the opening of the pull request, of each job that has one; in any order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What the jobs that ended in some days came to, as it is counted: each job is in one tally of each kind."""

    days: tuple[Tally, ...] = ()
    spaces: tuple[Tally, ...] = ()
    agents: tuple[Tally, ...] = ()
    models: tuple[Tally, ...] = ()
    failures: tuple["FailurePattern", ...] = ()
    """Of those that were not merged, by what ended them and what stood against them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What some jobs came to together. Rates are from 0 to 1; None where there is nothing they could be of."""

    ended: int
    merged: int
    merge_rate: float | None
    """Of those that ended."""
    delivered: int
    first_pass: int
    """Delivered without a revision."""
    first_pass_rate: float | None
    """Of those that were delivered."""
    revisions: int
    revisions_per_job: float | None
    pull_median_s: float | None
    """From claim to the opening of the pull request, of those that have one."""
    pull_p90_s: float | None
    cost: Cost
    """Of all of them."""
    cost_per_merged: Cost | None
    """The same, divided by those that were merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Figures of a part: a repository, an agent, a model, a day or a week by its first day."""

    name: str
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePattern:
    """How jobs ended without a merge. A job with several rules is counted under each."""

    event: str
    rule: str
    """What the last evaluation held against them; empty for nothing."""
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trends:
    """How work went over some days."""

    at: datetime
    since: datetime
    days: int
    bucket: Bucket
    space: str
    """Empty for all repositories."""
    model: str
    """Empty for all models."""
    agent: str
    """Empty for all agents."""
    whole: Figures
    points: tuple[Breakdown, ...]
    """Every day or week, oldest first, those without a job too."""
    spaces: tuple[Breakdown, ...]
    models: tuple[Breakdown, ...]
    agents: tuple[Breakdown, ...]
    """The programs that worked."""
    failures: tuple[FailurePattern, ...]
    """The most frequent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueRow:
    """What the jobs of one agent with one model came to, in one repository."""

    agent: str
    """The agents that worked, in the order they began, as `native` or `native, codex`; empty where no session began."""
    model: str
    """Whose replies the first session had; empty where none was asked, as where an agent asks a service of its own."""
    space: str
    """Empty for all repositories together."""
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class League:
    """How each agent and model did over some days."""

    at: datetime
    since: datetime
    days: int
    space: str
    """Empty for all repositories."""
    agents: tuple[LeagueRow, ...]
    """Over all the repositories asked for, those with most jobs first."""
    spaces: tuple[LeagueRow, ...]
    """The same in each repository."""


def league(tallies: Iterable[tuple[str, str, Tally]], *, at: datetime, days: int, space: str = "") -> League:
    """Of jobs that ended since `window_start`, counted by agent, model and repository: each tally is of one of each, and named by
    the repository."""
    found = sorted(tallies, key=lambda item: (item[0], item[1], item[2].name))
    together: dict[tuple[str, str], list[Tally]] = {}
    for agent, model, tally in found:
        together.setdefault((agent, model), []).append(tally)
    whole = [
        LeagueRow(agent=agent, model=model, space="", figures=figures(items))
        for (agent, model), items in together.items()
    ]
    rank = {(row.agent, row.model): row.figures.ended for row in whole}
    each = [
        LeagueRow(agent=agent, model=model, space=tally.name, figures=figures([tally]))
        for agent, model, tally in found
    ]
    return League(
        at=at,
        since=window_start(at, days),
        days=days,
        space=space,
        agents=tuple(sorted(whole, key=lambda row: (-row.figures.ended, row.agent, row.model))),
        spaces=tuple(
            sorted(each, key=lambda row: (row.space, -rank[row.agent, row.model], row.agent, row.model))
        ),
    )


def window_start(at: datetime, days: int) -> datetime:
    """When so many days began, of which the day of a moment is the last. Days are those of UTC."""
    return datetime.combine(at.astimezone(UTC).date(), datetime.min.time(), UTC) - timedelta(days=days - 1)


def trends(
    found: Ended,
    *,
    at: datetime,
    days: int,
    bucket: Bucket,
    space: str = "",
    model: str = "",
    agent: str = "",
) -> Trends:
    """Of jobs that ended since `window_start`; what is said they are of is what they were chosen by."""
    since = window_start(at, days)
    return Trends(
        at=at,
        since=since,
        days=days,
        bucket=bucket,
        space=space,
        model=model,
        agent=agent,
        whole=figures(found.days),
        points=_points(found.days, since.date(), days, bucket),
        spaces=_breakdown(found.spaces),
        models=_breakdown(found.models),
        agents=_breakdown(found.agents),
        failures=tuple(sorted(found.failures, key=lambda item: (-item.jobs, item.event, item.rule))),
    )


def figures(tallies: Sequence[Tally]) -> Figures:
    """What these came to together."""
    ended, merged = sum(item.ended for item in tallies), sum(item.merged for item in tallies)
    delivered = sum(item.delivered for item in tallies)
    first_pass = sum(item.first_pass for item in tallies)
    revisions = sum(item.revisions for item in tallies)
    times = sorted(chain.from_iterable(item.pull_ms for item in tallies))
    cost = total(item.cost for item in tallies)
    return Figures(
        ended=ended,
        merged=merged,
        merge_rate=_rate(merged, ended),
        delivered=delivered,
        first_pass=first_pass,
        first_pass_rate=_rate(first_pass, delivered),
        revisions=revisions,
        revisions_per_job=_rate(revisions, ended),
        pull_median_s=median(times) / 1000 if times else None,
        pull_p90_s=times[ceil(len(times) * PERCENTILE) - 1] / 1000 if times else None,
        cost=cost,
        cost_per_merged=_shared(cost, merged) if merged else None,
    )


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _shared(cost: Cost, among: int) -> Cost:
    return Cost(
        tokens=round(cost.tokens / among), nusd=None if cost.nusd is None else round(cost.nusd / among)
    )


def _points(tallies: Iterable[Tally], first: date, days: int, bucket: Bucket) -> tuple[Breakdown, ...]:
    dates = (first + timedelta(days=index) for index in range(days))
    found: dict[date, list[Tally]] = {max(_begun(day, bucket), first): [] for day in dates}
    for tally in tallies:
        found.setdefault(max(_begun(date.fromisoformat(tally.name), bucket), first), []).append(tally)
    return tuple(Breakdown(name=day.isoformat(), figures=figures(found[day])) for day in sorted(found))


def _begun(day: date, bucket: Bucket) -> date:
    return day - timedelta(days=day.weekday()) if bucket is Bucket.WEEK else day


def _breakdown(tallies: Iterable[Tally]) -> tuple[Breakdown, ...]:
    ordered = sorted(tallies, key=lambda item: (-item.ended, item.name))
    return tuple(Breakdown(name=item.name, figures=figures([item])) for item in ordered)
