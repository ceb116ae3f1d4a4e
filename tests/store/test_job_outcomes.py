"""What jobs that ended came to: those of the time that is asked for, whole, whatever they did before it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overlord.domain.budgets.budget import NANO, Cost, TokenUsage
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job
from overlord.domain.trend import Ended, Tally, window_start
from overlord.store import job_outcomes, jobs, ledger, sessions
from overlord.store.budgets import exchanges
from overlord.store.budgets.exchanges import BudgetBalance
from overlord.store.checks import evaluations
from overlord.store.job_history import ENDINGS
from overlord.store.job_outcomes import Wanted
from overlord.store.schema.agents import AGENTS
from overlord.store.schema.migrations import migrate
from overlord.store.schema.outcomes import OUTCOMES
from tests.outcomes import JobOutcome, between, counted
from tests.records import HEAD, NOW, REPO, a_check, a_finding, an_issue, contract
from tests.stored import prepare

DAY = timedelta(days=1)
WEEK_AGO = window_start(NOW, 7)


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        yield connection


def claimed(store: sqlite3.Connection, number: int, at: datetime, space: str = REPO) -> Job:
    job = jobs.claim(
        store, space=space, issue=an_issue(number=number), base_branch="main", contract=contract(), at=at
    )
    assert job is not None
    return job


def noted(store: sqlite3.Connection, job: Job, name: EventName, at: datetime) -> None:
    ledger.append(store, LedgerEvent(name=name, at=at, job_id=job.id, data={"pull": 3}))


def end(store: sqlite3.Connection, job: Job, event: EventName, at: datetime) -> None:
    jobs.move(store, job.id, event, at=at, data={"reason": "x", "pull": 3})


def spend(
    store: sqlite3.Connection, job: Job, model: str, tokens: int, nusd: int | None, ordinal: int = 1
) -> None:
    session = prepare(store, job, ordinal=ordinal)
    sessions.end(store, session, at=NOW, ending="exited")
    balance = BudgetBalance(session=session.id, job=job.id, space=job.space, day="2026-03-02", budgets=())
    number = exchanges.reserve(store, balance, cost=Cost(tokens=tokens), model=model, at=NOW)
    assert isinstance(number, int)
    usage = TokenUsage(prompt=tokens - 1, completion=1)
    exchanges.settle(store, balance, number, usage=usage, nusd=nusd, status=200, at=NOW)


def judged(store: sqlite3.Connection, job: Job, rule: str, score: CheckScore | None) -> None:
    jobs.repair(store, job.id, head_sha=HEAD)
    row = evaluations.current(store, jobs.get(store, job.id), at=NOW)
    finding = a_finding(rule=rule)
    evaluations.add_check(store, row, a_check(CheckName.TESTS, score, findings=(finding, finding)), at=NOW)
    evaluations.close(store, row)


def of_last_week(store: sqlite3.Connection, space: str = "") -> list[JobOutcome]:
    """One by one, as the ledger says it, once the rows have said the same together."""
    found = between(store, WEEK_AGO, NOW)
    wanted = Wanted(first=WEEK_AGO.date(), last=NOW.date(), space=space)
    mine = [outcome for outcome in found if not space or outcome.space == space]
    assert told(job_outcomes.ended(store, wanted)) == told(counted(mine))
    return mine


def told(ended: Ended) -> Ended:
    """The same in an order of its own."""

    def ordered(tallies: tuple[Tally, ...]) -> tuple[Tally, ...]:
        return tuple(
            replace(item, pull_ms=tuple(sorted(item.pull_ms)))
            for item in sorted(tallies, key=lambda one: one.name)
        )

    return Ended(
        days=ordered(ended.days),
        spaces=ordered(ended.spaces),
        agents=ordered(ended.agents),
        models=ordered(ended.models),
        failures=tuple(sorted(ended.failures, key=lambda item: (item.event, item.rule))),
    )


def test_nothing_ended(store: sqlite3.Connection) -> None:
    assert of_last_week(store) == []
    claimed(store, 1, WEEK_AGO)
    assert of_last_week(store) == []


def test_what_a_job_did_is_told_whole(store: sqlite3.Connection) -> None:
    job = claimed(store, 1, NOW - DAY)
    for name, after in (
        (EventName.PULL_OPENED, 60),
        (EventName.REVISION_ORDERED, 120),
        (EventName.DELIVERED, 180),
        (EventName.REVISION_ORDERED, 240),
        (EventName.DELIVERED, 300),
        (EventName.PULL_OPENED, 360),
    ):
        noted(store, job, name, NOW - DAY + timedelta(seconds=after))
    spend(store, job, "writer", 100, NANO)
    spend(store, job, "reader", 900, None, ordinal=2)
    end(store, job, EventName.MERGED, NOW)
    assert of_last_week(store) == [
        JobOutcome(
            job_id=job.id,
            space=REPO,
            claimed_at=NOW - DAY,
            ended_at=NOW,
            ending="merged",
            opened_at=NOW - DAY + timedelta(seconds=60),
            is_delivered=True,
            is_first_pass=False,
            revisions=2,
            agent="native",
            model="writer",
            cost=Cost(tokens=1000, nusd=NANO),
        )
    ]


def test_a_revision_after_the_first_delivery_leaves_it_a_first_pass(store: sqlite3.Connection) -> None:
    job = claimed(store, 1, NOW - DAY)
    noted(store, job, EventName.DELIVERED, NOW)
    noted(store, job, EventName.REVISION_ORDERED, NOW)
    end(store, job, EventName.MERGED, NOW)
    [found] = of_last_week(store)
    assert (found.is_first_pass, found.revisions, found.model, found.cost) == (True, 1, "", Cost(tokens=0))


def test_a_job_counts_where_it_ended_with_what_it_did_before(store: sqlite3.Connection) -> None:
    long = claimed(store, 1, NOW - 60 * DAY)
    noted(store, long, EventName.PULL_OPENED, NOW - 59 * DAY)
    noted(store, long, EventName.REVISION_ORDERED, NOW - 58 * DAY)
    before, at_edge = claimed(store, 2, NOW - 20 * DAY), claimed(store, 3, NOW - 20 * DAY)
    end(store, before, EventName.MERGED, WEEK_AGO - timedelta(seconds=1))
    end(store, at_edge, EventName.MERGED, WEEK_AGO)
    end(store, long, EventName.MERGED, NOW - DAY)
    found = {outcome.job_id: outcome for outcome in of_last_week(store)}
    assert found.keys() == {long.id, at_edge.id}
    assert (found[long.id].opened_at, found[long.id].revisions) == (NOW - 59 * DAY, 1)


def test_a_clock_that_was_set_back_an_hour_hides_no_job(store: sqlite3.Connection) -> None:
    first, second = claimed(store, 1, WEEK_AGO), claimed(store, 2, WEEK_AGO)
    end(store, first, EventName.MERGED, WEEK_AGO + timedelta(minutes=1))
    end(store, second, EventName.MERGED, WEEK_AGO - timedelta(minutes=59))
    for number in range(3, 9):
        end(
            store,
            claimed(store, number, WEEK_AGO - timedelta(hours=1)),
            EventName.STOPPED,
            WEEK_AGO - timedelta(hours=1),
        )
    assert [outcome.job_id for outcome in of_last_week(store)] == [first.id]


def test_one_repositorys_jobs_alone(store: sqlite3.Connection) -> None:
    hostile = RepositoryName("a'; DROP TABLE jobs; --\x1b[2J/=1+1")
    for number, space in enumerate((REPO, hostile), 1):
        end(store, claimed(store, number, NOW, space), EventName.MERGED, NOW)
    assert [outcome.space for outcome in of_last_week(store)] == [REPO, hostile]
    assert [outcome.space for outcome in of_last_week(store, hostile)] == [hostile]
    assert of_last_week(store, "acme/none") == []


def test_what_the_last_evaluation_held_against_a_job_that_was_not_merged(store: sqlite3.Connection) -> None:
    dropped, passed, unmade, noted_only, merged = (claimed(store, number, NOW) for number in range(1, 6))
    judged(store, dropped, "no-test", CheckScore.NEEDS_REVISION)
    judged(store, dropped, "test-failed", CheckScore.FAIL)
    judged(store, passed, "test-failed", CheckScore.PASS)
    judged(store, unmade, "test-failed", None)
    judged(store, noted_only, "flaky", CheckScore.FAIL)
    judged(store, merged, "test-failed", CheckScore.FAIL)
    for job in (dropped, passed, unmade, noted_only):
        end(store, job, EventName.DROPPED, NOW)
    end(store, merged, EventName.MERGED, NOW)
    assert {outcome.job_id: outcome.rules for outcome in of_last_week(store)} == {
        dropped.id: ("tests/test-failed",),
        passed.id: (),
        unmade.id: ("tests/test-failed",),
        noted_only.id: (),
        merged.id: (),
    }


def test_no_query_reads_a_whole_table(store: sqlite3.Connection) -> None:
    job = claimed(store, 1, NOW)
    end(store, job, EventName.DROPPED, NOW)
    said: list[str] = []
    store.set_trace_callback(said.append)
    job_outcomes.ended(store, Wanted(first=WEEK_AGO.date(), last=NOW.date()))
    store.set_trace_callback(None)
    plans = [row["detail"] for query in said for row in store.execute(f"EXPLAIN QUERY PLAN {query}")]
    read = [plan for plan in plans if "job_outcomes" in plan]
    assert len(read) == len(said) == 5
    assert all("ended_outcomes (ended_on>? AND ended_on<?)" in plan for plan in read), read
    assert sum("COVERING" in plan for plan in read) == 4, "sums come from the index alone"


def test_every_event_that_ends_a_job_is_known_to_the_rows(store: sqlite3.Connection) -> None:
    endings = [name for name in ENDINGS if name != EventName.CALL_ENDED]  # a call is no work that is counted
    for number, name in enumerate(endings, 1):
        noted(store, claimed(store, number, NOW), EventName(name), NOW)
    rows = store.execute("SELECT ending FROM job_outcomes ORDER BY job_id")
    assert [row["ending"] for row in rows] == endings


def test_jobs_are_chosen_by_model_agent_and_repository(store: sqlite3.Connection) -> None:
    for number, (model, space) in enumerate((("m", REPO), ("n", REPO), ("m", "a/b")), 1):
        job = claimed(store, number, NOW, space)
        spend(store, job, model, 10, None)
        end(store, job, EventName.MERGED, NOW)
    days = Wanted(first=NOW.date(), last=NOW.date())
    chosen = {
        "all": days,
        "m": replace(days, model="m"),
        "m there": replace(days, model="m", space="a/b"),
        "native": replace(days, agent="native"),
        "another": replace(days, agent="codex"),
    }
    found = {name: job_outcomes.ended(store, wanted) for name, wanted in chosen.items()}
    counts = {name: sum(day.ended for day in ended.days) for name, ended in found.items()}
    assert counts == {"all": 3, "m": 2, "m there": 1, "native": 3, "another": 0}
    assert [item.name for item in found["all"].agents] == ["native"]


def test_jobs_are_counted_by_the_agents_that_worked_on_them(store: sqlite3.Connection) -> None:
    for number, (agents, space) in enumerate(
        ((("native",), REPO), (("codex",), REPO), (("native", "codex", "native"), "a/b"), ((), REPO)), 1
    ):
        job = claimed(store, number, NOW, space)
        for ordinal, agent in enumerate(agents, 1):
            session = prepare(store, job, ordinal=ordinal, agent=agent)
            sessions.end(store, session, at=NOW, ending="exited")
        end(store, job, EventName.MERGED, NOW)
    wanted = Wanted(first=NOW.date(), last=NOW.date())
    found = job_outcomes.by_agent(store, wanted)
    assert [(agent, tally.name, tally.merged) for agent, _, tally in found] == [
        ("", REPO, 1),
        ("codex", REPO, 1),
        ("native", REPO, 1),
        ("native, codex", "a/b", 1),
    ]
    assert job_outcomes.by_agent(store, replace(wanted, space="a/b")) == found[3:]


def test_a_plan_that_was_approved_is_no_failure_and_no_merge(store: sqlite3.Connection) -> None:
    for number, ending in enumerate((EventName.PLAN_ACCEPTED, EventName.MERGED), 1):
        end(store, claimed(store, number, NOW), ending, NOW)
    wanted = Wanted(first=NOW.date(), last=NOW.date())
    found = job_outcomes.ended(store, wanted)
    assert [(day.ended, day.merged) for day in found.days] == [(1, 1)]
    assert not found.failures
    [(_, _, tally)] = job_outcomes.by_agent(store, wanted)
    assert (tally.ended, tally.merged) == (1, 1)


OF_BEFORE = [name for name in ENDINGS if name not in {EventName.PLAN_ACCEPTED, EventName.CALL_ENDED}]
"""The endings of databases of before: nothing was planned then, and nobody called."""
FACTS = ("pull", "delivered", "revision", "spend", "reserve", "judge", "judge again", "end")
steps = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(FACTS), st.integers(0, 5)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_rows_say_what_the_ledger_says_also_those_of_before(happened: list[tuple[int, str, int]]) -> None:
    """One database kept its rows from the first fact on, the other made them when it was brought up to date."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as kept:
        kept.row_factory = sqlite3.Row
        migrate(kept)
        play(kept, happened)
        found = of_last_week(kept)
        rows = kept.execute("SELECT * FROM job_outcomes ORDER BY job_id").fetchall()
        kept.execute("DELETE FROM job_outcomes")
        for statement in (*OUTCOMES, *AGENTS):
            if statement.lstrip().startswith(("INSERT", "UPDATE", "WITH")):
                kept.execute(statement)
        again = kept.execute("SELECT * FROM job_outcomes ORDER BY job_id").fetchall()
        assert [tuple(row) for row in again] == [tuple(row) for row in rows]
        assert of_last_week(kept) == found


def play(store: sqlite3.Connection, happened: list[tuple[int, str, int]]) -> None:
    """Four jobs, of which each does what is said until it has ended."""
    made = [claimed(store, number, NOW - 9 * DAY, REPO if number % 2 else "a/b") for number in range(1, 5)]
    asked = [0] * len(made)
    for hour, (which, fact, amount) in enumerate(happened):
        job, at = jobs.get(store, made[which].id), NOW - 8 * DAY + timedelta(hours=5 * hour, milliseconds=7)
        if not job.is_open:
            continue
        if fact in {"spend", "reserve"}:
            asked[which] += 1
            spend(store, job, f"m{amount % 2}", 10 + amount, NANO * amount or None, ordinal=asked[which])
        elif fact.startswith("judge"):
            judged(store, job, f"rule-{amount % 2}", tuple(CheckScore)[amount % len(CheckScore)])
        elif fact == "end":
            end(store, job, EventName(OF_BEFORE[amount]), at)
        else:
            names = {
                "pull": EventName.PULL_OPENED,
                "delivered": EventName.DELIVERED,
                "revision": EventName.REVISION_ORDERED,
            }
            noted(store, job, names[fact], at)
