"""What people are shown who ask, read from a database as the daemon fills it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import NANO, Cost, TokenUsage
from overlord.domain.decision import Subject, Verb
from overlord.domain.evaluation import CheckName, CheckScore
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.domain.model_fault import FaultKind, ModelOutage
from overlord.domain.question import ask_about_space
from overlord.domain.text.reference import IssueRef, JobRef, Target
from overlord.errors import NotFound, Refused
from overlord.queries import overview
from overlord.settings.load import Settings, load
from overlord.store import decisions, job_history, jobs, sessions
from overlord.store.budgets import exchanges, grants, model_outages
from overlord.store.budgets.exchanges import BudgetBalance
from overlord.store.budgets.grants import GrantKind
from overlord.store.checks import evaluations
from overlord.store.schema.migrations import migrate
from overlord.store.spaces import spaces
from overlord.verbs import commands
from tests.records import HEAD, NOW, REPO, a_check, a_finding, an_issue, contract, later
from tests.stored import ask, evaluating, prepare

OTHER = "acme/other"
DAY_S = 86400


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        migrate(connection)
        yield connection


def settings(**given: Any) -> Settings:
    return load({"OVERLORD_HOME": "/nonexistent/o"}, repositories=[REPO, OTHER], **given)


def claimed(store: sqlite3.Connection, number: int, *, space: str = REPO, **given: Any) -> Job:
    job = jobs.claim(
        store,
        space=space,
        issue=an_issue(number=number),
        base_branch="main",
        contract=contract(),
        at=NOW,
        **given,
    )
    assert job is not None
    return job


def spend(
    store: sqlite3.Connection,
    job: Job,
    tokens: int,
    *,
    nusd: int | None = None,
    at: datetime = NOW,
    ordinal: int = 1,
) -> None:
    identifier = f"j{job.id}-work-{ordinal}"
    if identifier not in {item.id for item in sessions.of_job(store, job.id)}:
        sessions.end(store, prepare(store, job, ordinal=ordinal), at=at, ending="exited")
    balance = BudgetBalance(
        session=identifier, job=job.id, space=job.space, day=at.date().isoformat(), budgets=()
    )
    number = exchanges.reserve(store, balance, cost=Cost(tokens=tokens), model="m", at=at)
    assert isinstance(number, int)
    usage = TokenUsage(prompt=tokens - 1, completion=1)
    exchanges.settle(store, balance, number, usage=usage, nusd=nusd, status=200, at=at)


def end(store: sqlite3.Connection, job: Job, event: EventName, *, at: datetime) -> None:
    jobs.move(store, job.id, event, at=at, data={"reason": "x", "pull": 3}, reason=str(event))


def test_status_shows_everything_that_needs_somebody(store: sqlite3.Connection) -> None:
    job = evaluating(store)
    session = prepare(store, job)
    sessions.mark(store, session.id, turn=2, last_action="ran pytest")
    asked = ask(store, job)
    gone = ask_about_space(OTHER, Subject.SPACE_GONE, "404", at=NOW)
    decisions.raise_decision(store, gone)
    spaces.pause(store, OTHER, paused=True)
    spaces.note_poll(store, REPO, at=NOW, trouble="the forge is away")
    commands.pause_work(store, REPO, actor="cli:alice", at=NOW)
    found = overview.status(store, settings(), at=later(60))
    assert [(view.job.id, view.doing) for view in found.jobs] == [(job.id, "turn 2: ran pytest")]
    assert [(item.decision.id, item.space, item.issue_number) for item in found.waiting] == [
        (asked.id, REPO, 7),
        (asked.id + 1, OTHER, None),
    ]
    assert [(item.name, item.trouble, item.is_gone) for item in found.poll_errors] == [
        (REPO, "the forge is away", False),
        (OTHER, "", True),
    ]
    assert [pause.line for pause in found.pauses] == ["acme/calc: Paused by alice"]
    assert found.today == Cost(tokens=0)


def test_the_queue_stands_in_the_order_of_its_beginnings(store: sqlite3.Connection) -> None:
    first, held, setup, gone = (
        claimed(store, 1),
        claimed(store, 2),
        claimed(store, 3),
        claimed(store, 4, space=OTHER),
    )
    urgent = claimed(store, 5, is_urgent=True)
    jobs.repair(store, held.id, reason="It waits: no more than 5 pull requests")
    prepare(store, setup, SessionKind.SETUP)
    spaces.pause(store, OTHER, paused=True)
    queue = overview.queue(store, settings(), at=NOW)
    assert [(item.job.id, item.why) for item in queue.jobs] == [
        (setup.id, "its environment is being set up"),
        (urgent.id, "it is next"),
        (first.id, "behind 1 other job"),
        (held.id, "It waits: no more than 5 pull requests"),
        (gone.id, "its repository cannot be found"),
    ]
    assert (queue.running, queue.most) == (1, 3)
    full = overview.queue(store, settings(sessions={"concurrent": 1}), at=NOW)
    assert full.jobs[1].why == "1 of 1 sessions run"
    own = settings(spaces={REPO: {"sessions": {"concurrent": 1}}})
    assert overview.queue(store, own, at=NOW).jobs[1].why == f"1 of 1 sessions of {REPO} run"
    prepare(store, first)
    assert overview.queue(store, settings(), at=NOW).jobs[0].why == "its session is being started"
    commands.pause_work(store, None, actor="cli:alice", reason="lunch", at=NOW)
    paused = overview.queue(store, settings(), at=NOW)
    assert {item.why for item in paused.jobs} == {"Everything is paused by alice: lunch"}


def test_history_tells_how_jobs_ended_newest_first(store: sqlite3.Connection) -> None:
    merged, stopped = claimed(store, 1), claimed(store, 2)
    claimed(store, 3)
    spend(store, merged, 100, nusd=NANO)
    end(store, merged, EventName.MERGED, at=later(3600))
    end(store, stopped, EventName.STOPPED, at=later(7200))
    jobs.note(store, stopped.id, EventName.STEP_FAILED, at=later(DAY_S), data={"trouble": "a label"})
    found = overview.history(store, at=later(DAY_S))
    assert [(item.job.id, item.job.state, item.took_s, item.cost) for item in found.jobs] == [
        (stopped.id, JobState.CANCELLED, 7200.0, Cost(tokens=0)),
        (merged.id, JobState.COMPLETED, 3600.0, Cost(tokens=100, nusd=NANO)),
    ]
    assert len(overview.history(store, at=NOW, limit=1).jobs) == 1


def test_a_job_whose_end_no_event_tells_ended_when_it_was_last_changed(store: sqlite3.Connection) -> None:
    assert job_history.ended_at(store, claimed(store, 1)) == NOW


def test_why_tells_the_last_events_and_what_is_open(store: sqlite3.Connection) -> None:
    job = evaluating(store)
    row = evaluations.current(store, job, at=NOW)
    failed = a_check(CheckName.TESTS, CheckScore.FAIL, "1 failed", findings=(a_finding(),))
    evaluations.add_check(store, row, failed, at=NOW)
    asked = ask(store, job)
    for number in range(10):
        jobs.note(
            store, job.id, EventName.STEP_FAILED, at=later(number), data={"trouble": f"trouble {number}"}
        )
    found = overview.why(store, job.id, at=NOW)
    assert (len(found.told), found.earlier) == (8, 7)
    assert found.told[-1].sentence == "a step failed and is tried again later: trouble 9"
    assert [decision.id for decision in found.decisions] == [asked.id]
    assert [finding.rule for finding in found.findings] == ["test-failed"]
    with pytest.raises(NotFound):
        overview.why(store, 99, at=NOW)
    fresh = overview.why(store, claimed(store, 99).id, at=NOW)
    assert (fresh.earlier, fresh.findings, len(fresh.told)) == (0, (), 1)


def test_costs_by_day_and_repository_and_what_caps_leave(store: sqlite3.Connection) -> None:
    mine, other = claimed(store, 1), claimed(store, 2, space=OTHER)
    spend(store, mine, 100, nusd=NANO)
    spend(store, other, 30)
    spend(store, mine, 7, at=NOW - timedelta(days=6), ordinal=2)
    spend(store, mine, 9, at=NOW - timedelta(days=7), ordinal=3)
    grants.add(store, mine.id, GrantKind.TOKENS, 50, by="cli:alice", at=NOW)
    given = settings(budget={"day_tokens": 1000, "space_day_tokens": 500, "job_tokens": 200})
    today = overview.cost(store, given, at=NOW)
    assert today.total == Cost(tokens=130, nusd=NANO)
    assert [(share.name, share.cost.tokens) for share in today.spaces] == [(REPO, 100), (OTHER, 30)]
    assert sorted((cap.space, cap.budget.limit, cap.spending.left) for cap in today.caps) == [
        ("", 1050, 920),
        (REPO, 550, 450),
        (OTHER, 500, 470),
    ]
    week = overview.cost(store, given, at=NOW, days=overview.WEEK)
    assert (len(week.days), week.total.tokens) == (7, 137)
    assert (week.days[0].day, week.days[6].cost.tokens) == ("2026-03-02", 7)
    job = overview.job_cost(store, given, mine.id, at=NOW)
    assert [(share.name, share.cost.tokens) for share in job.sessions] == [
        ("j1-work-1", 100),
        ("j1-work-2", 7),
        ("j1-work-3", 9),
    ]
    [cap] = job.caps
    assert (job.total.tokens, cap.budget.limit, cap.spending.left) == (116, 250, 134)


def test_the_briefing_is_about_what_was_since_the_last_one(store: sqlite3.Connection) -> None:
    old, merged, stopped, open_one = (claimed(store, number) for number in range(1, 5))
    spend(store, old, 40)
    end(store, old, EventName.MERGED, at=later(10))
    jobs.note(store, old.id, EventName.STEP_FAILED, at=later(DAY_S + 60), data={"trouble": "a label"})
    end(store, merged, EventName.MERGED, at=later(DAY_S + 1))
    end(store, stopped, EventName.STOPPED, at=later(DAY_S))
    spend(store, open_one, 5, at=later(DAY_S))
    store.execute("UPDATE jobs SET state = 'in_review', pull_number = 9 WHERE id = ?", (open_one.id,))
    asked = ask(store, open_one)
    found = overview.brief(store, since=later(DAY_S), at=later(2 * DAY_S))
    assert [job.id for job in found.finished] == [merged.id]
    assert [job.id for job in found.failed] == [stopped.id]
    assert [job.id for job in found.to_review] == [open_one.id]
    assert [item.decision.id for item in found.waiting] == [asked.id]
    assert found.spent == Cost(tokens=5)


def test_a_job_is_meant_by_its_number_its_issue_or_its_pull_request(store: sqlite3.Connection) -> None:
    first = claimed(store, 7)
    end(store, first, EventName.STOPPED, at=NOW)
    second = claimed(store, 7)
    jobs.repair(store, second.id, pull_number=9)
    meant: dict[Target, int] = {
        JobRef(number=1): first.id,
        JobRef(number=2): second.id,
        IssueRef(number=7): second.id,
        IssueRef(number=9): second.id,
        IssueRef(number=7, space="ACME/calc"): second.id,
    }
    assert {target: jobs.meant(store, target).id for target in meant} == meant
    for missing in (JobRef(number=3), IssueRef(number=8), IssueRef(number=7, space=OTHER)):
        with pytest.raises(NotFound):
            jobs.meant(store, missing)
    third = claimed(store, 7, space=OTHER)
    with pytest.raises(Refused, match="say in which repository: acme/calc#7 or acme/other#7"):
        jobs.meant(store, IssueRef(number=7))
    assert jobs.meant(store, IssueRef(number=7, space=OTHER)).id == third.id
    end(store, third, EventName.STOPPED, at=NOW)
    assert jobs.meant(store, IssueRef(number=7)).id == second.id, "the open one counts"


def test_asking_changes_nothing(store: sqlite3.Connection, tmp_path: Path) -> None:
    job = evaluating(store)
    ask(store, job, verbs=(Verb.RETRY, Verb.DROP), head_sha=HEAD)
    before = list(store.iterdump())
    given, at = settings(), NOW
    overview.status(store, given, at=at)
    overview.queue(store, given, at=at)
    overview.history(store, at=at)
    overview.why(store, job.id, at=at)
    overview.cost(store, given, at=at, days=7)
    overview.job_cost(store, given, job.id, at=at)
    overview.brief(store, since=at, at=at)
    assert list(store.iterdump()) == before


def test_a_model_that_gives_no_replies_is_named_with_its_jobs_and_for_how_long_it_is_tried(
    store: sqlite3.Connection,
) -> None:
    session = prepare(store)
    balance = exchanges.balance(store, session.account(REPO), (), at=NOW)
    exchanges.reserve(store, balance, cost=Cost(tokens=1, nusd=None), model="gpt-x", at=NOW)
    tried: dict[str, Any] = {"kind": FaultKind.BUSY, "detail": "429: Slow down", "since": NOW}
    for model in ("gpt-x", "gpt-y"):
        model_outages.put(store, ModelOutage(model=model, until=later(420), **tried), at=NOW)
    found = overview.status(store, load({}), at=NOW)
    said = "the model gpt-x is busy (429), trying again for 7 minutes"
    assert [view.doing for view in found.jobs] == [said]
    assert overview.why(store, session.job_id, at=NOW).view.doing == said
    assert [outage.line(NOW) for outage in found.outages] == [
        "the model gpt-x is busy (429: Slow down), trying again for 7 minutes",
        "the model gpt-y is busy (429: Slow down), for 0 seconds now",
    ]
    model_outages.end(store, "gpt-x", at=NOW)
    assert overview.status(store, load({}), at=NOW).jobs[0].doing == session.id
