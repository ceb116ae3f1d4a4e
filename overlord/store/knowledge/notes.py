"""Notes: drafted, accepted, changed and withdrawn, each with its ledger event in the same transaction; searched by words."""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from overlord.command_ref import CommandRef, hint
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.knowledge.matching import STOP_WORDS
from overlord.domain.knowledge.note import Note, NoteKind, NoteState
from overlord.errors import NotFound, Refused
from overlord.store import ledger
from overlord.store.rows import insert, select, update

_WORD = re.compile(r"\w{2,}")
MOST_WORDS = 40
"""Of a question that is searched for."""
RANK = "bm25(note_texts, 1.0, 1.0, 0.0, 2.0)"
"""Tags and the name of a document weigh more than a word of its text; the place weighs nothing."""


def add(connection: sqlite3.Connection, note: Note) -> Note:
    """Keep a new one: a draft, or one that counts at once."""
    columns = {name: getattr(note, name) for name in note.__dataclass_fields__ if name != "id"}
    made = get(connection, insert(connection, "notes", _quoted(columns)))
    name = EventName.NOTE_DRAFTED if made.state is NoteState.DRAFT else EventName.NOTE_ACCEPTED
    _append(connection, name, made, {"kind": made.kind, "text": made.text[:300]}, at=made.created_at)
    return made


def _quoted(columns: dict[str, object]) -> dict[str, object]:
    """`check` is a word of SQL's."""
    return {f'"{name}"' if name == "check" else name: value for name, value in columns.items()}


def get(connection: sqlite3.Connection, number: int) -> Note:
    """Raises NotFound."""
    found = select(connection, Note, "SELECT * FROM notes WHERE id = ?", number)
    if not found:
        shows = hint(CommandRef("knowledge"), " shows those there are")
        raise NotFound(f"there is no note n{number}", hint=shows)
    return found[0]


def change(
    connection: sqlite3.Connection,
    number: int,
    *,
    at: datetime,
    actor: str,
    reason: str = "",
    **changes: object,
) -> Note:
    """Change columns of one, with a fact for what people know it by. What changes nothing is no fact."""
    before = get(connection, number)
    new = {name: value for name, value in changes.items() if getattr(before, name) != value}
    if not new:
        return before
    after = replace(before, **new, updated_at=at, reason=reason or before.reason)  # type: ignore[arg-type]
    update(connection, "notes", number, _quoted({**new, "updated_at": at, "reason": after.reason}))
    if {"state", "text", "kind", "space"} & set(new):
        moved = _MOVES.get(after.state) if "state" in new else None
        data: dict[str, Json] = {"kind": after.kind, "text": after.text[:300], "reason": reason}
        _append(connection, moved or EventName.NOTE_CHANGED, after, data, at=at, actor=actor)
    return after


_MOVES = {
    NoteState.ACTIVE: EventName.NOTE_ACCEPTED,
    NoteState.REJECTED: EventName.NOTE_REJECTED,
    NoteState.WITHDRAWN: EventName.NOTE_WITHDRAWN,
}


def replaces(connection: sqlite3.Connection, note: Note, *, at: datetime, actor: str) -> None:
    """A document is to count: another one of its name, which does, is withdrawn. It stays to be read."""
    if not note.document:
        return
    query = "SELECT * FROM notes WHERE state = 'active' AND space = ? AND document = ? AND id <> ?"
    for other in select(connection, Note, query, note.space, note.document, note.id):
        reason = f"another {note.document} takes its place"
        change(connection, other.id, at=at, actor=actor, reason=reason, state=NoteState.WITHDRAWN)


def promote(connection: sqlite3.Connection, note: Note, *, actor: str, at: datetime) -> Note:
    """Make a note of a repository one of all; the repository's own is withdrawn, since the other says it. Raises Refused for one that
    does not count, or counts in all already."""
    if note.is_global or note.state is not NoteState.ACTIVE:
        raise Refused(
            f"note {note.ref} counts in all repositories already"
            if note.is_global
            else f"note {note.ref} does not count: it is {note.state}"
        )
    new = replace(
        note,
        space="",
        actor=actor,
        created_at=at,
        updated_at=at,
        promoted_from=note.id,
        check=None,
        reason="",
    )
    replaces(connection, replace(new, id=0), at=at, actor=actor)
    made = add(connection, new)
    reason = f"{made.ref} says it for all repositories"
    change(connection, note.id, at=at, actor=actor, reason=reason, state=NoteState.WITHDRAWN)
    return made


def contradict(
    connection: sqlite3.Connection, number: int, text: str, *, by: str, at: datetime, job_id: int | None
) -> Note:
    """A session says that one is wrong: people see it beside the note, which counts until somebody takes it out."""
    update(connection, "notes", number, {"contradicted_by": f"{by}: {text}"})
    made = get(connection, number)
    data: dict[str, Json] = {"text": text[:300]}
    _append(connection, EventName.NOTE_CONTRADICTED, made, data, at=at, actor=by, job_id=job_id)
    return made


def of_state(
    connection: sqlite3.Connection,
    state: NoteState,
    *,
    space: str | None = None,
    documents: bool = False,
) -> list[Note]:
    """Those in a state, oldest first: of all, or of one repository (empty: those that count in all). `documents`: those too."""
    query = """SELECT * FROM notes WHERE state = ?1 AND (?2 IS NULL OR space = ?2) AND (?3 OR document = '')
               ORDER BY id"""
    return select(connection, Note, query, str(state), space, documents)


def listed(
    connection: sqlite3.Connection,
    state: NoteState,
    *,
    space: str | None = None,
    kind: NoteKind | None = None,
    limit: int = 200,
) -> list[Note]:
    """Those in a state, the newest first: of all, or those that concern one repository."""
    where, arguments = "", list[object]()
    if space is not None:
        where, arguments = " AND space IN ('', ?)", [space]
    if kind is not None:
        where, arguments = f"{where} AND kind = ?", [*arguments, str(kind)]
    query = f"SELECT * FROM notes WHERE state = ?{where} ORDER BY id DESC LIMIT ?"  # noqa: S608 - constants
    return select(connection, Note, query, str(state), *arguments, limit)


def counting_in(connection: sqlite3.Connection, space: str) -> list[Note]:
    """Those that count in a repository: its own, and those of all."""
    query = "SELECT * FROM notes WHERE state = 'active' AND space IN ('', ?) AND document = '' ORDER BY id"
    return select(connection, Note, query, space)


def counting_of(connection: sqlite3.Connection, space: str, kind: NoteKind, *, limit: int) -> list[Note]:
    """The newest of a kind that count in a repository, its own first."""
    query = """SELECT * FROM notes WHERE state = 'active' AND space IN ('', ?) AND kind = ? AND document = ''
               ORDER BY space = '', id DESC LIMIT ?"""
    return select(connection, Note, query, space, str(kind), limit)


def match_of(words: str, spaces: Collection[str] | None) -> str:
    """What the index is asked for: any of the words, in all or in these places; empty for no words, and for no place."""
    typed = list(dict.fromkeys(_WORD.findall(words.casefold())))
    found = ([word for word in typed if word not in STOP_WORDS] or typed)[:MOST_WORDS]
    if not found or (spaces is not None and not spaces):
        return ""
    matches = "{text question head} : (" + " OR ".join(f'"{word}"' for word in found) + ")"
    if spaces is None:
        return matches
    places = " OR ".join(f"s{name.encode().hex()}" for name in spaces)
    return f"place : ({places}) AND {matches}"


def search(
    connection: sqlite3.Connection,
    words: str,
    *,
    space: str | None = None,
    kind: NoteKind | None = None,
    states: tuple[NoteState, ...] = (NoteState.ACTIVE,),
    documents: bool = False,
    limit: int = 20,
) -> list[Note]:
    """Notes that have any of the words, the best first by BM25: in all, or those that count in one repository. `documents`: those too,
    which are long."""
    matches = match_of(words, None if space is None else ("", space))
    if not matches:
        return []
    where, arguments = "" if documents else " AND notes.document = ''", list[object]()
    if space is not None:
        where, arguments = f"{where} AND notes.space IN ('', ?)", [space]
    if kind is not None:
        where, arguments = f"{where} AND notes.kind = ?", [*arguments, str(kind)]
    marks = ", ".join("?" * len(states))
    query = f"""SELECT notes.* FROM (
                    SELECT notes.id AS best_id, {RANK} AS score FROM note_texts
                    JOIN notes ON notes.id = note_texts.rowid
                    WHERE note_texts MATCH ? AND notes.state IN ({marks}){where} ORDER BY score, best_id LIMIT ?)
                JOIN notes ON notes.id = best_id ORDER BY score, best_id"""  # noqa: S608 - marks and constants
    return select(connection, Note, query, matches, *map(str, states), *arguments, limit)


def of_file(connection: sqlite3.Connection, space: str, kind: str, numbers: Iterable[int]) -> list[Note]:
    """Those that stand in a knowledge file, and others by their numbers, as far as there are such; oldest first."""
    query = """SELECT * FROM notes WHERE (state = 'active' AND space = ? AND kind = ? AND document = '')
               OR id IN (SELECT value FROM json_each(?)) ORDER BY id"""
    return select(connection, Note, query, space, kind, json.dumps(sorted(numbers)))


def signatures(connection: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """By repository and kind, what changes with the notes that count there."""
    query = """SELECT space, kind, count(*) AS many, sum(id) AS ids, max(updated_at) AS at FROM notes
               WHERE state = 'active' AND document = '' GROUP BY space, kind"""
    rows = connection.execute(query)
    return {(row["space"], row["kind"]): f"{row['many']} {row['ids']} {row['at']}" for row in rows}


def with_check(connection: sqlite3.Connection, space: str) -> list[Note]:
    """Those that count in a repository while something holds there. One that a job wrote of its own work is held against the base once
    that job is over: what it says is there may only come with its merge."""
    query = """SELECT * FROM notes WHERE state = 'active' AND space = ? AND "check" IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = json_extract(source, '$.job_id') AND is_open)
               ORDER BY id"""
    return select(connection, Note, query, space)


def checked_spaces(connection: sqlite3.Connection) -> dict[str, str]:
    """The repositories that have such notes, each with the base branch of its last job. That of a call is whatever its caller named."""
    query = """SELECT space, (SELECT base_branch FROM jobs WHERE jobs.space = notes.space AND issue_number >= 0
                              ORDER BY id DESC LIMIT 1) AS branch
               FROM notes WHERE state = 'active' AND space <> '' AND "check" IS NOT NULL GROUP BY space"""
    return {row["space"]: row["branch"] for row in connection.execute(query) if row["branch"]}


def mark_checked(connection: sqlite3.Connection, number: int, *, at: datetime) -> None:
    """Its check holds: that is no change of it."""
    update(connection, "notes", number, {"checked_at": at})


def counts(connection: sqlite3.Connection, *, spaces: Collection[str] = ()) -> dict[str, int]:
    """How many notes there are in each state: in all repositories, or in some and those of all."""
    where = f"WHERE space = '' OR space COLLATE NOCASE IN ({', '.join('?' * len(spaces))})" if spaces else ""
    query = f"SELECT state, count(*) AS many FROM notes {where} GROUP BY state"  # noqa: S608 - marks
    rows = connection.execute(query, tuple(spaces))
    return {row["state"]: row["many"] for row in rows}


def of_job(connection: sqlite3.Connection, job_id: int) -> list[Note]:
    """Those that came of a job, oldest first."""
    query = "SELECT * FROM notes WHERE json_extract(source, '$.job_id') = ? ORDER BY id"
    return select(connection, Note, query, job_id)


def _append(
    connection: sqlite3.Connection,
    name: EventName,
    note: Note,
    data: dict[str, Json],
    *,
    at: datetime,
    actor: str = "",
    job_id: int | None = None,
) -> None:
    whole: dict[str, Json] = {"note": note.ref, "space": note.space, **data}
    by = actor or note.actor
    event = LedgerEvent(name=name, at=at, actor=by, job_id=job_id or note.source.job_id, data=whole)
    ledger.append(connection, event)
