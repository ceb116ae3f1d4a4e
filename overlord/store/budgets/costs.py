"""What was spent, by day, repository and session. A reservation that was never settled counts as nothing spent here."""

import sqlite3
from datetime import datetime

from overlord.domain.budgets.budget import Cost

_COST = "coalesce(sum(prompt + completion), 0) AS tokens, sum(cost_nusd) AS nusd"


def by_day_and_space(connection: sqlite3.Connection, since: str, until: str) -> list[tuple[str, str, Cost]]:
    """Of each day from `since` to `until` (dates of UTC), and each repository that spent something then."""
    query = f"""SELECT day, space, {_COST} FROM exchanges WHERE day >= ? AND day <= ?
                GROUP BY day, space ORDER BY day DESC, space"""  # noqa: S608 - a constant
    return [(row["day"], row["space"], _cost(row)) for row in connection.execute(query, (since, until))]


def by_session(connection: sqlite3.Connection, job_id: int) -> list[tuple[str, Cost]]:
    """Of each session of a job that called a model, in the order they began."""
    query = f"""SELECT session_id, {_COST} FROM exchanges WHERE job_id = ?
                GROUP BY session_id ORDER BY min(id)"""  # noqa: S608 - a constant
    return [(row["session_id"], _cost(row)) for row in connection.execute(query, (job_id,))]


def of_job(connection: sqlite3.Connection, job_id: int) -> Cost:
    """Of one job so far."""
    query = f"SELECT {_COST} FROM exchanges WHERE job_id = ?"  # noqa: S608 - a constant
    return _cost(connection.execute(query, (job_id,)).fetchone())


def of_open_jobs(connection: sqlite3.Connection) -> dict[int, Cost]:
    """Of each open job so far that called a model."""
    query = f"""SELECT job_id, {_COST} FROM exchanges WHERE job_id IN (SELECT id FROM jobs WHERE is_open)
                GROUP BY job_id"""  # noqa: S608 - a constant
    return {row["job_id"]: _cost(row) for row in connection.execute(query)}


def since(connection: sqlite3.Connection, at: datetime) -> Cost:
    """Of everything from a moment on."""
    day = at.date().isoformat()
    query = f"SELECT {_COST} FROM exchanges WHERE day >= ? AND at >= ?"  # noqa: S608 - a constant
    return _cost(connection.execute(query, (day, at.isoformat())).fetchone())


def _cost(row: sqlite3.Row) -> Cost:
    return Cost(tokens=row["tokens"], nusd=row["nusd"])
