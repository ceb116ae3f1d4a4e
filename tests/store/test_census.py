"""What a scrape reads: sums agree with the rows they were made of, outlive them, and cost the same whatever is over."""

import re
import sqlite3
from datetime import timedelta

from overlord.domain.budgets.budget import TokenUsage
from overlord.domain.event import EventName
from overlord.domain.job import JobState
from overlord.store import counts, decisions, jobs, ledger, sessions
from overlord.store.budgets import exchanges
from overlord.store.database import Database
from tests.records import NOW, REPO
from tests.store.test_exchanges import reserve
from tests.stored import ask, claim, prepare

GROWING = (
    r"SCAN (jobs|sessions|exchanges|ledger|decisions|evaluations|evidence|messages|requests)\b(?!.*INDEX)"
)


def work(connection: sqlite3.Connection, number: int, *, minutes: float, status: int = 200) -> None:
    """A job of one session with one call, merged after some minutes."""
    job = claim(connection, number)
    session = prepare(connection, job)
    later = NOW + timedelta(minutes=minutes)
    sessions.start(connection, session, at=NOW)
    jobs.move(connection, job.id, EventName.SESSION_STARTED, at=NOW)
    exchange = reserve(connection, session, 100)
    assert isinstance(exchange, int)
    balance = exchanges.balance(connection, session.account(REPO), (), at=NOW)
    usage = TokenUsage(prompt=70, cached=20, completion=10)
    for _ in range(2):  # settled once, however often it is said
        exchanges.settle(connection, balance, exchange, usage=usage, nusd=5, status=status, at=later)
    sessions.end(connection, session, at=later, ending="exited: 0")
    jobs.move(connection, job.id, EventName.MERGED, at=later)


async def test_sums_are_those_of_the_rows(database: Database) -> None:
    def act(c: sqlite3.Connection) -> counts.Census:
        work(c, 1, minutes=0.1)
        work(c, 2, minutes=4, status=429)
        work(c, 3, minutes=300, status=502)
        return counts.take(c)

    totals = (await database.write("by hand", act)).totals
    assert totals["jobs"] == {(REPO, "completed", ""): 3}
    assert totals["sessions"] == {("work", "exited", ""): 3}
    assert totals["session_s"] == {("work", "10", ""): 1, ("work", "300", ""): 1, ("work", "+Inf", ""): 1}
    assert totals["session_ms"]["work", "", ""] == (6 + 240 + 18_000) * 1000
    assert totals["calls"] == {("m", "ok", ""): 1, ("m", "busy", ""): 1, ("m", "failed", ""): 1}
    assert totals["tokens"] == {
        ("m", "prompt", ""): 150,
        ("m", "cached", ""): 60,
        ("m", "completion", ""): 30,
    }
    assert totals["spend_nusd"] == {("m", REPO, ""): 15}
    assert totals["facts"]["merged", "", ""] == 3
    assert sum(totals["facts"].values()) == await database.read(ledger.last_number)


async def test_what_stands_somewhere_does_so_since_it_came_there(database: Database) -> None:
    def act(c: sqlite3.Connection) -> counts.Census:
        first = claim(c, 1)
        claim(c, 2)
        jobs.move(c, first.id, EventName.DISPATCH_REFUSED, at=NOW + timedelta(minutes=1))
        jobs.note(c, first.id, EventName.STEP_FAILED, at=NOW + timedelta(minutes=9))
        ask(c, first)
        work(c, 3, minutes=2)
        return counts.take(c)

    found = await database.write("by hand", act)
    assert found.oldest == {JobState.QUEUED: NOW, JobState.WAITING: NOW + timedelta(minutes=1)}
    assert found.jobs == {(REPO, "queued"): 1, (REPO, "waiting"): 1}
    assert sum(found.decisions.values()) == 1
    assert found.decision_since == (await database.read(decisions.waiting))[0].created_at


async def test_a_fact_that_is_taken_back_was_never_counted(database: Database) -> None:
    def act(c: sqlite3.Connection) -> None:
        work(c, 1, minutes=1)
        raise ZeroDivisionError

    before = (await database.read(counts.take)).totals
    try:
        await database.write("by hand", act)
    except ZeroDivisionError:
        assert (await database.read(counts.take)).totals == before


async def test_no_look_goes_over_everything_that_ever_was(database: Database) -> None:
    def plans(connection: sqlite3.Connection) -> list[str]:
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        counts.take(connection)
        connection.set_trace_callback(None)
        queries = [query for query in asked if query.startswith("SELECT")]
        assert len(queries) > 5
        return [
            row["detail"] for query in queries for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")
        ]

    assert [plan for plan in await database.read(plans) if re.search(GROWING, plan)] == []
