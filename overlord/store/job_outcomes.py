"""What jobs that ended came to, read for figures over weeks: a few queries over indexes for all of them, and none for each.

The ledger says when a job ended and what happened on its way: `ledger_of_name` finds those events, from the number on that
stands at the earliest claim. Rows say the rest.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.budgets.budget import Cost
from overlord.domain.evaluation import SHOWN_LAST, CheckScore
from overlord.domain.event import EventName
from overlord.domain.trend import NO_COST, JobOutcome
from overlord.store import ledger
from overlord.store.job_history import ENDINGS

_STEPS = (EventName.PULL_OPENED, EventName.DELIVERED, EventName.REVISION_ORDERED)
_SOUND = (CheckScore.PASS, CheckScore.NOT_JUDGED)


@dataclass(slots=True)
class _Way:
    """What happened to a job before it ended."""

    opened_at: str | None = None
    is_delivered: bool = False
    is_first_pass: bool = False
    revisions: int = 0


@dataclass(frozen=True, slots=True)
class _Spent:
    model: str = ""
    cost: Cost = NO_COST


def between(
    connection: sqlite3.Connection, since: datetime, until: datetime, *, space: str = ""
) -> list[JobOutcome]:
    """Of the jobs that ended in some time, both ends with it, in the order they did; of one repository where that is named."""
    ended = _ended(connection, since, until, space)
    if not ended:
        return []
    claimed = datetime.fromisoformat(min(row["created_at"] for row in ended))
    ways = _ways(connection, claimed)
    spent = _spent(connection, [row["job_id"] for row in ended])
    against = _against(connection, [row["job_id"] for row in ended if row["name"] != EventName.MERGED])
    return [
        _outcome(
            row,
            ways.get(row["job_id"], _Way()),
            spent.get(row["job_id"], _Spent()),
            against.get(row["job_id"], ()),
        )
        for row in ended
    ]


def _outcome(row: sqlite3.Row, way: _Way, spent: _Spent, rules: Iterable[str]) -> JobOutcome:
    return JobOutcome(
        job_id=row["job_id"],
        space=row["space"],
        claimed_at=datetime.fromisoformat(row["created_at"]),
        ended_at=datetime.fromisoformat(row["at"]),
        ending=row["name"],
        opened_at=datetime.fromisoformat(way.opened_at) if way.opened_at else None,
        is_delivered=way.is_delivered,
        is_first_pass=way.is_first_pass,
        revisions=way.revisions,
        model=spent.model,
        cost=spent.cost,
        rules=tuple(rules),
    )


def _ended(connection: sqlite3.Connection, since: datetime, until: datetime, space: str) -> list[sqlite3.Row]:
    query = f"""SELECT ledger.job_id, ledger.name, ledger.at, jobs.space, jobs.created_at
                FROM ledger CROSS JOIN jobs ON jobs.id = ledger.job_id
                WHERE ledger.name IN ({_marks(ENDINGS)}) AND ledger.seq >= ? AND ledger.at BETWEEN ? AND ?
                AND (? = '' OR jobs.space = ?) ORDER BY ledger.seq"""  # noqa: S608 - question marks
    first = ledger.first_since(connection, since)
    return connection.execute(
        query, (*ENDINGS, first, since.isoformat(), until.isoformat(), space, space)
    ).fetchall()


def _ways(connection: sqlite3.Connection, claimed: datetime) -> Mapping[int, _Way]:
    """Of every job that did something since the first of them was claimed: an index by job would read all their events."""
    query = f"""SELECT job_id, name, at FROM ledger WHERE name IN ({_marks(_STEPS)}) AND seq >= ?
                ORDER BY seq"""  # noqa: S608 - question marks
    found: defaultdict[int, _Way] = defaultdict(_Way)
    for job_id, name, at in connection.execute(query, (*_STEPS, ledger.first_since(connection, claimed))):
        way = found[job_id]
        if name == EventName.PULL_OPENED:
            way.opened_at = way.opened_at or at
        elif name == EventName.REVISION_ORDERED:
            way.revisions += 1
        elif not way.is_delivered:
            way.is_delivered, way.is_first_pass = True, not way.revisions
    return found


def _spent(connection: sqlite3.Connection, job_ids: Sequence[int]) -> Mapping[int, _Spent]:
    """SQLite takes `model` from the row that has the smallest id."""
    query = """SELECT job_id, model, min(id) AS first, sum(prompt + completion) AS tokens, sum(cost_nusd) AS nusd
               FROM exchanges WHERE job_id IN (SELECT value FROM json_each(?)) GROUP BY job_id"""
    rows = connection.execute(query, (json.dumps(job_ids),))
    return {row["job_id"]: _Spent(row["model"], Cost(tokens=row["tokens"], nusd=row["nusd"])) for row in rows}


def _against(connection: sqlite3.Connection, job_ids: Sequence[int]) -> Mapping[int, Iterable[str]]:
    """What the last evaluation of each job held against it, each rule once."""
    query = f"""SELECT wanted.value AS job_id, json_extract(finding.value, '$.check') || '/' ||
                       json_extract(finding.value, '$.rule') AS rule
                FROM json_each(?) AS wanted
                JOIN evaluations ON evaluations.id = (SELECT max(id) FROM evaluations WHERE job_id = wanted.value)
                JOIN json_each(evaluations.checks) AS made
                JOIN json_each(made.value, '$.findings') AS finding
                WHERE coalesce(json_extract(made.value, '$.score'), '') NOT IN ({_marks(_SOUND)})
                AND json_extract(finding.value, '$.rule') NOT IN ({_marks(SHOWN_LAST)})"""  # noqa: S608 - question marks
    found: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for row in connection.execute(query, (json.dumps(job_ids), *_SOUND, *sorted(SHOWN_LAST))):
        found[row["job_id"]].setdefault(row["rule"])
    return found


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
