"""What jobs that ended came to, one by one, as the ledger, the requests to models and the evaluations say it: what the rows that the
database keeps are held against, and how they are counted up.
"""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from overlord.domain.budgets.budget import Cost
from overlord.domain.evaluation import SHOWN_LAST, CheckScore
from overlord.domain.event import EventName
from overlord.domain.inquiry import total
from overlord.domain.trend import NO_COST, Ended, FailurePattern, Tally
from overlord.store.job_history import ENDINGS

_STEPS = (EventName.PULL_OPENED, EventName.DELIVERED, EventName.REVISION_ORDERED)
_SOUND = (CheckScore.PASS, CheckScore.NOT_JUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """What a job that has ended came to."""

    job_id: int
    space: str
    claimed_at: datetime
    ended_at: datetime
    ending: str
    opened_at: datetime | None = None
    is_delivered: bool = False
    is_first_pass: bool = False
    revisions: int = 0
    agent: str = ""
    model: str = ""
    cost: Cost = NO_COST
    rules: tuple[str, ...] = ()
    """Only of a job that was not merged."""

    @property
    def pull_ms(self) -> int | None:
        if self.opened_at is None:
            return None
        return max(0, round((self.opened_at - self.claimed_at).total_seconds() * 1000))


def tally(name: str, outcomes: Iterable[JobOutcome]) -> Tally:
    """These jobs, counted up."""
    jobs = list(outcomes)
    return Tally(
        name=name,
        ended=len(jobs),
        merged=sum(job.ending == EventName.MERGED for job in jobs),
        delivered=sum(job.is_delivered for job in jobs),
        first_pass=sum(job.is_first_pass for job in jobs),
        revisions=sum(job.revisions for job in jobs),
        cost=total(job.cost for job in jobs),
        pull_ms=tuple(sorted(job.pull_ms for job in jobs if job.pull_ms is not None)),
    )


def counted(outcomes: Iterable[JobOutcome]) -> Ended:
    """These jobs, in all the ways they are counted."""
    jobs = list(outcomes)

    def by(key: Callable[[JobOutcome], str]) -> tuple[Tally, ...]:
        return tuple(
            tally(name, (job for job in jobs if key(job) == name)) for name in sorted(set(map(key, jobs)))
        )

    failed = Counter(
        (job.ending, rule) for job in jobs if job.ending != EventName.MERGED for rule in job.rules or ("",)
    )
    return Ended(
        days=by(lambda job: job.ended_at.astimezone(UTC).date().isoformat()),
        spaces=by(lambda job: job.space),
        agents=by(lambda job: job.agent),
        models=by(lambda job: job.model),
        failures=tuple(
            FailurePattern(event=event, rule=rule, jobs=jobs)
            for (event, rule), jobs in sorted(failed.items())
        ),
    )


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
    ways = _ways(connection)
    spent = _spent(connection, [row["job_id"] for row in ended])
    against = _against(connection, [row["job_id"] for row in ended if row["name"] != EventName.MERGED])
    return [
        _outcome(
            row,
            ways.get(row["job_id"], _Way()),
            spent.get(row["job_id"], _Spent()),
            against.get(row["job_id"], ()),
            _workers(connection, row["job_id"]),
        )
        for row in ended
    ]


def _workers(connection: sqlite3.Connection, job_id: int) -> Sequence[str]:
    """The agents of its work sessions, each once, in the order they began."""
    query = "SELECT agent FROM sessions WHERE job_id = ? AND kind = 'work' ORDER BY rowid"
    return list(dict.fromkeys(row["agent"] for row in connection.execute(query, (job_id,))))


def _outcome(
    row: sqlite3.Row, way: _Way, spent: _Spent, rules: Iterable[str], workers: Sequence[str]
) -> JobOutcome:
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
        agent=", ".join(workers),
        model=spent.model,
        cost=spent.cost,
        rules=tuple(rules),
    )


def _ended(connection: sqlite3.Connection, since: datetime, until: datetime, space: str) -> list[sqlite3.Row]:
    query = f"""SELECT ledger.job_id, ledger.name, ledger.at, jobs.space, jobs.created_at
                FROM ledger CROSS JOIN jobs ON jobs.id = ledger.job_id
                WHERE ledger.name IN ({_marks(ENDINGS)}) AND ledger.at BETWEEN ? AND ?
                AND (? = '' OR jobs.space = ?) ORDER BY ledger.seq"""
    return connection.execute(
        query, (*ENDINGS, since.isoformat(), until.isoformat(), space, space)
    ).fetchall()


def _ways(connection: sqlite3.Connection) -> Mapping[int, _Way]:
    query = f"SELECT job_id, name, at FROM ledger WHERE name IN ({_marks(_STEPS)}) ORDER BY seq"
    found: defaultdict[int, _Way] = defaultdict(_Way)
    for job_id, name, at in connection.execute(query, _STEPS):
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
                AND json_extract(finding.value, '$.rule') NOT IN ({_marks(SHOWN_LAST)})"""
    found: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for row in connection.execute(query, (json.dumps(job_ids), *_SOUND, *sorted(SHOWN_LAST))):
        found[row["job_id"]].setdefault(row["rule"])
    return found


def _marks(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)
