"""What is known and fits: the notes that a session is told."""

import sqlite3
from collections.abc import Sequence

from minion.protocol import KnownNote
from overlord.store.knowledge import notes


def recall(connection: sqlite3.Connection, space: str, about: Sequence[str]) -> tuple[KnownNote, ...]:
    """Notes that count in a repository and have words of what a session is about."""
    found = notes.search(connection, " ".join(about), space=space, limit=12)
    return tuple(KnownNote(ref=note.ref, kind=note.kind, text=note.text, space=note.space) for note in found)
