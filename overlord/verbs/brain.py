"""What other agents have noted: the same knowledge that sessions and people write, under the same rules.

What a machine says is a draft that a person accepts, unless the repository's autonomy lets it count at once and nothing is held against it.
What is for all repositories is always a draft: no repository's autonomy speaks for the others.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from overlord.domain.knowledge.document import name_of, tags_of
from overlord.domain.knowledge.matching import question_in, says_same
from overlord.domain.knowledge.note import (
    MOST_DOCUMENT_CHARS,
    MOST_NOTE_CHARS,
    MOST_SOURCE_CHARS,
    Note,
    NoteKind,
    NoteSource,
    NoteState,
)
from overlord.domain.knowledge.vetting import COUNTS_AT_ONCE, Vetted, vetted
from overlord.domain.text.plain import plain_line, visible
from overlord.domain.text.reference import repository_in
from overlord.errors import Refused
from overlord.settings.load import Settings
from overlord.store.knowledge import notes, passages

ALL = "all"
"""The collection of what counts in all repositories."""
MOST_WAITING = 100
"""Drafts of one caller that wait in one place: people look at each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """What is to be kept."""

    content: str
    space: str
    """Where it counts: a repository that the caller reaches, or empty for all."""
    kind: str = ""
    """One of `NoteKind`; empty for a pattern."""
    filename: str = ""
    """The name of a document; empty for a note."""
    tags: Sequence[str] = ()
    session_key: str = ""
    """The caller's session; empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of it."""

    note: Note
    is_new: bool = True
    """False where the same was known already."""

    @property
    def words(self) -> str:
        """What happened, for whoever wrote it."""
        note = self.note
        what = f"{note.ref} ({note.document})" if note.document else note.ref
        where = note.space or "all repositories"
        if note.state is NoteState.ACTIVE:
            return (
                f"{what} counts in {where}."
                if self.is_new
                else f"{what} says it already, and counts in {where}."
            )
        held = f" It is held up: {note.reason}" if note.reason else ""
        begin = f"{what} is a draft" if self.is_new else f"{what}, a draft, says it already"
        return f"{begin}: it counts in {where} once a person has accepted it.{held}"


def brain_write(
    connection: sqlite3.Connection, said: Writing, *, settings: Settings, actor: str, at: datetime
) -> Kept:
    """Keep a note, or a document where it has a file's name. Raises Refused, with a sentence that names what to change."""
    named = {name.casefold(): name for name in settings.repositories}
    space = named.get(said.space.casefold()) if said.space else ""
    if space is None:
        raise Refused(
            f"collection must be {ALL}, or owner/name of a repository that you reach; not {visible(said.space)[:120]!r}"
        )
    said = replace(said, space=space)
    note = _note(said, actor=actor, at=at)
    if (same := _known_already(connection, note)) is not None:
        return Kept(note=same, is_new=False)
    if passages.waiting_by(connection, note.space, actor) >= MOST_WAITING:
        where = note.space or "all repositories"
        raise Refused(
            f"{MOST_WAITING} drafts of yours wait to be looked at in {where}, which is the most: wait until a person has accepted or"
            " withdrawn some"
        )
    is_active = bool(note.space) and not note.reason and settings.space(note.space).autonomy in COUNTS_AT_ONCE
    if is_active:
        notes.replaces(connection, note, at=at, actor=actor)
    state = NoteState.ACTIVE if is_active else NoteState.DRAFT
    made = notes.add(connection, replace(note, state=state))
    _take_back_older_drafts(connection, made, at=at)
    return Kept(note=made)


def collection_of(text: str, *, own: str, reaches: Callable[[str], bool]) -> str:
    """The place that `collection` names: the caller's own repository where it is left out, empty for all. Raises Refused for one that the
    caller does not reach."""
    named = text.strip()
    if not named:
        return own
    if named.casefold() == ALL:
        if not reaches(""):
            raise Refused(
                f"collection: {ALL} is out of reach of your token; name a repository of it, or leave it out"
            )
        return ""
    space = repository_in(named)
    if space is None or not reaches(space):
        raise Refused(
            f"collection must be {ALL}, or owner/name of a repository that you reach; not {visible(named)[:120]!r}"
        )
    return own if space.casefold() == own.casefold() else space


def _note(said: Writing, *, actor: str, at: datetime) -> Note:
    """Raises Refused."""
    try:
        name = name_of(said.filename) if said.filename.strip() else ""
        tags = tags_of(said.tags)
    except ValueError as error:
        raise Refused(str(error)) from None
    found = _vetted(said.content, is_document=bool(name))
    session = f", session {plain_line(said.session_key, limit=100)}" if said.session_key.strip() else ""
    return Note(
        id=0,
        space=said.space,
        kind=_kind(said.kind),
        text=found.text,
        question="" if name else question_in(found.text),
        state=NoteState.DRAFT,
        source=NoteSource(evidence=f"{actor}{session}"[:MOST_SOURCE_CHARS]),
        actor=actor,
        created_at=at,
        updated_at=at,
        reason=found.doubt,
        document=name,
        tags=tags,
    )


def _kind(text: str) -> NoteKind:
    named = text.strip().casefold() or NoteKind.PATTERN
    if named not in set(NoteKind):
        raise Refused(f"kind must be one of {', '.join(NoteKind)}; not {visible(text)[:40]!r}")
    return NoteKind(named)


def _vetted(content: str, *, is_document: bool) -> Vetted:
    """Raises Refused."""
    if not is_document and len(content.strip()) > MOST_NOTE_CHARS:
        raise Refused(
            f"a note has at most {MOST_NOTE_CHARS:,} characters, and this has {len(content.strip()):,}: say one thing, shorter, or give a"
            " filename, to keep it as a document"
        )
    if len(content) > 2 * MOST_DOCUMENT_CHARS:  # before anything reads it
        raise Refused(
            f"a document has at most {MOST_DOCUMENT_CHARS:,} characters, and this has {len(content):,}: shorten it, or make several of it"
        )
    found = vetted(content, most=MOST_DOCUMENT_CHARS if is_document else MOST_NOTE_CHARS)
    if found.problem:
        raise Refused(found.problem.replace("the note", "the document", 1) if is_document else found.problem)
    return found


def _known_already(connection: sqlite3.Connection, note: Note) -> Note | None:
    """What counts or waits there and says the same: nothing is written twice."""
    states = (NoteState.ACTIVE, NoteState.DRAFT)
    if note.document:
        there = [
            item
            for state in states
            for item in passages.documents(connection, note.space, note.document, state)
        ]
        return next((item for item in there if item.text == note.text), None)
    near = notes.search(connection, note.text, space=note.space, kind=note.kind, states=states)
    return next((item for item in near if item.space == note.space and says_same(item.text, note.text)), None)


def _take_back_older_drafts(connection: sqlite3.Connection, made: Note, *, at: datetime) -> None:
    """A document's drafts of the same author, which nobody needs to look at any more."""
    if not made.document:
        return
    for other in passages.documents(connection, made.space, made.document, NoteState.DRAFT):
        if other.id != made.id and other.actor == made.actor:
            reason = f"{made.ref} takes its place"
            notes.change(
                connection, other.id, at=at, actor=made.actor, reason=reason, state=NoteState.REJECTED
            )
