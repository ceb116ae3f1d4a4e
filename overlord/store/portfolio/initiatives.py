"""Initiatives: made once for each key, changed with their ledger event in the same transaction."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.portfolio.initiative import ENDED, Initiative, InitiativeState, slug_of
from overlord.domain.portfolio.told_change import told_change
from overlord.errors import NotFound
from overlord.store import ledger
from overlord.store.rows import insert, select, update

S = InitiativeState
_MOVES = {
    S.PROPOSED: EventName.INITIATIVE_PROPOSED,
    S.QUEUED: EventName.INITIATIVE_OPENED,
    S.DONE: EventName.INITIATIVE_COMPLETED,
    S.CANCELLED: EventName.INITIATIVE_CANCELLED,
}
"""What is said of one that comes there; of the other states, that it was changed."""
_QUIET = {
    "waits",
    "issue_request_id",
    "issue_number",
    "job_id",
    "last_task",
    "updated_at",
    "is_issue_closed",
    "is_issue_behind",
}
"""What changes without a fact of its own: another one says it."""


def add(connection: sqlite3.Connection, initiative: Initiative) -> Initiative | None:
    """Keep a new one, with a slug and a number of its own; None where one was made of the same key before."""
    known = connection.execute("SELECT 1 FROM initiatives WHERE key = ?", (initiative.key,)).fetchone()
    if known is not None:
        return None
    columns = {name: getattr(initiative, name) for name in initiative.__dataclass_fields__ if name != "id"}
    columns["slug"] = _free_slug(connection, initiative.space, initiative.slug or slug_of(initiative.title))
    made = get(connection, insert(connection, "initiatives", columns))
    data: dict[str, Json] = {"title": made.title, "source": made.source}
    _append(connection, _MOVES[made.state], made, data, actor=made.actor, at=made.created_at)
    return made


def _free_slug(connection: sqlite3.Connection, space: str, wanted: str) -> str:
    query = "SELECT slug FROM initiatives WHERE space = ?"
    taken = {row["slug"] for row in connection.execute(query, (space,))}
    return next(slug for slug in _slugs(wanted) if slug not in taken)


def _slugs(wanted: str) -> Iterable[str]:
    yield wanted
    number = 2
    while True:
        yield f"{wanted}-{number}"
        number += 1


def get(connection: sqlite3.Connection, number: int) -> Initiative:
    """Raises NotFound."""
    found = select(connection, Initiative, "SELECT * FROM initiatives WHERE id = ?", number)
    if not found:
        shows = hint(CommandRef("portfolio"), " shows those there are")
        raise NotFound(f"there is no initiative i{number}", hint=shows)
    return found[0]


def change(
    connection: sqlite3.Connection,
    number: int,
    *,
    at: datetime,
    actor: str = OVERLORD,
    reason: str = "",
    **changes: object,
) -> Initiative:
    """Change columns of one, with a fact for what people know it by. What changes nothing is no fact."""
    before = get(connection, number)
    new = {name: value for name, value in changes.items() if getattr(before, name) != value}
    if not new:
        return before
    after = replace(before, **new, updated_at=at)  # type: ignore[arg-type]
    if after.has_ended is not before.has_ended:
        ended_at = at if after.has_ended else None
        after, new = replace(after, completed_at=ended_at), {**new, "completed_at": ended_at}
    if {"title", "goal"} & new.keys() and before.issue_number is not None:
        new = {**new, "is_issue_behind": True}
    update(connection, "initiatives", number, {**new, "updated_at": at})
    told = sorted(set(new) - _QUIET - {"completed_at"})
    if told:
        moved = _MOVES.get(after.state) if "state" in new else None
        data: dict[str, Json] = {"what": [told_change(name, getattr(after, name)) for name in told]}
        data |= {"title": after.title, "reason": reason}
        _append(connection, moved or EventName.INITIATIVE_CHANGED, after, data, actor=actor, at=at)
    return after


def say_waits(connection: sqlite3.Connection, number: int, waits: str) -> None:
    """Why nothing of it is begun; that is no change of the initiative itself."""
    update(connection, "initiatives", number, {"waits": waits})


def note(
    connection: sqlite3.Connection,
    name: EventName,
    initiative: Initiative,
    data: dict[str, Json],
    *,
    actor: str = OVERLORD,
    at: datetime,
) -> None:
    """Write down a fact about one that changes no column."""
    _append(connection, name, initiative, data, actor=actor, at=at)


def _append(
    connection: sqlite3.Connection,
    name: EventName,
    initiative: Initiative,
    data: dict[str, Json],
    *,
    actor: str,
    at: datetime,
) -> None:
    whole: dict[str, Json] = {"initiative": initiative.ref, "space": initiative.space, **data}
    ledger.append(connection, LedgerEvent(name=name, at=at, actor=actor, data=whole))


def every(connection: sqlite3.Connection) -> list[Initiative]:
    """All of them, oldest first."""
    return select(connection, Initiative, "SELECT * FROM initiatives ORDER BY id")


def unfinished(connection: sqlite3.Connection) -> list[Initiative]:
    """Those that have not ended, oldest first."""
    query = f"SELECT * FROM initiatives WHERE state NOT IN ({_ENDED}) ORDER BY id"  # noqa: S608 - constants
    return select(connection, Initiative, query)


_ENDED = ", ".join(f"'{state}'" for state in ENDED)


def of_space(connection: sqlite3.Connection, space: str) -> list[Initiative]:
    """Those of a repository, oldest first."""
    return select(connection, Initiative, "SELECT * FROM initiatives WHERE space = ? ORDER BY id", space)


def of_issue(connection: sqlite3.Connection, space: str, number: int) -> Initiative | None:
    """The one whose own issue this is."""
    query = "SELECT * FROM initiatives WHERE space = ? AND issue_number = ?"
    return next(iter(select(connection, Initiative, query, space, number)), None)


def of_job(connection: sqlite3.Connection, job_id: int) -> Initiative | None:
    """The one that a job plans."""
    query = """SELECT initiatives.* FROM initiatives JOIN jobs
               ON jobs.space = initiatives.space AND jobs.issue_number = initiatives.issue_number WHERE jobs.id = ?"""
    return next(iter(select(connection, Initiative, query, job_id)), None)


def planning_jobs(connection: sqlite3.Connection) -> frozenset[int]:
    """The open jobs that plan one: no pull request comes of them."""
    query = """SELECT jobs.id FROM initiatives JOIN jobs
               ON jobs.space = initiatives.space AND jobs.issue_number = initiatives.issue_number WHERE jobs.is_open"""
    return frozenset(row["id"] for row in connection.execute(query))


def named(connection: sqlite3.Connection, text: str) -> Initiative:
    """The one that a person means: `i3`, `3`, or its slug. Raises NotFound."""
    plain = text.strip().casefold()
    digits = plain.removeprefix("i")
    if digits.isascii() and digits.isdecimal() and len(digits) <= 9:
        return get(connection, int(digits))
    found = select(connection, Initiative, "SELECT * FROM initiatives WHERE slug = ? ORDER BY id DESC", plain)
    if not found:
        shows = hint(CommandRef("portfolio"), " shows those there are")
        raise NotFound("there is no initiative of that name", hint=shows)
    return found[0]
