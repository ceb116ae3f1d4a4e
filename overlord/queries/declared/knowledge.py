"""What was learned: notes that count, drafts that wait, and files that cannot be read; all, or those that have some words.

A note has a number, says what it is and where it is from, and where it counts; one that a session contradicted says so. Drafts count only
once somebody accepts them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import listed, since, words
from overlord.domain.conversation.look_argument import FilterArgument, FindArgument, FlagArgument
from overlord.domain.knowledge.note import Note as LearnedNote
from overlord.domain.knowledge.note import NoteKind, NoteState
from overlord.domain.text.plain import count
from overlord.domain.view.span import Bold, Command, Span
from overlord.domain.view.view import Bullets, Note, Paragraph, Part, Table, View
from overlord.queries.look import Look
from overlord.queries.portfolio import troubles
from overlord.queries.query import Cell, Query
from overlord.store.knowledge import notes

MOST = 200
"""Notes that are listed at once."""
_TEXT = 160
_COLUMNS = ("note", "kind", "where", "what", "from", "since")
NONE = "Nothing was noted yet."
_IN_FILES = "knowledge/"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfKnowledge:
    """Which of it."""

    space: Annotated[
        str, FilterArgument(name="space", help="What counts in this repository, as owner/name.")
    ] = ""
    kind: Annotated[
        str, FilterArgument(name="kind", help="Only notes of this kind.", choices=tuple(NoteKind))
    ] = ""
    state: Annotated[
        str,
        FilterArgument(
            name="state", help="Notes in this state; those that count, if absent.", choices=tuple(NoteState)
        ),
    ] = ""
    drafts: Annotated[
        bool, FlagArgument(name="drafts", help="Drafts that wait for somebody to accept them.")
    ] = False
    words: Annotated[str, FindArgument()] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteView:
    """A note as people and programs see it."""

    ref: str
    kind: str
    space: str
    """Empty where it counts in all repositories."""
    state: str
    text: str
    question: str
    check: str
    """What has to hold at base for it to count; empty for nothing."""
    source: str
    actor: str
    created_at: datetime
    updated_at: datetime
    reason: str
    contradicted_by: str
    promoted_from: str
    document: str
    """The name of its file, where it is a document."""
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTrouble:
    """A knowledge file that cannot be read."""

    path: str
    trouble: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What was found."""

    notes: tuple[NoteView, ...]
    counting: int
    """All that count, wherever."""
    drafts: int
    """All that wait to be accepted."""
    more: bool
    """Whether there are more than are listed."""
    files: tuple[FileTrouble, ...]


def note_view(note: LearnedNote) -> NoteView:
    """A note with its origin in words."""
    check = note.check
    return NoteView(
        ref=note.ref,
        kind=str(note.kind),
        space=note.space,
        state=str(note.state),
        text=note.text,
        question=note.question,
        check=f"{check.kind.replace('_', ' ')}: {check.path} {check.text}".strip()
        if check is not None
        else "",
        source=source_of(note),
        actor=note.actor,
        created_at=note.created_at,
        updated_at=note.updated_at,
        reason=note.reason,
        contradicted_by=note.contradicted_by,
        promoted_from=f"n{note.promoted_from}" if note.promoted_from else "",
        document=note.document,
        tags=note.tags,
    )


def source_of(note: LearnedNote) -> str:
    """Where it is from, in words."""
    source = note.source
    if source.file:
        return source.file
    if source.escalation_id is not None:
        return f"escalation e{source.escalation_id}"
    if source.job_id is not None:
        return f"job {source.job_id}{f': {source.evidence}' if source.evidence else ''}"
    return source.evidence or note.actor


def _read(look: Look, arguments: OfKnowledge) -> Knowledge:
    space = look.space(arguments.space) if arguments.space else None
    state = NoteState.DRAFT if arguments.drafts else NoteState(arguments.state or NoteState.ACTIVE)
    kind = NoteKind(arguments.kind) if arguments.kind else None
    if arguments.words.strip():
        found: Sequence[LearnedNote] = notes.search(
            look.connection,
            arguments.words,
            space=space,
            kind=kind,
            states=(state,),
            documents=True,
            limit=MOST + 1,
        )
    else:
        found = notes.listed(look.connection, state, space=space, kind=kind, limit=MOST + 1)
    found = [note for note in found if look.sees(note.space)]
    totals = notes.counts(look.connection, spaces=look.spaces)
    return Knowledge(
        notes=tuple(map(note_view, found[:MOST])),
        counting=totals.get(NoteState.ACTIVE, 0),
        drafts=totals.get(NoteState.DRAFT, 0),
        more=len(found) > MOST,
        files=tuple(
            FileTrouble(path=file.path, trouble=file.trouble)
            for file in troubles(look, space or "")
            if _IN_FILES in file.path
        ),
    )


def _view(look: Look, found: Knowledge) -> View:
    rows = tuple(_row(item, look.at) for item in found.notes)
    summary = f"{count(found.counting, 'note')} that {'counts' if found.counting == 1 else 'count'}, {count(found.drafts, 'draft')} to be looked at"
    return View(
        summary=summary,
        parts=(listed(Table(_COLUMNS, rows), _nothing(found)), *_below(found)),
        has_title=True,
    )


def _nothing(found: Knowledge) -> str:
    """Why none is listed."""
    return "No note is like that." if found.counting else NONE


def _row(item: NoteView, at: datetime) -> tuple[tuple[Span, ...], ...]:
    doubt = f" (contradicted by {words(item.contradicted_by)})" if item.contradicted_by else ""
    named = f"{item.document}: " if item.document else ""
    asked = f"{words(item.question, _TEXT)} " if item.question and item.question not in item.text else ""
    return (
        (Bold(item.ref),),
        (item.kind,),
        (item.space or "all",),
        (f"{named}{asked}{words(item.text, _TEXT)}{doubt}",),
        (words(item.source),),
        (since(item.updated_at, at),),
    )


def _below(found: Knowledge) -> Iterator[Part]:
    if found.drafts and not found.notes:
        verb = "waits" if found.drafts == 1 else "wait"
        yield Paragraph(
            (
                f"{count(found.drafts, 'draft')} {verb} for somebody to accept: ",
                Command(CommandRef("knowledge", ("--drafts",))),
            )
        )
    if found.more:
        yield Note(f"There are more than {MOST}: look for words of them.")
    if found.files:
        yield Bullets(
            tuple((Bold(item.path), f" cannot be read: {words(item.trouble, 500)}") for item in found.files)
        )


def _csv(found: Knowledge) -> Iterator[Sequence[Cell]]:
    names = tuple(NoteView.__dataclass_fields__)
    yield names
    for item in found.notes:
        yield tuple(_cell(getattr(item, name)) for name in names)


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return value.isoformat() if isinstance(value, datetime) else str(value)


QUERY = Query(
    read=_read,
    view=_view,
    csv=_csv,
    arguments=OfKnowledge,
    usage="knowledge cache",
    means="what was learned, also `knowledge drafts`, `knowledge kind:decision space:owner/repo cache`",
    position=60,
    is_narrowed=True,
    terminal="knowledge list",
)
