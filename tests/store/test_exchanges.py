"""Exchanges: set aside before, settled once, never over a cap, and people are told once of each budget."""

import json
import sqlite3
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import NANO, Budget, Cost, Per, TokenUsage, Unit
from overlord.domain.session import Session, SessionState
from overlord.store import sessions
from overlord.store.budgets import exchanges, grants
from overlord.store.budgets.exchanges import BudgetBalance, Refusal
from overlord.store.budgets.grants import GrantKind
from overlord.store.database import Database
from overlord.store.rows import insert
from overlord.store.schema.migrations import migrate
from tests.records import NOW, REPO
from tests.stored import claim, prepare

DAY_TOKENS = Budget(per=Per.DAY, unit=Unit.TOKENS, limit=1000)
SPACE_USD = Budget(per=Per.SPACE_DAY, unit=Unit.USD, limit=NANO)
JOB_TOKENS = Budget(per=Per.JOB, unit=Unit.TOKENS, limit=500)


def reserve(connection: sqlite3.Connection, session: Session, tokens: int, *caps: Budget) -> int | Refusal:
    """At a dollar for a thousand tokens."""
    balance = exchanges.balance(connection, session.account(REPO), caps, at=NOW)
    cost = Cost(tokens=tokens, nusd=tokens * NANO // 1000)
    return exchanges.reserve(connection, balance, cost=cost, model="m", at=NOW)


def settle(
    connection: sqlite3.Connection, session: Session, exchange: object, tokens: int, *caps: Budget
) -> None:
    assert isinstance(exchange, int)
    exchanges.settle(
        connection,
        exchanges.balance(connection, session.account(REPO), caps, at=NOW),
        exchange,
        usage=TokenUsage(prompt=tokens),
        nusd=tokens * NANO // 1000,
        status=200,
        at=NOW,
    )


def refused(taken: int | Refusal) -> tuple[str, bool] | None:
    return (taken.budget.name, taken.may_pass) if isinstance(taken, Refusal) else None


async def test_what_is_reserved_counts_until_it_is_settled(database: Database) -> None:
    def act(c: sqlite3.Connection) -> None:
        session = prepare(c, token_budget=100)
        first = reserve(c, session, 80)
        assert refused(reserve(c, session, 30)) == ("session_tokens", True)
        settle(c, session, first, 20)
        assert refused(reserve(c, session, 80)) is None
        assert refused(reserve(c, session, 81)) == ("session_tokens", False)

    await database.write("by hand", act)


async def test_an_exchange_is_settled_once(database: Database) -> None:
    def act(c: sqlite3.Connection) -> TokenUsage:
        session = prepare(c, token_budget=100)
        exchange = reserve(c, session, 80)
        settle(c, session, exchange, 20)
        settle(c, session, exchange, 0)
        return exchanges.job_usage(c, session.job_id)[0]

    assert (await database.write("by hand", act)).prompt == 20


async def test_caps_over_jobs_spaces_and_days_hold_together(database: Database) -> None:
    def act(c: sqlite3.Connection) -> None:
        one, other = prepare(c, claim(c, 1)), prepare(c, claim(c, 2))
        settle(c, one, reserve(c, one, 400, JOB_TOKENS), 400)
        assert refused(reserve(c, one, 101, JOB_TOKENS)) == ("job_tokens", False)
        assert refused(reserve(c, other, 101, JOB_TOKENS)) is None
        assert refused(reserve(c, other, 500, DAY_TOKENS)) == ("day_tokens", True)
        assert refused(reserve(c, other, 601, SPACE_USD)) == ("space_day_usd", False)

    await database.write("by hand", act)


async def test_a_drafts_calls_and_its_jobs_cap_have_nothing_to_do_with_each_other(database: Database) -> None:
    def act(c: sqlite3.Connection) -> None:
        job = claim(c)
        work = prepare(c, job, token_budget=1000)
        draft = prepare(c, job, SessionKind.DRAFT, token_budget=1000, state=SessionState.ENDED)
        settle(c, work, reserve(c, work, 400, JOB_TOKENS), 400, JOB_TOKENS)
        settle(c, draft, reserve(c, draft, 300, JOB_TOKENS, DAY_TOKENS), 300)
        assert refused(reserve(c, work, 101, JOB_TOKENS)) == ("job_tokens", False)
        assert refused(reserve(c, work, 100, JOB_TOKENS)) is None
        assert refused(reserve(c, draft, 201, JOB_TOKENS, DAY_TOKENS)) == ("day_tokens", True)

    await database.write("by hand", act)


async def test_what_people_add_raises_the_caps_of_that_day(database: Database) -> None:
    def act(c: sqlite3.Connection) -> None:
        session = prepare(c, claim(c, 1))
        grants.add(c, session.job_id, GrantKind.TOKENS, 50, by="cli:alice", at=NOW)
        grants.add(c, session.job_id, GrantKind.USD, NANO, by="cli:alice", at=NOW)
        caps = (JOB_TOKENS, SPACE_USD, DAY_TOKENS)
        limits = [
            budget.limit for budget in exchanges.balance(c, session.account(REPO), caps, at=NOW).budgets[1:]
        ]
        assert limits == [550, 2 * NANO, 1050]
        tomorrow = exchanges.balance(c, session.account(REPO), caps, at=NOW + timedelta(days=1)).budgets[1:]
        assert [budget.limit for budget in tomorrow] == [550, NANO, 1000]

    await database.write("by hand", act)


async def test_people_are_told_once_of_a_budget_that_nears_its_end_and_once_of_its_end(
    database: Database,
) -> None:
    def act(c: sqlite3.Connection) -> None:
        session = prepare(c, token_budget=100)
        for tokens in (79, 1, 5):
            settle(c, session, reserve(c, session, tokens), tokens)
        balance = exchanges.balance(c, session.account(REPO), (), at=NOW)
        exchanges.exhaust(c, balance, balance.budgets[0], at=NOW)
        exchanges.exhaust(c, balance, balance.budgets[0], at=NOW)
        assert sessions.get(c, session.id).exhausted == balance.budgets[0]

    await database.write("by hand", act)
    query = "SELECT name, data FROM ledger WHERE name LIKE 'budget%' ORDER BY seq"
    told = await database.read(lambda c: [(row["name"], json.loads(row["data"])) for row in c.execute(query)])
    assert [(name, data["spent"]) for name, data in told] == [("budget_warned", 80), ("budget_spent", 85)]


async def test_costs_are_summed_by_job_and_day(database: Database) -> None:
    def act(c: sqlite3.Connection) -> None:
        session = prepare(c)
        assert exchanges.job_cost(c, session.job_id) is None
        settle(c, session, reserve(c, session, 100), 40)
        assert exchanges.job_cost(c, session.job_id) == 40 * NANO // 1000
        assert exchanges.day_cost(c, NOW) == Cost(tokens=40, nusd=40 * NANO // 1000)
        assert exchanges.day_cost(c, NOW + timedelta(days=1)) == Cost(tokens=0)

    await database.write("by hand", act)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 100), st.booleans()), max_size=20))
def test_no_order_of_requests_goes_over_a_cap(requests: list[tuple[int, int, bool]]) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    migrate(connection)
    session = prepare(connection, token_budget=200)
    balance: BudgetBalance = exchanges.balance(connection, session.account(REPO), (), at=NOW)
    spent = 0
    for most, share, is_settled in requests:
        exchange = reserve(connection, session, most)
        if isinstance(exchange, int) and is_settled:
            settle(connection, session, exchange, most * share // 100)
        standing = exchanges.spending(connection, balance, balance.budgets[0])
        assert standing.spent + standing.reserved <= 200
        assert standing.spent >= spent
        spent = standing.spent
    connection.close()


async def test_the_models_that_answered_are_known_by_session(database: Database) -> None:
    def act(c: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
        job = claim(c)
        one = prepare(c, job, state=SessionState.ENDED).id
        two = prepare(c, job, SessionKind.CHECK).id
        asked = (
            (two, "spare", 200),
            (two, "first", 200),
            (one, "first", 200),
            (two, "first", 200),
            (one, "away", 529),
        )
        for session, model, status in asked:
            columns = {"session_id": session, "job_id": job.id, "space": REPO, "day": "2026-03-02", "at": NOW}
            insert(c, "exchanges", {**columns, "model": model, "status": status, "reserved": 0})
        return exchanges.models_by_session(c, job.id)

    found = await database.write("by hand", act)
    assert found == {"j1-check-1": ("spare", "first"), "j1-work-1": ("first",)}
