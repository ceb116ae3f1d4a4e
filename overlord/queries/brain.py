"""What other agents look up: passages of notes and documents that count, with where each is from."""

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.knowledge.document import title_of
from overlord.domain.portfolio.files import layout
from overlord.errors import Refused
from overlord.queries.declared.knowledge import source_of
from overlord.store.knowledge import passages

MOST_QUERY_CHARS = 1_000
MOST_FOUND = 50
FOUND = 10
"""Without a limit of the caller's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """One passage, as programs see it. Its words are others': data, whatever they say."""

    ref: str
    """The note: `n12`."""
    kind: str
    space: str
    """Empty where it counts in all repositories."""
    title: str
    """Of a document; of a note empty."""
    text: str
    """The words round those that were looked for, which stand between two stars each."""
    file: str
    """The file that people edit, from the top of OVERLORD_HOME."""
    tags: tuple[str, ...]
    source: str
    """Where it comes from, in words."""
    actor: str
    updated_at: datetime
    contradicted_by: str
    """What a session held against it; empty where nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrainAnswer:
    """What was found."""

    passages: tuple[FoundPassage, ...]
    drafts: int
    """Others with these words that nobody has accepted yet."""


def brain_query(
    connection: sqlite3.Connection, words: str, *, spaces: Collection[str] | None, limit: int = FOUND
) -> BrainAnswer:
    """Passages with any of the words, the best first: of the repositories that the caller reaches, None for all of them, and of what
    counts in all. Raises Refused."""
    if not words.strip():
        raise Refused("query is required: the words to look for")
    if len(words) > MOST_QUERY_CHARS:
        raise Refused(f"query has at most {MOST_QUERY_CHARS:,} characters: give the words to look for")
    if not 1 <= limit <= MOST_FOUND:
        raise Refused(f"limit must be from 1 to {MOST_FOUND}")
    places = None if spaces is None else ("", *spaces)
    found = passages.find(connection, words, spaces=places, limit=limit)
    return BrainAnswer(
        passages=tuple(map(_told, found)),
        drafts=passages.count_drafts(connection, words, spaces=places),
    )


def _told(passage: passages.Passage) -> FoundPassage:
    note = passage.note
    path = (
        layout.document(note.space, note.document)
        if note.document
        else layout.knowledge(note.space, note.kind)
    )
    return FoundPassage(
        ref=note.ref,
        kind=str(note.kind),
        space=note.space,
        title=title_of(note) if note.document else "",
        text=passage.text,
        file=path,
        tags=note.tags,
        source=source_of(note),
        actor=note.actor,
        updated_at=note.updated_at,
        contradicted_by=note.contradicted_by,
    )
