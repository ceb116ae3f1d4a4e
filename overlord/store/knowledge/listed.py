"""Notes as a page of them lists them: by words, by repository, by kind and by whether they count."""

import sqlite3
from dataclasses import dataclass

from overlord.domain.knowledge.note import Note, NoteKind, NoteState
from overlord.store.knowledge import notes
from overlord.store.rows import select

MOST_SEARCHED = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which of them."""

    words: str = ""
    spaces: tuple[str, ...] | None = None
    """An empty name stands for those that count everywhere; None for all of them."""
    kind: NoteKind | None = None
    state: NoteState = NoteState.ACTIVE
    before: int = 0
    """Only those with a smaller number; 0 for the newest."""


def found(connection: sqlite3.Connection, wanted: Wanted, *, limit: int) -> list[Note]:
    """Those with the words, the best first; without words, the newest first."""
    if wanted.words.strip():
        best = notes.search(
            connection,
            wanted.words,
            kind=wanted.kind,
            states=(wanted.state,),
            documents=True,
            limit=MOST_SEARCHED,
        )
        return [note for note in best if wanted.spaces is None or note.space in wanted.spaces][:limit]
    where, arguments = ["state = ?"], list[object]([str(wanted.state)])
    if wanted.spaces is not None:
        where.append(f"space IN ({', '.join('?' * len(wanted.spaces))})")
        arguments += wanted.spaces
    if wanted.kind is not None:
        where.append("kind = ?")
        arguments.append(str(wanted.kind))
    if wanted.before:
        where.append("id < ?")
        arguments.append(wanted.before)
    query = f"SELECT * FROM notes WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?"  # noqa: S608 - constants
    return select(connection, Note, query, *arguments, limit)
