"""A note: what it says, where it is from, where it counts, and all that happened to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import happened, words
from overlord.domain.conversation.knowledge_argument import NoteArgument, number_of
from overlord.domain.event_description import describe_event
from overlord.domain.knowledge.note import NoteState
from overlord.domain.portfolio.files import layout
from overlord.domain.view.span import Span
from overlord.domain.view.view import Action, Actions, Bullets, Fields, Heading, Part, Quote, View
from overlord.queries.declared.knowledge import NoteView, note_view
from overlord.queries.look import Look
from overlord.queries.query import Query
from overlord.store.knowledge import notes
from overlord.store.knowledge.note_history import about_note

MOST_SHOWN = 2_000
"""Characters of a document; all of it is in its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfNote:
    """Which."""

    note: Annotated[str, NoteArgument()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One thing that happened to it."""

    at: datetime
    actor: str
    what: str
    text: str
    """What it said from then on; empty where that is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteStory:
    """A note and its story."""

    note: NoteView
    history: tuple[Happened, ...]


def _read(look: Look, arguments: OfNote) -> NoteStory:
    note = notes.get(look.connection, number_of(arguments.note, "n"))
    history = tuple(
        Happened(
            at=datetime.fromisoformat(entry.at),
            actor=entry.actor,
            what=describe_event(entry.name, entry.details),
            text=str(entry.details.get("text", "")),
        )
        for entry in about_note(look.connection, note.ref)
    )
    return NoteStory(note=note_view(note), history=history)


def _view(_look: Look, found: NoteStory) -> View:
    return View(summary=f"Note {found.note.ref}: {words(found.note.text)}", parts=tuple(_parts(found)))


def _parts(found: NoteStory) -> Iterator[Part]:
    note = found.note
    yield Heading(f"Note {note.ref}: a {note.kind} of {note.space or 'all repositories'}")
    shown = note.text[:MOST_SHOWN]
    yield Quote(shown if shown == note.text else f"{shown} …")
    yield Fields(tuple(_fields(note)))
    yield Bullets(tuple(happened(item.at, f"{item.what} ({item.actor})") for item in found.history))
    yield Actions(tuple(_actions(note)))


def _fields(note: NoteView) -> Iterator[tuple[str, tuple[Span, ...]]]:
    told = (
        ("state", f"{note.state}{f': {note.reason}' if note.reason else ''}"),
        ("file", file_of(note) if note.document else ""),
        ("tags", ", ".join(note.tags)),
        ("answers", note.question),
        ("counts while", note.check),
        ("from", note.source),
        ("written by", note.actor),
        ("was before", note.promoted_from),
        ("contradicted by", note.contradicted_by),
    )
    yield from ((name, (words(value, 500),)) for name, value in told if value)


def file_of(note: NoteView) -> str:
    """Where a document stands, from the top of OVERLORD_HOME, once it counts."""
    path = layout.document(note.space, note.document)
    return path if note.state == NoteState.ACTIVE else f"{path}, once it counts"


def _actions(note: NoteView) -> Iterator[Action]:
    if note.state != NoteState.ACTIVE:
        yield Action("Accept", CommandRef("knowledge-accept", (note.ref,)), "it counts from then on")
    if note.state in (NoteState.ACTIVE, NoteState.DRAFT):
        yield Action("Withdraw", CommandRef("knowledge-withdraw", (note.ref,)), "it counts no more")
    if note.state == NoteState.ACTIVE and note.space:
        yield Action("Promote", CommandRef("knowledge-promote", (note.ref,)), "it counts in all repositories")


QUERY = Query(
    read=_read,
    view=_view,
    arguments=OfNote,
    usage="note n12",
    means="a note, and what happened to it",
    position=61,
    terminal="knowledge show",
)
