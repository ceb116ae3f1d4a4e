"""Jobs that are over and were not looked back on, and what came of those that were."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from minion.protocol import SessionKind
from overlord.domain.event import EventName
from overlord.domain.job import JobId
from overlord.domain.knowledge.matching import words_of
from overlord.domain.knowledge.note import Note, NoteState
from overlord.domain.session import SessionState
from overlord.store.knowledge import notes

WITHIN_DAYS = 3
"""What ended longer ago is not looked back on: an upgrade would ask about years of work at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrospective:
    """How far it is with one job."""

    fingerprint: str = ""
    """Of the facts that were looked at."""
    tries: int = 0
    """How often a model was asked."""
    is_done: bool = False
    notes: tuple[str, ...] = ()
    """That came of it, as `n12`."""
    dropped: int = 0


def next_due(connection: sqlite3.Connection, spaces: Iterable[str], at: datetime) -> JobId | None:
    """Of these repositories the job that ended first of those that ended lately, had work done, and were not looked back on. Each pass
    asks: no row of a job is read."""
    query = """SELECT job_outcomes.job_id FROM job_outcomes
               LEFT JOIN job_portfolio ON job_portfolio.job_id = job_outcomes.job_id
               WHERE ended_on >= ? AND ending <> ? AND space IN (SELECT value FROM json_each(?))
               AND coalesce(json_extract(nullif(retrospective, ''), '$.is_done'), 0) = 0
               AND EXISTS (SELECT 1 FROM sessions WHERE job_id = job_outcomes.job_id AND kind = ?)
               AND NOT EXISTS (SELECT 1 FROM sessions WHERE job_id = job_outcomes.job_id AND state <> ?)
               ORDER BY ended_at, job_outcomes.job_id LIMIT 1"""
    since = (at - timedelta(days=WITHIN_DAYS)).date().isoformat()
    named = json.dumps(sorted(map(str, spaces)))
    values = (since, str(EventName.PLAN_ACCEPTED), named, str(SessionKind.WORK), str(SessionState.ENDED))
    row = connection.execute(query, values).fetchone()
    return JobId(row["job_id"]) if row is not None else None


def get(connection: sqlite3.Connection, job_id: int) -> Retrospective:
    """How far it is; nothing yet where there is no row."""
    query = "SELECT retrospective FROM job_portfolio WHERE job_id = ?"
    row = connection.execute(query, (job_id,)).fetchone()
    if row is None or not row[0]:
        return Retrospective()
    kept = json.loads(row[0])
    return Retrospective(**{**kept, "notes": tuple(kept["notes"])})


def keep(connection: sqlite3.Connection, job_id: int, retrospective: Retrospective) -> None:
    """Write down how far it is."""
    query = """INSERT INTO job_portfolio (job_id, retrospective) VALUES (?, ?)
               ON CONFLICT (job_id) DO UPDATE SET retrospective = excluded.retrospective"""
    connection.execute(query, (job_id, json.dumps(asdict(retrospective))))


def known_about(connection: sqlite3.Connection, space: str, texts: list[str], *, each: int = 8) -> list[Note]:
    """Notes that say something about the same: those that count or wait, and those that people rejected, which nobody proposes
    again."""
    states = (NoteState.ACTIVE, NoteState.DRAFT, NoteState.REJECTED)
    found = dict[int, Note]()
    for text in texts:
        for note in notes.search(
            connection, " ".join(words_of(text)), space=space, states=states, limit=each
        ):
            found.setdefault(note.id, note)
    return list(found.values())
