"""Exchanges with models: reserved before, settled after. What a session spent is the sum of these rows and never falls."""

import sqlite3
from datetime import datetime

from overlord.domain.budget import Spending, TokenUsage
from overlord.domain.session import Session
from overlord.store.rows import insert

_SPENT = "coalesce(sum(CASE WHEN settled THEN prompt + completion ELSE 0 END), 0)"
_RESERVED = "coalesce(sum(CASE WHEN settled THEN 0 ELSE reserved END), 0)"


def spending(connection: sqlite3.Connection, session: Session) -> Spending:
    """Where a session's token budget stands. A reservation that was never settled (a daemon killed in between) counts in full."""
    query = f"SELECT {_SPENT} AS spent, {_RESERVED} AS reserved FROM exchanges WHERE session_id = ?"  # noqa: S608
    row = connection.execute(query, (session.id,)).fetchone()
    return Spending(limit=session.token_budget, spent=row["spent"], reserved=row["reserved"])


def reserve(
    connection: sqlite3.Connection, session: Session, *, tokens: int, model: str, at: datetime
) -> int | None:
    """Set tokens aside for one request and return the exchange's id; None when the budget does not allow it."""
    if not spending(connection, session).allows(tokens):
        return None
    columns = {
        "session_id": session.id,
        "job_id": session.job_id,
        "at": at,
        "model": model,
        "reserved": tokens,
    }
    return insert(connection, "exchanges", columns)


def settle(connection: sqlite3.Connection, exchange: int, *, usage: TokenUsage, status: int) -> None:
    """Put what an exchange really used in place of its reservation."""
    connection.execute(
        "UPDATE exchanges SET settled = 1, status = ?, prompt = ?, cached = ?, completion = ? WHERE id = ?",
        (status, usage.prompt, usage.cached, usage.completion, exchange),
    )


def job_usage(connection: sqlite3.Connection, job_id: int) -> tuple[TokenUsage, int]:
    """A job's tokens so far, and in how many exchanges."""
    query = """SELECT coalesce(sum(prompt), 0) AS prompt, coalesce(sum(cached), 0) AS cached,
                      coalesce(sum(completion), 0) AS completion, count(*) AS calls
               FROM exchanges WHERE job_id = ?"""
    row = connection.execute(query, (job_id,)).fetchone()
    return TokenUsage(prompt=row["prompt"], cached=row["cached"], completion=row["completion"]), row["calls"]
