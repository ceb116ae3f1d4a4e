"""Knowledge files and notes kept alike: people edit the files, verbs and sessions change the rows, and neither loses what it wrote.

Rows are changed first, with the file as it was read; then the file is written, if nobody wrote to it meanwhile; then the row of the file
says so. Cut off anywhere in between, the next look finds a file whose bullets say what the notes say, and matches them.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.knowledge.file_text import (
    MOST_FILE_BYTES,
    BrokenFileError,
    KnowledgeText,
    heading,
    read,
)
from overlord.domain.knowledge.matching import question_in
from overlord.domain.knowledge.merging import Merged, merge, written
from overlord.domain.knowledge.note import Note, NoteKind, NoteSource, NoteState
from overlord.domain.portfolio.files import layout
from overlord.domain.text.plain import visible
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.file_tree import FileTree, UnreadableFileError, digest_of
from overlord.store import ledger
from overlord.store.knowledge import notes
from overlord.store.portfolio import files
from overlord.store.portfolio.files import FileState, KnownFile

EVERY_S = 5.0
"""How often files are looked at, at most, while the daemon is at work."""
_MOST_TROUBLE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A knowledge file."""

    space: str
    kind: NoteKind

    @property
    def path(self) -> str:
        return layout.knowledge(self.space, self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A file as it was found."""

    place: _Place
    mark: str
    digest: str
    content: bytes | None
    trouble: str = ""


async def look(parts: Parts) -> Progress:
    """Bring files and notes in line; whether anything was to be done."""
    places = [
        _Place(space=space, kind=kind) for space in ("", *parts.settings.repositories) for kind in NoteKind
    ]
    known, signatures = await parts.database.read(lambda c: (files.states(c), notes.signatures(c)))
    tree = FileTree(parts.home.root)
    found = await asyncio.to_thread(lambda: list(_changed(tree, places, known, signatures)))
    for item in found:
        await _bring_in_line(parts, tree, item)
    return Progress.MOVED if found else Progress.IDLE


def _changed(
    tree: FileTree,
    places: Sequence[_Place],
    known: Mapping[str, FileState],
    signatures: Mapping[tuple[str, str], str],
) -> Sequence[_Read]:
    """Files that changed, or whose notes did, since they were last alike."""
    found = list[_Read]()
    for place in places:
        before, signature = known.get(place.path), signatures.get((place.space, place.kind), "")
        mark = tree.mark(place.path)
        if (before.mark if before is not None else "/") != f"{mark}/{signature}":
            found.append(_read(tree, place, f"{mark}/{signature}"))
    return found


def _read(tree: FileTree, place: _Place, mark: str) -> _Read:
    try:
        content = tree.read(place.path, most=MOST_FILE_BYTES)
    except UnreadableFileError as error:
        return _Read(place=place, mark=mark, digest="", content=None, trouble=str(error))
    digest = digest_of(content) if content is not None else ""
    return _Read(place=place, mark=mark, digest=digest, content=content)


async def _bring_in_line(parts: Parts, tree: FileTree, found: _Read) -> None:
    if found.trouble:
        await _tell(parts, found, found.trouble)
        return
    try:
        file = await asyncio.to_thread(_parsed, parts, found)
        taking = partial(_take, found=found, file=file, at=parts.clock.now())
        new = await parts.database.write(Failpoint.FILES_READ, taking)
        content = new.text().encode()
        if content != (found.content or b"") and (new.bullets or found.content is not None):
            await asyncio.to_thread(partial(tree.put, found.place.path, content, expected=found.digest))
    except BrokenFileError as error:
        await _tell(parts, found, str(error))
        return
    except UnreadableFileError as error:
        await _tell(parts, replace(found, mark=""), str(error))  # looked at again soon
        return
    signatures = await parts.database.read(notes.signatures)
    signature = signatures.get((found.place.space, found.place.kind), "")
    row = KnownFile(
        path=found.place.path,
        digest=digest_of(content),
        mark=f"{tree.mark(found.place.path)}/{signature}",
        text=KnowledgeText(parts=new.bullets).text(),
        read_at=parts.clock.now(),
    )
    if tree.mark(found.place.path) and await asyncio.to_thread(_is_still, tree, row) is False:
        return  # somebody wrote to it since: the next look reads that
    await parts.database.write(Failpoint.FILES_READ, lambda c: files.put(c, row))


def _is_still(tree: FileTree, row: KnownFile) -> bool:
    try:
        content = tree.read(row.path, most=MOST_FILE_BYTES)
    except UnreadableFileError:
        return False  # somebody put something else in its place meanwhile
    return content is not None and digest_of(content) == row.digest


def _parsed(parts: Parts, found: _Read) -> KnowledgeText:
    """Raises BrokenFileError. A file that is gone or empty is written anew: to withdraw notes, their bullets are taken out."""
    if not (found.content or b"").strip():
        return heading(found.place.kind, found.place.space)
    file = read(found.content or b"")
    for bullet in file.bullets:
        if parts.current.redactor.redact(bullet.text) != bullet.text:
            raise BrokenFileError(
                f"the note in line {bullet.line} holds what looks like a secret: take it out"
            )
    return file


def _take(
    connection: sqlite3.Connection, *, found: _Read, file: KnowledgeText, at: datetime
) -> KnowledgeText:
    """Change the notes by what people wrote, and return the file as it is to be."""
    place, before = found.place, files.get(connection, found.place.path)
    is_there = bool((found.content or b"").strip())
    base = _base(before) if is_there else KnowledgeText()
    numbers = {*file.numbered(), *base.numbered()}
    rows = {note.id: note for note in notes.of_file(connection, place.space, place.kind, numbers)}
    merged = merge(file, base, rows, space=place.space, kind=place.kind)
    lines = {**merged.matched, **_apply(connection, place, merged, at=at)}
    row = KnownFile(
        path=place.path,
        digest=found.digest,
        text=KnowledgeText(parts=file.bullets).text() if is_there else "",
        read_at=at,
    )
    files.put(connection, row)
    active = notes.of_file(connection, place.space, place.kind, ())
    return written(file, active, lines)


def _base(before: KnownFile | None) -> KnowledgeText:
    return read(before.text.encode()) if before is not None and before.text else KnowledgeText()


def _apply(
    connection: sqlite3.Connection, place: _Place, merged: Merged, *, at: datetime
) -> Mapping[int, int]:
    """The numbers of new notes, by their lines."""
    actor, lines = f"file:{place.path}", dict[int, int]()
    for bullet in merged.new:
        note = _new(place, bullet.text, actor=actor, at=at)
        lines[bullet.line] = notes.add(connection, note).id
    for kept in merged.drafts:
        reason = f"what {kept.ref} said before a person changed it in {place.path}"
        draft = replace(
            kept, state=NoteState.DRAFT, reason=reason, created_at=at, updated_at=at, contradicted_by=""
        )
        notes.add(connection, draft)
    for change in merged.changed:
        notes.change(
            connection,
            change.number,
            at=at,
            actor=actor,
            reason=f"changed in {place.path}",
            state=NoteState.ACTIVE,
            text=change.text,
            question=question_in(change.text) or notes.get(connection, change.number).question,
            contradicted_by="",
        )
    for number in merged.gone:
        reason = f"taken out of {place.path}"
        notes.change(connection, number, at=at, actor=actor, reason=reason, state=NoteState.WITHDRAWN)
    return lines


def _new(place: _Place, text: str, *, actor: str, at: datetime) -> Note:
    return Note(
        id=0,
        space=place.space,
        kind=place.kind,
        text=text,
        question=question_in(text),
        state=NoteState.ACTIVE,
        source=NoteSource(file=place.path),
        actor=actor,
        created_at=at,
        updated_at=at,
    )


async def _tell(parts: Parts, found: _Read, trouble: str) -> None:
    """Note that a file cannot be read or written; the file and what was read of it before stay as they are."""
    path, words = found.place.path, parts.current.redactor.redact(visible(trouble))[:_MOST_TROUBLE]

    def tell(connection: sqlite3.Connection) -> None:
        before, at = files.get(connection, path), parts.clock.now()
        if before is None or before.trouble != words:
            data = {"path": path, "trouble": words}
            ledger.append(connection, LedgerEvent(name=EventName.FILE_REFUSED, at=at, data={**data}))
        text = before.text if before is not None else ""
        row = KnownFile(path=path, digest=found.digest, mark=found.mark, text=text, trouble=words, read_at=at)
        files.put(connection, row)

    await parts.database.write(Failpoint.FILES_READ, tell)
