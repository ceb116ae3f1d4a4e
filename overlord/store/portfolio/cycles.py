"""Cycles of the portfolio: asked for, run, and what they saw, so that nothing is done where nothing changed."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.store import ledger
from overlord.store.rows import insert, select, update

FACT = "fact"
"""What begins one where something happened."""
PERSON = "person"
"""What begins one that somebody asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A row."""

    id: int
    trigger: str
    """What began it: `schedule`, `fact`, `person`."""
    actor: str
    asked_at: datetime
    ran_at: datetime | None = None
    fingerprint: str = ""
    """Of what it saw when it ended."""
    ledger_id: int = 0
    """The last fact it saw."""
    acts: int = 0
    summary: str = ""


def ask(connection: sqlite3.Connection, *, trigger: str, actor: str, at: datetime) -> Cycle:
    """Have one run; one that is asked for and has not run is enough, and is a person's once a person asks: theirs goes through every
    repository, whatever its schedule."""
    query = "SELECT * FROM portfolio_cycles WHERE ran_at IS NULL ORDER BY id LIMIT 1"
    waiting = select(connection, Cycle, query)
    if waiting:
        if trigger == PERSON and waiting[0].trigger != PERSON:
            update(connection, "portfolio_cycles", waiting[0].id, {"trigger": trigger, "actor": actor})
        return get(connection, waiting[0].id)
    columns = {"trigger": trigger, "actor": actor, "asked_at": at}
    return get(connection, insert(connection, "portfolio_cycles", columns))


def wake(connection: sqlite3.Connection, space: str, issue_number: int, *, at: datetime) -> None:
    """Have one run where something became of an issue that a task or an initiative is worked on at, and no fact says so."""
    query = """SELECT 1 FROM tasks WHERE space = :space AND issue_number = :number
               UNION SELECT 1 FROM initiatives WHERE space = :space AND issue_number = :number"""
    if connection.execute(query, {"space": space, "number": issue_number}).fetchone() is not None:
        ask(connection, trigger=FACT, actor=OVERLORD, at=at)


def saw(connection: sqlite3.Connection, cycle: Cycle) -> None:
    """What happened since the last one changes nothing that it decided by: it is not looked at again."""
    update(connection, "portfolio_cycles", cycle.id, {"ledger_id": ledger.last_number(connection)})


def get(connection: sqlite3.Connection, number: int) -> Cycle:
    """One by its number, which is known to be there."""
    return select(connection, Cycle, "SELECT * FROM portfolio_cycles WHERE id = ?", number)[0]


def asked(connection: sqlite3.Connection) -> Cycle | None:
    """The one that is asked for and has not run."""
    query = "SELECT * FROM portfolio_cycles WHERE ran_at IS NULL ORDER BY id LIMIT 1"
    return next(iter(select(connection, Cycle, query)), None)


def last(connection: sqlite3.Connection) -> Cycle | None:
    """The last one that ran."""
    query = "SELECT * FROM portfolio_cycles WHERE ran_at IS NOT NULL ORDER BY id DESC LIMIT 1"
    return next(iter(select(connection, Cycle, query)), None)


def last_acting(connection: sqlite3.Connection) -> Cycle | None:
    """The last one that did something."""
    query = "SELECT * FROM portfolio_cycles WHERE ran_at IS NOT NULL AND acts > 0 ORDER BY id DESC LIMIT 1"
    return next(iter(select(connection, Cycle, query)), None)


def scheduled(connection: sqlite3.Connection, schedule: str) -> list[datetime]:
    """When the latest times of a schedule were made up for."""
    query = "SELECT at FROM portfolio_schedules WHERE schedule = ? ORDER BY at DESC LIMIT ?"
    return [datetime.fromisoformat(row["at"]) for row in connection.execute(query, (schedule, KEPT))]


def note_scheduled(connection: sqlite3.Connection, schedule: str, *, at: datetime) -> None:
    """Its last time was made up for now."""
    insert(connection, "portfolio_schedules", {"schedule": schedule, "at": at})
    query = """DELETE FROM portfolio_schedules WHERE schedule = ? AND id NOT IN (
                   SELECT id FROM portfolio_schedules WHERE schedule = ? ORDER BY at DESC LIMIT ?)"""
    connection.execute(query, (schedule, schedule, KEPT))


KEPT = 50
"""Moments that are kept of each schedule: so far back a clock may be set without a time being made up for twice."""


def ran(
    connection: sqlite3.Connection,
    number: int,
    *,
    fingerprint: str,
    acts: int,
    summary: str,
    at: datetime,
) -> None:
    """It is over; where it did something, that is a fact."""
    cycle = get(connection, number)
    if acts:
        data: dict[str, Json] = {"trigger": cycle.trigger, "acts": acts, "summary": summary[:1000]}
        event = LedgerEvent(name=EventName.CYCLE_RAN, at=at, actor=cycle.actor, data=data)
        ledger.append(connection, event)
    changes = {
        "ran_at": at,
        "fingerprint": fingerprint,
        "acts": acts,
        "summary": summary,
        "ledger_id": ledger.last_number(connection),
    }
    update(connection, "portfolio_cycles", number, changes)
