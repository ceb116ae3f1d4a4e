"""Passages of what is known: notes and documents that have words, the best first, each with the place where they stand."""

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

from overlord.domain.knowledge.note import Note, NoteState
from overlord.store.knowledge import notes
from overlord.store.rows import from_row

MARKS = ("**", "**")
"""Round each word that was looked for."""
CUT = " … "
MOST_WORDS = 48
"""Of a passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What was found of one note."""

    note: Note
    text: str
    """The words round those that were looked for, which are marked."""


def find(
    connection: sqlite3.Connection, words: str, *, spaces: Collection[str] | None, limit: int
) -> list[Passage]:
    """Of what counts in any of these places, an empty name for what counts in all; None for everywhere."""
    matches = notes.match_of(words, spaces)
    if not matches:
        return []
    where = "" if spaces is None else f" AND notes.space IN ({', '.join('?' * len(spaces))})"
    query = f"""SELECT notes.*, snippet(note_texts, 0, ?, ?, ?, {MOST_WORDS}) AS passage
                FROM note_texts JOIN notes ON notes.id = note_texts.rowid
                WHERE note_texts MATCH ? AND notes.state = 'active'{where}
                ORDER BY {notes.RANK}, notes.id LIMIT ?"""  # noqa: S608 - marks and constants
    rows = connection.execute(query, (*MARKS, CUT, matches, *(spaces or ()), limit)).fetchall()
    return [Passage(note=from_row(Note, row), text=row["passage"]) for row in rows]


def count_drafts(connection: sqlite3.Connection, words: str, *, spaces: Collection[str] | None) -> int:
    """How many that nobody has accepted yet have the words."""
    matches = notes.match_of(words, spaces)
    if not matches:
        return 0
    where = "" if spaces is None else f" AND notes.space IN ({', '.join('?' * len(spaces))})"
    query = f"""SELECT count(*) FROM note_texts JOIN notes ON notes.id = note_texts.rowid
                WHERE note_texts MATCH ? AND notes.state = ?{where}"""  # noqa: S608 - marks
    found = connection.execute(query, (matches, str(NoteState.DRAFT), *(spaces or ())))
    return int(found.fetchone()[0])


def waiting_by(connection: sqlite3.Connection, space: str, actor: str) -> int:
    """How many drafts of one author wait in one place."""
    query = "SELECT count(*) FROM notes WHERE state = 'draft' AND space = ? AND actor = ?"
    return int(connection.execute(query, (space, actor)).fetchone()[0])


def documents(connection: sqlite3.Connection, space: str, name: str, state: NoteState) -> list[Note]:
    """Those of a name in one place, newest first."""
    query = "SELECT * FROM notes WHERE space = ? AND document = ? AND state = ? ORDER BY id DESC"
    return [from_row(Note, row) for row in connection.execute(query, (space, name, str(state)))]


def counting_documents(connection: sqlite3.Connection) -> list[Note]:
    """Every document that counts: each has a file."""
    query = "SELECT * FROM notes WHERE state = 'active' AND document <> '' ORDER BY id"
    return [from_row(Note, row) for row in connection.execute(query)]
