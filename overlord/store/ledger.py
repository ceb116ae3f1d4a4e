"""The ledger: append-only, each event hashed over the one before it, so that a gap or an edit shows."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from overlord.domain.event import EventName, Json, LedgerEvent

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A ledger row as stored. `data` is the canonical JSON text that was hashed."""

    seq: int
    at: str
    job_id: int | None
    name: str
    actor: str
    data: str
    previous: str
    hash: str

    @property
    def details(self) -> Mapping[str, Json]:
        """Its data."""
        found: Mapping[str, Json] = json.loads(self.data)
        return found

    def computed_hash(self) -> str:
        fields = [self.seq, self.at, self.job_id, self.name, self.actor, self.data, self.previous]
        return sha256(json.dumps(fields, ensure_ascii=False).encode()).hexdigest()


def append(connection: sqlite3.Connection, event: LedgerEvent) -> str:
    """Add an event inside the caller's transaction; returns the new head."""
    last = connection.execute("SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
    entry = Entry(
        seq=last["seq"] + 1 if last else 1,
        at=event.at.isoformat(),
        job_id=event.job_id,
        name=event.name,
        actor=event.actor,
        data=json.dumps(dict(event.data), sort_keys=True, ensure_ascii=False),
        previous=last["hash"] if last else GENESIS,
        hash="",
    )
    digest = entry.computed_hash()
    connection.execute(
        "INSERT INTO ledger (seq, at, job_id, name, actor, data, previous, hash) VALUES (?,?,?,?,?,?,?,?)",
        (entry.seq, entry.at, entry.job_id, entry.name, entry.actor, entry.data, entry.previous, digest),
    )
    for key in _ABOUT & event.data.keys():
        if isinstance(about := event.data[key], str):
            connection.execute("INSERT OR IGNORE INTO ledger_about VALUES (?, ?)", (about, entry.seq))
    return digest


_ABOUT = {"initiative", "task", "escalation", "note", "rule"}
"""What of the portfolio an event says it is about, as `i3` or `n12`: by that it is found again."""


def entries(connection: sqlite3.Connection, *, job_id: int | None = None, after: int = 0) -> Iterator[Entry]:
    """Events in order: all, those of one job, those after a known one."""
    own = "" if job_id is None else "job_id = :job AND "
    query = f"SELECT * FROM ledger WHERE {own}seq > :after ORDER BY seq"  # noqa: S608 - a constant
    for row in connection.execute(query, {"job": job_id, "after": after}):
        yield Entry(**dict(row))


def asked_for_by(connection: sqlite3.Connection, job_id: int) -> str:
    """Who asked for a job: the actor of its first event. Empty where it has none."""
    first = next(entries(connection, job_id=job_id), None)
    return first.actor if first is not None else ""


def with_spaces(
    connection: sqlite3.Connection, *, after: int, limit: int, job_id: int | None = None
) -> list[tuple[Entry, str]]:
    """At most so many events after a known one, of all jobs or of one, each with the space of its job; without a job that is empty."""
    own = "" if job_id is None else "ledger.job_id = :job AND "
    query = f"""SELECT ledger.*, coalesce(jobs.space, '') AS space FROM ledger
               LEFT JOIN jobs ON jobs.id = ledger.job_id WHERE {own}seq > :after ORDER BY seq LIMIT :limit"""  # noqa: S608
    values = {"job": job_id, "after": after, "limit": limit}
    rows = [dict(row) for row in connection.execute(query, values)]
    return [(Entry(**{name: row[name] for name in row if name != "space"}), row["space"]) for row in rows]


def count_lately(connection: sqlite3.Connection, name: str, actor: str, *, since: datetime) -> int:
    """How many of the last thousand events are of a name, by somebody, after a moment."""
    query = """SELECT count(*) FROM ledger WHERE seq > (SELECT coalesce(max(seq), 0) FROM ledger) - 1000
               AND name = ? AND actor = ? AND at > ?"""
    return int(connection.execute(query, (name, actor, since.isoformat())).fetchone()[0])


def named(connection: sqlite3.Connection, names: Collection[str], *, after: int, limit: int) -> list[Entry]:
    """The next events of some names after a known one, in order."""
    marks = ", ".join("?" * len(names))
    query = f"SELECT * FROM ledger WHERE name IN ({marks}) AND seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
    return [Entry(**dict(row)) for row in connection.execute(query, (*names, after, limit))]


def named_with_spaces(
    connection: sqlite3.Connection, names: Collection[str], *, after: int, limit: int
) -> list[tuple[Entry, str]]:
    """The next events of some names after a known one, each with the space of its job."""
    marks = ", ".join("?" * len(names))
    query = f"""SELECT ledger.*, coalesce(jobs.space, '') AS space FROM ledger LEFT JOIN jobs ON jobs.id = ledger.job_id
               WHERE ledger.name IN ({marks}) AND seq > ? ORDER BY seq LIMIT ?"""  # noqa: S608
    rows = [dict(row) for row in connection.execute(query, (*names, after, limit))]
    return [(Entry(**{name: row[name] for name in row if name != "space"}), row["space"]) for row in rows]


def last(connection: sqlite3.Connection, job_id: int, name: EventName) -> Mapping[str, Json] | None:
    """The details of a job's newest event of a name; None when there was none."""
    query = "SELECT data FROM ledger WHERE job_id = ? AND name = ? ORDER BY seq DESC LIMIT 1"
    row = connection.execute(query, (job_id, name)).fetchone()
    found: Mapping[str, Json] | None = json.loads(row["data"]) if row else None
    return found


def head(connection: sqlite3.Connection) -> str:
    """The hash of the last event."""
    row = connection.execute("SELECT hash FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
    return row["hash"] if row else GENESIS


def last_number(connection: sqlite3.Connection) -> int:
    """The number of the last event."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM ledger").fetchone()[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """How far a chain was followed: the last event that was looked at, and its hash."""

    seq: int = 0
    hash: str = GENESIS


def follow(connection: sqlite3.Connection, link: Link, *, limit: int) -> tuple[Link, str]:
    """Check at most so many events after a link: the last one that is whole, and in a sentence where the chain breaks after it."""
    query = "SELECT * FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?"
    for row in connection.execute(query, (link.seq, limit)):
        entry = Entry(**dict(row))
        for wrong in _wrong(entry, link):
            return link, wrong
        link = Link(seq=entry.seq, hash=entry.hash)
    return link, ""


def problems(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the chain, one sentence each; nothing when it is whole."""
    link = Link()
    for entry in entries(connection):
        yield from _wrong(entry, link)
        link = Link(seq=entry.seq, hash=entry.hash)


def _wrong(entry: Entry, link: Link) -> Iterator[str]:
    """What is wrong with an event that follows a link."""
    if entry.seq != link.seq + 1:
        yield f"event {link.seq + 1} is missing: event {entry.seq} follows {link.seq}"
    if entry.previous != link.hash:
        yield f"event {entry.seq} does not follow the one before it"
    if entry.computed_hash() != entry.hash:
        yield f"event {entry.seq} was changed after it was written"


def count_of(connection: sqlite3.Connection, job_id: int) -> int:
    """How many events a job has."""
    query = "SELECT count(*) FROM ledger WHERE job_id = ?"
    return int(connection.execute(query, (job_id,)).fetchone()[0])
