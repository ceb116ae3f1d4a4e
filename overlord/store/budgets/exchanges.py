"""Exchanges with models: reserved before, settled after. What was spent is the sum of these rows and never falls.

A reservation that was never settled, because the daemon was killed in between, counts in full.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from minion.protocol import SessionKind
from overlord.domain.budgets.budget import Budget, Cost, Per, Spending, TokenUsage, Unit
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.session import Account
from overlord.store import ledger
from overlord.store.budgets import grants
from overlord.store.rows import insert, select, update

_SPENT = {Unit.TOKENS: "prompt + completion", Unit.USD: "cost_nusd"}
_RESERVED = {Unit.TOKENS: "reserved", Unit.USD: "reserved_nusd"}
_WHERE = {
    Per.SESSION: "session_id = :session",
    Per.JOB: "job_id = :job AND session_id NOT IN (SELECT id FROM sessions WHERE job_id = :job AND kind = 'draft')",
    Per.SPACE_DAY: "day = :day AND space = :space",
    Per.DAY: "day = :day",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetBalance:
    """Whose spending it is, on which day, and under which caps."""

    session: str
    """Empty where no job is concerned."""
    job: int | None
    space: str
    day: str
    """The UTC date."""
    budgets: tuple[Budget, ...]

    def mark(self, budget: Budget) -> str:
        """What tells this budget from every other, over all days and jobs."""
        whose = {
            Per.SESSION: self.session,
            Per.JOB: self.job,
            Per.SPACE_DAY: f"{self.space} {self.day}",
            Per.DAY: self.day,
        }
        return f"{budget.name} {whose[budget.per]} {budget.limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A budget that does not allow a request now. `may_pass`: only because others' requests are under way."""

    budget: Budget
    may_pass: bool


def balance(
    connection: sqlite3.Connection, account: Account, shared: Iterable[Budget], *, at: datetime
) -> BudgetBalance:
    """An account's caps: its own, and the `shared` ones with what people added to them. A draft of a skill was asked for by a
    person, long after the job whose books it is on: that job's cap is neither held against it nor filled by it."""
    found = BudgetBalance(
        session="" if account.job_id is None else account.id,
        job=account.job_id,
        space=account.space,
        day=at.date().isoformat(),
        budgets=account.budgets,
    )
    has_job_cap = account.job_id is not None and account.kind is not SessionKind.DRAFT
    counted = (cap for cap in shared if has_job_cap or cap.per is not Per.JOB)
    raised = (replace(cap, limit=cap.limit + _added(connection, found, cap)) for cap in counted)
    return replace(found, budgets=(*account.budgets, *raised))


def _added(connection: sqlite3.Connection, balance: BudgetBalance, budget: Budget) -> int:
    if budget.per is Per.JOB:
        return grants.added(connection, budget.unit, job_id=balance.job)
    space = balance.space if budget.per is Per.SPACE_DAY else None
    return grants.added(connection, budget.unit, day=balance.day, space=space)


def spending(connection: sqlite3.Connection, balance: BudgetBalance, budget: Budget) -> Spending:
    """Where one budget stands."""
    spent, reserved = _SPENT[budget.unit], _RESERVED[budget.unit]
    query = f"""SELECT coalesce(sum(CASE WHEN settled THEN {spent} ELSE 0 END), 0) AS spent,
                       coalesce(sum(CASE WHEN settled THEN 0 ELSE {reserved} END), 0) AS reserved
                FROM exchanges WHERE {_WHERE[budget.per]}"""  # noqa: S608 - constants
    names = {"session": balance.session, "job": balance.job, "space": balance.space, "day": balance.day}
    row = connection.execute(query, names).fetchone()
    return Spending(limit=budget.limit, spent=row["spent"], reserved=row["reserved"])


def reserve(
    connection: sqlite3.Connection, balance: BudgetBalance, *, cost: Cost, model: str, at: datetime
) -> int | Refusal:
    """Set the most a request can cost aside and return the exchange's id; or say which budget does not allow it."""
    for budget in balance.budgets:
        spent, amount = spending(connection, balance, budget), cost.of(budget.unit)
        if not spent.allows(amount):
            return Refusal(budget=budget, may_pass=spent.may_allow(amount))
    columns = {
        "session_id": balance.session or None,
        "job_id": balance.job,
        "space": balance.space,
        "day": balance.day,
        "at": at,
        "model": model,
        "reserved": cost.tokens,
        "reserved_nusd": cost.nusd or 0,
    }
    return insert(connection, "exchanges", columns)


def settle(
    connection: sqlite3.Connection,
    balance: BudgetBalance,
    exchange: int,
    *,
    usage: TokenUsage,
    nusd: int | None,
    status: int,
    at: datetime,
) -> None:
    """Put what an exchange really used in place of its reservation, once; people are told of each budget that nears its end."""
    settled = connection.execute(
        """UPDATE exchanges SET settled = 1, status = ?, prompt = ?, cached = ?, completion = ?, cost_nusd = ?,
           settled_at = ?, cache_written = ?
           WHERE id = ? AND NOT settled""",
        (
            status,
            usage.prompt,
            usage.cached,
            usage.completion,
            nusd,
            at.isoformat(),
            usage.cache_written,
            exchange,
        ),
    )
    if not settled.rowcount:
        return
    for budget in balance.budgets:
        spent = spending(connection, balance, budget)
        if spent.warns:
            _warn_once(connection, EventName.BUDGET_WARNED, balance, budget, spent=spent.spent, at=at)


def exhaust(connection: sqlite3.Connection, balance: BudgetBalance, budget: Budget, *, at: datetime) -> None:
    """A request was refused for good: its session remembers which budget is spent, the first time."""
    row = connection.execute("SELECT exhausted FROM sessions WHERE id = ?", (balance.session,)).fetchone()
    if row is not None and row["exhausted"] is None:
        update(connection, "sessions", balance.session, {"exhausted": budget})
    spent = spending(connection, balance, budget).spent
    _warn_once(connection, EventName.BUDGET_SPENT, balance, budget, spent=spent, at=at)


def _warn_once(
    connection: sqlite3.Connection,
    name: EventName,
    balance: BudgetBalance,
    budget: Budget,
    *,
    spent: int,
    at: datetime,
) -> None:
    mark = f"{name} {balance.mark(budget)}"
    row = "INSERT OR IGNORE INTO budget_marks (mark, at) VALUES (?, ?)"
    if not connection.execute(row, (mark, at.isoformat())).rowcount:
        return
    data: dict[str, Json] = {
        "budget": budget.name,
        "says": budget.describe(),
        "limit": budget.limit,
        "spent": spent,
        "session": balance.session,
    }
    ledger.append(connection, LedgerEvent(name=name, at=at, job_id=balance.job, data=data))


def job_usage(connection: sqlite3.Connection, job_id: int) -> tuple[TokenUsage, int]:
    """A job's tokens so far, and in how many exchanges that had a reply or wait for one."""
    query = """SELECT coalesce(sum(prompt), 0) AS prompt, coalesce(sum(cached), 0) AS cached,
                      coalesce(sum(completion), 0) AS completion,
                      coalesce(sum(coalesce(status, 0) < 400), 0) AS calls
               FROM exchanges WHERE job_id = ?"""
    row = connection.execute(query, (job_id,)).fetchone()
    return TokenUsage(prompt=row["prompt"], cached=row["cached"], completion=row["completion"]), row["calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request to a model, as it was settled; what never was has no end."""

    id: int
    model: str
    at: datetime
    settled_at: datetime | None
    status: int | None
    prompt: int
    cached: int
    completion: int


def of_session(connection: sqlite3.Connection, session_id: str) -> list[Exchange]:
    """Every exchange of a session, oldest first."""
    query = """SELECT id, model, at, settled_at, status, prompt, cached, completion
               FROM exchanges WHERE session_id = ? ORDER BY id"""
    return select(connection, Exchange, query, session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExchange:
    """One request to a model on a job's books, and what it cost."""

    session_id: str
    model: str
    at: datetime
    status: int | None
    """None while it is under way, or where it was cut off."""
    prompt: int
    cached: int
    completion: int
    cost_nusd: int | None

    @property
    def cost(self) -> Cost:
        return Cost(tokens=self.prompt + self.completion, nusd=self.cost_nusd)


def of_job(connection: sqlite3.Connection, job_id: int) -> list[JobExchange]:
    """Every request of a job's sessions, oldest first."""
    query = """SELECT session_id, model, at, status, prompt, cached, completion, cost_nusd
               FROM exchanges WHERE job_id = ? ORDER BY id"""
    return [
        JobExchange(
            session_id=session,
            model=model,
            at=datetime.fromisoformat(at),
            status=status,
            prompt=prompt,
            cached=cached,
            completion=completion,
            cost_nusd=cost_nusd,
        )
        for session, model, at, status, prompt, cached, completion, cost_nusd in connection.execute(
            query, (job_id,)
        )
    ]


def last_answered(connection: sqlite3.Connection) -> datetime | None:
    """When a model last gave a reply, as far as the newest requests tell."""
    query = """SELECT settled_at FROM (SELECT id, settled_at, status FROM exchanges ORDER BY id DESC LIMIT 1000)
               WHERE status < 400 ORDER BY id DESC LIMIT 1"""
    row = connection.execute(query).fetchone()
    return datetime.fromisoformat(row["settled_at"]) if row and row["settled_at"] else None


def models_of(connection: sqlite3.Connection, job_id: int) -> tuple[str, ...]:
    """The models that answered a job's sessions."""
    query = "SELECT DISTINCT model FROM exchanges WHERE job_id = ? AND status < 400 ORDER BY model"
    return tuple(row["model"] for row in connection.execute(query, (job_id,)))


def models_by_session(connection: sqlite3.Connection, job_id: int) -> dict[str, tuple[str, ...]]:
    """The models that answered, of each session of a job that called one, in the order they did."""
    query = """SELECT session_id, model FROM exchanges WHERE job_id = ? AND status < 400
               GROUP BY session_id, model ORDER BY min(id)"""
    found: dict[str, tuple[str, ...]] = {}
    for session, model in connection.execute(query, (job_id,)):
        found[session] = (*found.get(session, ()), model)
    return found


def job_cost(connection: sqlite3.Connection, job_id: int) -> int | None:
    """What a job's exchanges cost so far, in nano-dollars; None when none of their models has a price."""
    query = "SELECT sum(cost_nusd) AS cost FROM exchanges WHERE job_id = ?"
    cost: int | None = connection.execute(query, (job_id,)).fetchone()["cost"]
    return cost


def day_cost(connection: sqlite3.Connection, at: datetime) -> Cost:
    """What was spent on the day of a moment: tokens, and nano-dollars where models have prices."""
    query = """SELECT coalesce(sum(prompt + completion), 0) AS tokens, sum(cost_nusd) AS nusd
               FROM exchanges WHERE day = ?"""
    row = connection.execute(query, (at.date().isoformat(),)).fetchone()
    return Cost(tokens=row["tokens"], nusd=row["nusd"])
