"""What jobs that ended came to, counted up for figures over weeks: sums over rows that the database keeps (`schema/outcomes.py`).

One query a kind of sum, each from an index that holds all of it by the day: after ten thousand jobs all of them together take some
twenty milliseconds, and as many records made here would take ten times that.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from overlord.domain.budgets.budget import Cost
from overlord.domain.evaluation import SHOWN_LAST
from overlord.domain.event import EventName
from overlord.domain.trend import Ended, FailurePattern, Tally

_SUMS = f"""count(*), sum(ending = '{EventName.MERGED}'), sum(is_delivered), sum(is_first_pass), sum(revisions), sum(tokens),
    sum(nusd), group_concat(pull_ms)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which jobs that ended are asked for: of some days of UTC, the first and the last with them. Empty names are for all."""

    first: date
    last: date
    space: str = ""
    agent: str = ""
    model: str = ""


def ended(connection: sqlite3.Connection, wanted: Wanted) -> Ended:
    """What they came to."""
    return Ended(
        days=tuple(_tallies(connection, "ended_on", wanted)),
        spaces=tuple(_tallies(connection, "space", wanted)),
        agents=tuple(_tallies(connection, "agent", wanted)),
        models=tuple(_tallies(connection, "model", wanted)),
        failures=tuple(_failures(connection, wanted)),
    )


def by_agent(connection: sqlite3.Connection, wanted: Wanted) -> list[tuple[str, str, Tally]]:
    """The same by agent, model and repository: each tally has the repository's name."""
    where, values = _where(wanted)
    query = f"""SELECT agent, model, space, {_SUMS} FROM job_outcomes WHERE {where}
                GROUP BY agent, model, space"""  # noqa: S608 - words of ours
    return [(row[0], row[1], _tally(row[2:])) for row in connection.execute(query, values)]


def _tallies(connection: sqlite3.Connection, by: str, wanted: Wanted) -> Iterator[Tally]:
    where, values = _where(wanted)
    query = f"SELECT {by}, {_SUMS} FROM job_outcomes WHERE {where} GROUP BY {by}"  # noqa: S608 - words of ours
    yield from map(_tally, connection.execute(query, values))


def _tally(row: Sequence[Any]) -> Tally:
    name, jobs, merged, delivered, first_pass, revisions, tokens, nusd, times = row
    return Tally(
        name=name,
        ended=jobs,
        merged=merged,
        delivered=delivered,
        first_pass=first_pass,
        revisions=revisions,
        cost=Cost(tokens=tokens, nusd=nusd),
        pull_ms=tuple(map(int, times.split(","))) if times else (),
    )


def _failures(connection: sqlite3.Connection, wanted: Wanted) -> Iterator[FailurePattern]:
    """How jobs ended without a merge. One with several rules is counted under each; what is told and held against nobody is none."""
    where, values = _where(wanted)
    query = f"""SELECT ending, rules, count(*) FROM job_outcomes WHERE {where} AND ending != '{EventName.MERGED}'
                GROUP BY ending, rules"""  # noqa: S608 - words of ours
    counted: Counter[tuple[str, str]] = Counter()
    for ending, rules, jobs in connection.execute(query, values):
        held = [rule for rule in json.loads(rules) if rule.partition("/")[2] not in SHOWN_LAST]
        for rule in held or [""]:
            counted[ending, rule] += jobs
    for (ending, rule), jobs in counted.items():
        yield FailurePattern(event=ending, rule=rule, jobs=jobs)


def _where(wanted: Wanted) -> tuple[str, list[str]]:
    """A condition for a query and its values. What is not asked for is not in it, so that the index is read from end to end."""
    planned = f"ending <> '{EventName.PLAN_ACCEPTED}'"  # what was planned was not to be merged
    parts, values = ["ended_on BETWEEN ? AND ?", planned], [wanted.first.isoformat(), wanted.last.isoformat()]
    for name in ("space", "agent", "model"):
        if value := getattr(wanted, name):
            parts.append(f"{name} = ?")
            values.append(value)
    return " AND ".join(parts), values
