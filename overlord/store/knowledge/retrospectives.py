"""Jobs that are over and were not looked back on, and what came of those that were."""

import json
import sqlite3
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from minion.protocol import SessionKind
from overlord.domain.event import EventName
from overlord.domain.job import Job
from overlord.domain.knowledge.matching import words_of
from overlord.domain.knowledge.note import Note, NoteState
from overlord.domain.session import SessionState
from overlord.store.knowledge import notes
from overlord.store.rows import select

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


def due(connection: sqlite3.Connection, at: datetime) -> list[Job]:
    """Jobs that ended lately, had work done, and that nobody has looked back on; the first that ended first."""
    query = """SELECT jobs.* FROM job_outcomes JOIN jobs ON jobs.id = job_outcomes.job_id
               LEFT JOIN job_portfolio ON job_portfolio.job_id = jobs.id
               WHERE job_outcomes.ended_on >= ? AND job_outcomes.ending <> ? AND NOT jobs.is_open
               AND coalesce(json_extract(nullif(job_portfolio.retrospective, ''), '$.is_done'), 0) = 0
               AND EXISTS (SELECT 1 FROM sessions WHERE sessions.job_id = jobs.id AND kind = ?)
               AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.job_id = jobs.id AND state <> ?)
               ORDER BY job_outcomes.ended_at, jobs.id"""
    since = (at - timedelta(days=WITHIN_DAYS)).date().isoformat()
    values = (since, EventName.PLAN_ACCEPTED, SessionKind.WORK, SessionState.ENDED)
    return select(connection, Job, query, *map(str, values))


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
