"""Jobs found by words: of their issues, of what checks found, of what was said in their sessions. The newest job first.

What words cost to find is bounded. One page looks at a bounded number of places; where filters leave few of them, it says where the next
page goes on. It is one walk through the index, which costs as much to begin as to end; so while it goes by, it is asked of each place
whether it is shown, and only then a snippet is made: to make one is to read a text.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from overlord.domain.job import JobState
from overlord.domain.search import Hit, HitKind, Piece, SpokenText
from overlord.domain.text.plain import visible
from overlord.store.schema.search import FIRST_TRANSCRIPT, LAST_TRANSCRIPT, OF_A_JOB

HITS_A_JOB = 2
MOST_PLACES = 10_000
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
    picked = _Picked(limit=limit)
    rules, values = _filter(spaces, state)
    # Where nothing is filtered, no job is read.
    job = f"SELECT 1 FROM jobs WHERE id = search_index.rowid / {OF_A_JOB} AND {rules}"  # noqa: S608 - constants
    wanted = f"EXISTS ({job})" if rules else "1"
    query = f"""SELECT rowid, iif(is_picked(rowid, {wanted}), snippet(search_index, 0, ?, ?, '…', ?), NULL)
                FROM search_index WHERE search_index MATCH ? AND rowid < ? ORDER BY rowid DESC"""  # noqa: S608 - constants
    below = before * OF_A_JOB if 0 < before < _NEWEST // OF_A_JOB else _NEWEST
    connection.create_function("is_picked", 2, picked.take)
    with closing(connection.execute(query, (*values, _BEGIN, _END, SNIPPET_WORDS, match, below))) as places:
        snippets = {}
        for number, snippet in places:
            if snippet is not None:
                snippets[number] = snippet
            if picked.is_full:
                break
    hits = _hits(connection, snippets)
    return Matches(
        jobs={job: tuple(hits[number] for number in places) for job, places in picked.jobs.items()},
        older=picked.older,
    )


@dataclass(slots=True, kw_only=True)
class _Picked:
    """Which of the places that have the words are shown, as they are walked by, the newest job's first. The one that it ends at is
    never shown: whoever walks may be one behind."""

    limit: int
    jobs: dict[int, list[int]] = field(default_factory=dict)
    older: int = 0
    is_full: bool = False
    seen: int = 0

    def take(self, number: int, is_wanted: int) -> bool:
        """Whether a place is shown: the first few of each job that is wanted."""
        job, self.seen = number // OF_A_JOB, self.seen + 1
        is_next = bool(is_wanted) and job not in self.jobs
        if is_next and len(self.jobs) == self.limit:
            self.older, self.is_full = next(reversed(self.jobs)), True
            return False
        if self.seen > MOST_PLACES:
            self.older, self.is_full = job + is_next, True
            return False
        places = self.jobs.setdefault(job, []) if is_wanted else []
        is_shown = bool(is_wanted) and len(places) < HITS_A_JOB
        if is_shown:
            places.append(number)
        return is_shown


def _filter(spaces: Sequence[str], state: JobState | None) -> tuple[str, list[object]]:
    """What a job has to be, with the values; empty for any."""
    rules, values = list[str](), list[object]()
    if spaces:
        rules.append(f"space IN ({', '.join('?' * len(spaces))})")
        values += spaces
    if state is not None:
        rules.append("state = ?")
        values.append(str(state))
    return " AND ".join(rules), values


def _hits(connection: sqlite3.Connection, snippets: Mapping[int, str]) -> dict[int, Hit]:
    """What is shown of each place."""
    query = """SELECT id, kind, source, turn FROM search_texts WHERE id IN (SELECT value FROM json_each(?))"""
    return {
        number: Hit(kind=HitKind(kind), source=source, turn=turn, pieces=tuple(_pieces(snippets[number])))
        for number, kind, source, turn in connection.execute(query, (json.dumps(list(snippets)),))
    }


def _pieces(snippet: str) -> Iterator[Piece]:
    """A snippet in parts, on one line. Signs in a text that are the same as ours are left out with what else is hidden."""
    for index, text in enumerate(_MARKED.split(snippet)):
        shown = _SPACE.sub(" ", visible(text))
        if shown:
            yield Piece(text=shown, is_match=bool(index % 2))
