"""Notes that do not go together, found among all that count."""

import sqlite3
from collections.abc import Sequence

from overlord.domain.knowledge.matching import conflicts
from overlord.domain.knowledge.note import Note, NoteState
from overlord.domain.portfolio.view import Conflict
from overlord.domain.text.plain import plain_line, quoted
from overlord.store.knowledge import notes

MOST_COMPARED = 150
"""Notes that are held against each other: where many answer one question, each is compared with each."""


def conflicts_in(connection: sqlite3.Connection) -> Sequence[Conflict]:
    """Each pair once, among the newest."""
    found = conflicts(notes.of_state(connection, NoteState.ACTIVE)[-MOST_COMPARED:])
    return [_conflict(one, other) for one, other in found]


def _conflict(one: Note, other: Note) -> Conflict:
    shown = "\n\n".join(
        f"{note.ref} of {note.space or 'all repositories'}:\n\n{quoted(note.text)}" for note in (one, other)
    )
    return Conflict(
        key=f"{one.ref} {other.ref}",
        title=f"{one.ref} and {other.ref} answer the same otherwise: {plain_line(one.question, limit=100)}",
        text=shown,
        space=one.space if one.space == other.space else "",
    )
