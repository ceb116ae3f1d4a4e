"""What a session is told of what was learned: notes that count in its repository and fit its task, cut to what a brief can hold.

Conventions and preferences fit every task, the repository's own before those of all; of the others those that have the task's words. Each
comes with its number, so that a session can say that it is wrong.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from minion.protocol import KnownNote, PortfolioBrief, PortfolioTool
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.knowledge.matching import words_of
from overlord.domain.knowledge.note import Note, NoteKind
from overlord.engine.knowledge import checks
from overlord.engine.runtime.parts import Parts
from overlord.store.knowledge import notes

MOST_NOTES = 12
MOST_CHARS = 6_000
MOST_ALWAYS = 6
"""Conventions and preferences that come before what fits; the rest of them comes after it."""
_ALWAYS = (NoteKind.CONVENTION, NoteKind.PREFERENCE)
TOOLS = (PortfolioTool.SEARCH_KNOWLEDGE, PortfolioTool.NOTE_KNOWLEDGE)
"""What every work session has, whether or not it is of an initiative."""


def recall(connection: sqlite3.Connection, space: str, about: Iterable[str]) -> tuple[KnownNote, ...]:
    """The notes for a session in a repository, whose task has these texts."""
    found = notes.search(connection, " ".join(words_of("\n".join(about))), space=space, limit=40)
    rank = {note.id: place for place, note in enumerate(found)}
    always = [note for kind in _ALWAYS for note in notes.counting_of(connection, space, kind, limit=30)]
    always.sort(key=lambda note: (not note.space, rank.get(note.id, len(rank)), -note.id))
    fitting = sorted(found, key=lambda note: not note.space)
    chosen = _cut(dict.fromkeys([*always[:MOST_ALWAYS], *fitting, *always]))
    return tuple(
        KnownNote(ref=note.ref, kind=str(note.kind), text=note.text, space=note.space) for note in chosen
    )


def _cut(notes_in_order: Iterable[Note]) -> Sequence[Note]:
    chosen, left = list[Note](), MOST_CHARS
    for note in notes_in_order:
        if len(chosen) == MOST_NOTES:
            break
        if len(note.text) <= left:
            chosen.append(note)
            left -= len(note.text)
    return chosen


async def with_notes(
    parts: Parts, job: Job, told: PortfolioBrief | None, *, base: Sha, listing: Mapping[str, str]
) -> PortfolioBrief:
    """What the portfolio says to a session, with the notes that fit; for a session of no initiative these alone. Notes that do not hold
    at its base are left out: the base may be an old one, so they go on to count."""
    failing = await checks.failing(parts, job.space, base, listing)
    about = [job.issue.title, job.issue.body]
    if told is not None and told.task is not None:
        about = [told.task.subject, told.task.description, *about]
    found = await parts.database.read(lambda c: recall(c, job.space, about))
    redact = parts.current.redactor.redact
    known = tuple(replace(note, text=redact(note.text)) for note in found if note.ref not in failing)
    if told is None:
        return PortfolioBrief(briefing="", initiative="", notes=known, tools=TOOLS)
    tools = (*told.tools, *(tool for tool in TOOLS if tool not in told.tools))
    return replace(told, notes=known, tools=tools)
