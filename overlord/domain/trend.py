"""How work goes, in figures: of jobs that ended in some days, by day or week, by repository and by model. Pure.

A job counts on the day it ended, with all that it did and cost before: nothing of it is counted twice or cut at the edge of a window.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from math import ceil
from statistics import median

from overlord.domain.budgets.budget import Cost
from overlord.domain.event import EventName
from overlord.domain.inquiry import total

PERCENTILE = 0.9
NO_COST = Cost(tokens=0)


class Bucket(StrEnum):
    """What is one point of a trend."""

    DAY = "day"
    WEEK = "week"
    """From Monday on; the first one is cut where the window begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """What a job that has ended came to."""

    job_id: int
    space: str
    claimed_at: datetime
    ended_at: datetime
    ending: str
    """The event that ended it."""
    opened_at: datetime | None = None
    """When its pull request was opened."""
    is_delivered: bool = False
    is_first_pass: bool = False
    """Whether it was delivered before any revision was ordered."""
    revisions: int = 0
    model: str = ""
    """The one its first session asked; empty where none was asked."""
    cost: Cost = NO_COST
    rules: tuple[str, ...] = ()
    """What its last evaluation held against it, as `check/rule`; only of a job that was not merged."""

    @property
    def is_merged(self) -> bool:
        return self.ending == EventName.MERGED


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
    """Figures of a part: a repository, a model, a day or a week by its first day."""

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
    whole: Figures
    points: tuple[Breakdown, ...]
    """Every day or week, oldest first, those without a job too."""
    spaces: tuple[Breakdown, ...]
    models: tuple[Breakdown, ...]
    failures: tuple[FailurePattern, ...]
    """The most frequent first."""


def window_start(at: datetime, days: int) -> datetime:
    """When so many days began, of which the day of a moment is the last. Days are those of UTC."""
    return datetime.combine(at.astimezone(UTC).date(), datetime.min.time(), UTC) - timedelta(days=days - 1)


def trends(
    outcomes: Iterable[JobOutcome],
    *,
    at: datetime,
    days: int,
    bucket: Bucket,
    space: str = "",
    model: str = "",
) -> Trends:
    """Of jobs that ended since `window_start`, and of one model's where that is said."""
    found = [outcome for outcome in outcomes if not model or outcome.model == model]
    since = window_start(at, days)
    return Trends(
        at=at,
        since=since,
        days=days,
        bucket=bucket,
        space=space,
        model=model,
        whole=figures(found),
        points=_points(found, since.date(), days, bucket),
        spaces=_breakdown(found, lambda outcome: outcome.space),
        models=_breakdown(found, lambda outcome: outcome.model),
        failures=_failures(found),
    )


def figures(outcomes: Sequence[JobOutcome]) -> Figures:
    """What these came to together."""
    ended, merged = len(outcomes), sum(item.is_merged for item in outcomes)
    delivered = sum(item.is_delivered for item in outcomes)
    first_pass = sum(item.is_first_pass for item in outcomes)
    revisions = sum(item.revisions for item in outcomes)
    times = sorted(
        max((item.opened_at - item.claimed_at).total_seconds(), 0.0) for item in outcomes if item.opened_at
    )
    cost = total(item.cost for item in outcomes)
    return Figures(
        ended=ended,
        merged=merged,
        merge_rate=_rate(merged, ended),
        delivered=delivered,
        first_pass=first_pass,
        first_pass_rate=_rate(first_pass, delivered),
        revisions=revisions,
        revisions_per_job=_rate(revisions, ended),
        pull_median_s=median(times) if times else None,
        pull_p90_s=times[ceil(len(times) * PERCENTILE) - 1] if times else None,
        cost=cost,
        cost_per_merged=_shared(cost, merged) if merged else None,
    )


def _rate(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _shared(cost: Cost, among: int) -> Cost:
    return Cost(
        tokens=round(cost.tokens / among), nusd=None if cost.nusd is None else round(cost.nusd / among)
    )


def _points(outcomes: Sequence[JobOutcome], first: date, days: int, bucket: Bucket) -> tuple[Breakdown, ...]:
    dates = (first + timedelta(days=index) for index in range(days))
    found: dict[date, list[JobOutcome]] = {max(_begun(day, bucket), first): [] for day in dates}
    for outcome in outcomes:
        day = outcome.ended_at.astimezone(UTC).date()
        found.setdefault(max(_begun(day, bucket), first), []).append(outcome)
    return tuple(Breakdown(name=day.isoformat(), figures=figures(found[day])) for day in sorted(found))


def _begun(day: date, bucket: Bucket) -> date:
    return day - timedelta(days=day.weekday()) if bucket is Bucket.WEEK else day


def _breakdown(outcomes: Iterable[JobOutcome], key: Callable[[JobOutcome], str]) -> tuple[Breakdown, ...]:
    found: defaultdict[str, list[JobOutcome]] = defaultdict(list)
    for outcome in outcomes:
        found[key(outcome)].append(outcome)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Breakdown(name=name, figures=figures(items)) for name, items in ordered)


def _failures(outcomes: Iterable[JobOutcome]) -> tuple[FailurePattern, ...]:
    counted = Counter(
        (outcome.ending, rule)
        for outcome in outcomes
        if not outcome.is_merged
        for rule in outcome.rules or ("",)
    )
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(FailurePattern(event=event, rule=rule, jobs=jobs) for (event, rule), jobs in ordered)
