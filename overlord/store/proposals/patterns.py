"""Patterns and where each was seen. A sighting has the name of the row it came from: it counts once, however often it is read."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from overlord.domain.proposals.proposal import AGAIN, Evidence, Pattern, Trigger
from overlord.store.rows import from_row, insert, select


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A pattern as it was seen in one job."""

    pattern: Pattern
    source: str
    """The row it came from, as `evaluation 7`."""
    job_id: int
    issue_number: int
    at: datetime
    is_systemic: bool = False
    answer: str = ""
    """What a person answered, for what people are asked."""


def see(connection: sqlite3.Connection, sighting: Sighting) -> bool:
    """Write down that a pattern was seen; False for what is known."""
    pattern = sighting.pattern
    key = {"space": pattern.space, "fingerprint": pattern.fingerprint}
    known = "SELECT 1 FROM sightings WHERE space = ? AND fingerprint = ? AND source = ?"
    if connection.execute(known, (*key.values(), sighting.source)).fetchone():
        return False
    if not connection.execute(
        "SELECT 1 FROM patterns WHERE space = ? AND fingerprint = ?", tuple(key.values())
    ).fetchone():
        columns = {"trigger": pattern.trigger, "label": pattern.label, "sample": pattern.sample}
        insert(connection, "patterns", {**key, **columns})
    names = ("source", "job_id", "issue_number", "at", "is_systemic", "answer")
    insert(connection, "sightings", {**key, **{name: getattr(sighting, name) for name in names}})
    return True


def get(connection: sqlite3.Connection, space: str, fingerprint: str) -> Pattern:
    """A pattern in the words it was first seen in."""
    query = "SELECT * FROM patterns WHERE space = ? AND fingerprint = ?"
    [found] = select(connection, Pattern, query, space, fingerprint)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _SeenIn:
    job_id: int
    issue_number: int
    is_systemic: bool
    answer: str


def evidence(connection: sqlite3.Connection, pattern: Pattern) -> Evidence:
    """What was seen of a pattern so far. Of what people answer, the last answers that are alike count."""
    query = "SELECT * FROM sightings WHERE space = ? AND fingerprint = ? ORDER BY id DESC"
    seen = select(connection, _SeenIn, query, pattern.space, pattern.fingerprint)
    if pattern.trigger in {Trigger.QUESTION, Trigger.SCOPE_REQUEST}:
        last = seen[0].answer if seen else ""
        seen = list(takewhile(lambda item: item.answer == last, seen))
    issues = sorted({item.issue_number for item in seen})
    is_finding = pattern.trigger is Trigger.FAILURE
    return Evidence(
        weight=len(issues) if is_finding else len(seen),
        times=len(seen),
        jobs=tuple(sorted({item.job_id for item in seen})),
        issues=tuple(issues),
        is_systemic=any(item.is_systemic for item in seen),
        answer=seen[0].answer if seen else "",
    )


def unasked(connection: sqlite3.Connection, space: str) -> list[Pattern]:
    """Patterns of a space without an open proposal, and with as much more evidence as it takes after one that was decided: what
    is systemic and what was seen at most issues first, then what was seen first."""
    query = """SELECT patterns.* FROM patterns JOIN sightings USING (space, fingerprint)
        WHERE space = :space AND fingerprint NOT IN (
            SELECT fingerprint FROM proposals WHERE space = :space AND status IN ('pending', 'approved'))
        GROUP BY fingerprint HAVING count(*) >= :again * coalesce((SELECT weight FROM proposals AS decided
            WHERE decided.space = :space AND decided.fingerprint = patterns.fingerprint ORDER BY id DESC LIMIT 1), 0)
        ORDER BY max(is_systemic) DESC, count(DISTINCT issue_number) DESC, min(sightings.id)"""
    found = connection.execute(query, {"space": space, "again": AGAIN}).fetchall()
    return [from_row(Pattern, row) for row in found]


def read_up_to(connection: sqlite3.Connection) -> int:
    """The last event of the ledger in which patterns were looked for."""
    found = connection.execute("SELECT seq FROM sighted").fetchone()
    return int(found["seq"]) if found else 0


def note_read(connection: sqlite3.Connection, seq: int) -> None:
    """Events up to this one need no other look, in the transaction of what was found in them."""
    connection.execute(
        "INSERT INTO sighted (id, seq) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq",
        (seq,),
    )
