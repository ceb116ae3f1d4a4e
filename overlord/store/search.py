"""Jobs found by words: of their issues, of what checks found, of what was said in their sessions. The newest job first.

What words cost to find is bounded. One page looks at a bounded number of places; where filters leave few of them, it says where the next
page goes on. Snippets are made in a second walk, of the few places that are shown: to make one is to read a text.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from overlord.domain.job import JobState
from overlord.domain.search import Hit, HitKind, Piece, SpokenText
from overlord.domain.text.plain import visible
from overlord.store.schema.search import FIRST_TRANSCRIPT, LAST_TRANSCRIPT, OF_A_JOB

HITS_A_JOB = 3
MOST_PLACES = 20_000
"""As many places that have the words are looked at for one page."""
SNIPPET_WORDS = 18
_BEGIN, _END = "\x02", "\x03"
_MARKED = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")
_SPACE = re.compile(r"\s+")
_NEWEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What was found: the places of each job, the newest job first."""

    jobs: dict[int, tuple[Hit, ...]] = field(default_factory=dict)
    older: int = 0
    """Older ones are below this job; 0 where there are none."""


def add_spoken(
    connection: sqlite3.Connection, job_id: int, session_id: str, texts: Sequence[SpokenText]
) -> None:
    """Have what was said in a session found, instead of what was known of it before."""
    forget_spoken(connection, job_id, session_id)
    first, last = job_id * OF_A_JOB + FIRST_TRANSCRIPT, job_id * OF_A_JOB + LAST_TRANSCRIPT
    query = "SELECT coalesce(max(id) + 1, ?) FROM search_texts WHERE id BETWEEN ? AND ?"
    free = connection.execute(query, (first, first, last)).fetchone()[0]
    connection.executemany(
        "INSERT INTO search_texts (id, kind, source, turn, text) VALUES (?, ?, ?, ?, ?)",
        [
            (number, str(HitKind.TRANSCRIPT), session_id, item.turn, item.text)
            for number, item in zip(range(free, last + 1), texts, strict=False)
        ],
    )


def forget_spoken(connection: sqlite3.Connection, job_id: int, session_id: str) -> None:
    """Have it found no longer."""
    query = "DELETE FROM search_texts WHERE source = ? AND id BETWEEN ? AND ?"
    connection.execute(
        query, (session_id, job_id * OF_A_JOB + FIRST_TRANSCRIPT, job_id * OF_A_JOB + LAST_TRANSCRIPT)
    )


def find(
    connection: sqlite3.Connection,
    match: str,
    *,
    spaces: Sequence[str],
    state: JobState | None,
    before: int,
    limit: int,
) -> Matches:
    """Jobs in which something matches an expression of `match_expression`: of some repositories, or of all where none is named;
    with a number below `before`, where that is not 0."""
    chosen: dict[int, list[int]] = {}
    older = seen = 0
    for number, is_wanted in _places(connection, match, spaces, state, before):
        job, seen = number // OF_A_JOB, seen + 1
        if is_wanted:
            if job not in chosen and len(chosen) == limit:
                older = next(reversed(chosen))
                break
            places = chosen.setdefault(job, [])
            if len(places) < HITS_A_JOB:
                places.append(number)
        if seen == MOST_PLACES:
            older = job
            break
    hits = _hits(connection, match, [number for places in chosen.values() for number in places])
    return Matches(
        jobs={job: tuple(hits[number] for number in places) for job, places in chosen.items()}, older=older
    )


def _places(
    connection: sqlite3.Connection,
    match: str,
    spaces: Sequence[str],
    state: JobState | None,
    before: int,
) -> Iterator[tuple[int, bool]]:
    """Every place that has the words, the newest job's first, and whether its job is wanted."""
    rules, values = list[str](), list[object]()
    if spaces:
        rules.append(f"space IN ({', '.join('?' * len(spaces))})")
        values += spaces
    if state is not None:
        rules.append("state = ?")
        values.append(str(state))
    job = f"SELECT 1 FROM jobs WHERE id = search_index.rowid / {OF_A_JOB} AND {' AND '.join(rules)}"  # noqa: S608
    wanted = f"EXISTS ({job})" if rules else "1"
    query = f"SELECT rowid, {wanted} FROM search_index WHERE search_index MATCH ? AND rowid < ? ORDER BY rowid DESC"  # noqa: S608
    below = before * OF_A_JOB if 0 < before < _NEWEST // OF_A_JOB else _NEWEST
    for number, is_wanted in connection.execute(query, (*values, match, below)):
        yield number, bool(is_wanted)


def _hits(connection: sqlite3.Connection, match: str, numbers: Collection[int]) -> dict[int, Hit]:
    """What is shown of some places, by one walk over those between them."""
    if not numbers:
        return {}
    # The sign before `rowid` keeps SQLite from looking the words up anew for every place.
    query = """SELECT place.id, place.kind, place.source, place.turn, snippet(search_index, 0, ?, ?, '…', ?)
               FROM search_index CROSS JOIN search_texts AS place ON place.id = search_index.rowid
               WHERE search_index MATCH ? AND search_index.rowid BETWEEN ? AND ?
                     AND +search_index.rowid IN (SELECT value FROM json_each(?))"""
    between = (min(numbers), max(numbers), json.dumps(list(numbers)))
    rows = connection.execute(query, (_BEGIN, _END, SNIPPET_WORDS, match, *between))
    return {
        number: Hit(kind=HitKind(kind), source=source, turn=turn, pieces=tuple(_pieces(snippet)))
        for number, kind, source, turn, snippet in rows
    }


def _pieces(snippet: str) -> Iterator[Piece]:
    """A snippet in parts, on one line. Signs in a text that are the same as ours are left out with what else is hidden."""
    for index, text in enumerate(_MARKED.split(snippet)):
        shown = _SPACE.sub(" ", visible(text))
        if shown:
            yield Piece(text=shown, is_match=bool(index % 2))
