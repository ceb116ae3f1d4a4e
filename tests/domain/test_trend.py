"""How work goes, in figures: each job once, on the day it ended; rates of what they can be of; the most frequent end first."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from overlord.domain import trend
from overlord.domain.budgets.budget import NANO, Cost
from overlord.domain.event import EventName
from overlord.domain.trend import Bucket, FailurePattern, Figures, Trends, window_start
from tests.outcomes import JobOutcome, counted, tally
from tests.records import NOW, REPO, later

DAY_S = 86400


def outcome(job_id: int = 1, **given: object) -> JobOutcome:
    """A merged job, which took an hour to its pull request."""
    values: dict[str, object] = {
        "job_id": job_id,
        "space": REPO,
        "claimed_at": later(-7200),
        "opened_at": later(-3600),
        "ended_at": NOW,
        "ending": EventName.MERGED,
        "is_delivered": True,
        "is_first_pass": True,
        "model": "m",
        "cost": Cost(tokens=100, nusd=NANO),
    }
    return JobOutcome(**{**values, **given})  # type: ignore[arg-type]


def figures(jobs: Sequence[JobOutcome]) -> Figures:
    return trend.figures([tally("", jobs)])


def trends(jobs: Sequence[JobOutcome], *, days: int, bucket: Bucket) -> Trends:
    return trend.trends(counted(jobs), at=NOW, days=days, bucket=bucket)


def test_figures_are_those_of_the_jobs() -> None:
    found = figures(
        [
            outcome(1),
            outcome(2, revisions=2, is_first_pass=False, opened_at=later(0), cost=Cost(tokens=200)),
            outcome(3, ending=EventName.PR_CLOSED, opened_at=later(-7000)),
            outcome(4, ending=EventName.STOPPED, opened_at=None, is_delivered=False, is_first_pass=False),
        ]
    )
    assert (found.ended, found.merged, found.merge_rate) == (4, 2, 0.5)
    assert (found.delivered, found.first_pass, found.first_pass_rate) == (3, 2, 0.6667)
    assert (found.revisions, found.revisions_per_job) == (2, 0.5)
    assert (found.pull_median_s, found.pull_p90_s) == (3600, 7200)
    assert found.cost == Cost(tokens=500, nusd=3 * NANO)
    assert found.cost_per_merged == Cost(tokens=250, nusd=3 * NANO // 2)


def test_a_league_has_a_row_for_each_agent_and_model_and_one_in_each_repository() -> None:
    found = trend.league(
        [
            ("codex", "m", tally("a/b", [outcome(1)])),
            ("native", "m", tally("a/b", [outcome(2, is_first_pass=False, revisions=1)])),
            ("native", "m", tally(REPO, [outcome(3)])),
        ],
        at=NOW,
        days=30,
    )
    assert [(row.agent, row.model, row.figures.ended) for row in found.agents] == [
        ("native", "m", 2),
        ("codex", "m", 1),
    ]
    assert found.agents[0].figures.first_pass_rate == 0.5
    assert [(row.space, row.agent) for row in found.spaces] == [
        ("a/b", "native"),
        ("a/b", "codex"),
        (REPO, "native"),
    ]


def test_nothing_has_no_rate() -> None:
    found = figures([])
    assert (found.ended, found.merge_rate, found.first_pass_rate, found.revisions_per_job) == (
        0,
        None,
        None,
        None,
    )
    assert (found.pull_median_s, found.pull_p90_s, found.cost_per_merged) == (None, None, None)
    assert figures([outcome(ending=EventName.STOPPED)]).cost_per_merged is None
    assert figures([outcome(cost=Cost(tokens=7))]).cost_per_merged == Cost(tokens=7)


@pytest.mark.parametrize(("jobs", "second"), [(1, 1), (9, 9), (10, 9), (11, 10), (20, 18)])
def test_nine_in_ten_were_at_least_as_fast_as_the_percentile(jobs: int, second: int) -> None:
    found = figures([outcome(number, opened_at=later(number - 7200)) for number in range(jobs, 0, -1)])
    assert found.pull_p90_s == second


def test_a_clock_that_was_set_back_makes_no_time_negative() -> None:
    assert figures([outcome(opened_at=later(-9000))]).pull_median_s == 0


def test_a_window_begins_at_midnight_and_today_is_its_last_day() -> None:
    assert window_start(NOW, 7).isoformat() == "2026-02-24T00:00:00+00:00"
    found = trends([outcome()], days=7, bucket=Bucket.DAY)
    assert [item.name for item in found.points][::6] == ["2026-02-24", "2026-03-02"]
    assert [item.figures.ended for item in found.points] == [0, 0, 0, 0, 0, 0, 1]


def test_weeks_begin_on_mondays_and_the_first_is_cut() -> None:
    jobs = [outcome(1, ended_at=window_start(NOW, 30)), outcome(2, ended_at=later(-DAY_S)), outcome(3)]
    found = trends(jobs, days=30, bucket=Bucket.WEEK)
    assert [(item.name, item.figures.ended) for item in found.points] == [
        ("2026-02-01", 1),
        ("2026-02-02", 0),
        ("2026-02-09", 0),
        ("2026-02-16", 0),
        ("2026-02-23", 1),
        ("2026-03-02", 1),
    ]


def test_each_job_is_in_one_part_of_each_kind_and_the_largest_part_comes_first() -> None:
    jobs = [outcome(1, space="a/b"), outcome(2, model="n"), outcome(3, model=""), outcome(4)]
    found = trends(jobs, days=7, bucket=Bucket.DAY)
    assert [(item.name, item.figures.ended) for item in found.spaces] == [(REPO, 3), ("a/b", 1)]
    assert [(item.name, item.figures.ended) for item in found.models] == [("m", 2), ("", 1), ("n", 1)]
    assert found.whole.ended == sum(item.figures.ended for item in found.points) == 4


def test_tallies_of_other_jobs_are_added() -> None:
    one, other = outcome(1, cost=Cost(tokens=7)), outcome(2, opened_at=None, revisions=3)
    assert trend.figures([tally("a", [one]), tally("b", [other])]) == figures([one, other])


def test_what_ends_jobs_without_a_merge_is_counted_the_most_frequent_first() -> None:
    jobs = [
        outcome(1, rules=("tests/test-failed",)),
        outcome(2, ending=EventName.STOPPED),
        outcome(3, ending=EventName.DROPPED, rules=("tests/test-failed", "lint/E501")),
        outcome(4, ending=EventName.DROPPED, rules=("tests/test-failed",)),
    ]
    assert trends(jobs, days=7, bucket=Bucket.DAY).failures == (
        FailurePattern(event="dropped", rule="tests/test-failed", jobs=2),
        FailurePattern(event="dropped", rule="lint/E501", jobs=1),
        FailurePattern(event="stopped", rule="", jobs=1),
    )


def test_a_job_that_ends_at_midnight_is_of_the_day_that_begins() -> None:
    midnight = window_start(NOW, 1)
    jobs = [outcome(1, ended_at=midnight), outcome(2, ended_at=midnight - timedelta(microseconds=1))]
    found = trends(jobs, days=7, bucket=Bucket.DAY)
    assert [item.figures.ended for item in found.points][-2:] == [1, 1]
