"""Documents and their files kept alike: people edit the files, other agents and verbs change the rows, and neither loses what it wrote.

As for the files of notes, the row is changed first, with the file as it was read; then the file is written, if nobody wrote to it meanwhile;
then the row of the file says so. A file that is gone is written anew: to take a document out, it is withdrawn.
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.knowledge.document import ENDING, MOST_FILE_BYTES, DocumentText, read, written
from overlord.domain.knowledge.file_text import BrokenFileError
from overlord.domain.knowledge.note import DOCUMENT_NAME, Note, NoteKind, NoteSource, NoteState
from overlord.domain.portfolio.files import layout
from overlord.domain.text.plain import visible
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.file_tree import FileTree, UnreadableFileError, digest_of
from overlord.queries.declared.knowledge import source_of
from overlord.store import ledger
from overlord.store.knowledge import notes, passages
from overlord.store.portfolio import files
from overlord.store.portfolio.files import FileState, KnownFile

MOST_FILES = 1_000
"""In one directory; more are not looked at."""
MISNAMED = "its name must be of small letters, digits, dots and hyphens, as release-notes.md: rename it"
_MOST_TROUBLE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A document's file that changed, or whose row did, since they were last alike."""

    space: str
    name: str
    mark: str
    content: bytes | None
    note: Note | None
    """The row that counts."""
    before: FileState | None
    trouble: str = ""

    @property
    def path(self) -> str:
        return f"{layout.documents(self.space)}/{self.name}"

    @property
    def digest(self) -> str:
        return digest_of(self.content) if self.content is not None else ""

    @property
    def is_edited(self) -> bool:
        """Whether somebody wrote to the file since it was last read or written. One that is gone was not written to."""
        was = self.before.digest if self.before is not None else ""
        return self.content is not None and bool(self.content.strip()) and self.digest != was


async def look(parts: Parts) -> Progress:
    """Bring files and documents in line; whether anything was to be done."""
    known, rows = await parts.database.read(lambda c: (files.states(c), passages.counting_documents(c)))
    tree, spaces = FileTree(parts.home.root), ("", *parts.settings.repositories)
    found = await asyncio.to_thread(lambda: _changed(tree, spaces, known, rows))
    for item in found:
        await _bring_in_line(parts, tree, item)
    return Progress.MOVED if found else Progress.IDLE


def _changed(
    tree: FileTree, spaces: Sequence[str], known: Mapping[str, FileState], rows: Sequence[Note]
) -> list[_Found]:
    counting = {(note.space.casefold(), note.document): note for note in rows}
    found = list[_Found]()
    for space in spaces:
        directory = layout.documents(space)
        there = {name for name in tree.names(directory, most=MOST_FILES) if name.endswith(ENDING)}
        kept = {name for (where, name) in counting if where == space.casefold()}
        read_before = {path.rpartition("/")[2] for path in known if path.rpartition("/")[0] == directory}
        for name in sorted(there | kept | read_before):
            note = counting.get((space.casefold(), name))
            if (item := _look_at(tree, space, name, note, known)) is not None:
                found.append(item)
    return found


def _look_at(
    tree: FileTree, space: str, name: str, note: Note | None, known: Mapping[str, FileState]
) -> _Found | None:
    path = f"{layout.documents(space)}/{name}"
    before, mark = known.get(path), _mark(tree, path, note)
    if before is not None and before.mark == mark:
        return None
    item = _Found(space=space, name=name, mark=mark, content=None, note=note, before=before)
    if DOCUMENT_NAME.fullmatch(name) is None:
        return replace(item, trouble=MISNAMED) if tree.mark(path) else item
    try:
        return replace(item, content=tree.read(path, most=MOST_FILE_BYTES))
    except UnreadableFileError as error:
        return replace(item, trouble=str(error))


def _mark(tree: FileTree, path: str, note: Note | None) -> str:
    """What changes with the file, and with its row."""
    return f"{tree.mark(path)}/{_signature(note) if note is not None else ''}"


def _signature(note: Note) -> str:
    said = digest_of(f"{note.kind}\0{note.tags}\0{note.text}".encode())[:16]
    return f"{note.id} {note.updated_at.isoformat()} {said}"


async def _bring_in_line(parts: Parts, tree: FileTree, found: _Found) -> None:
    if found.trouble:
        await _tell(parts, found, found.trouble)
        return
    try:
        note = found.note
        if found.is_edited:
            said = await asyncio.to_thread(_said, parts, found)
            take = partial(_take, found=found, said=said, at=parts.clock.now())
            note = await parts.database.write(Failpoint.FILES_READ, take)
        content = written(note, source_of(note)).encode() if note is not None else None
        await asyncio.to_thread(_put, tree, found, content)
    except BrokenFileError as error:
        await _tell(parts, found, str(error))
        return
    except UnreadableFileError as error:
        await _tell(parts, replace(found, mark=""), str(error))  # looked at again soon
        return
    digest = digest_of(content) if content is not None else ""
    row = KnownFile(
        path=found.path, digest=digest, mark=_mark(tree, found.path, note), read_at=parts.clock.now()
    )

    def put(connection: sqlite3.Connection) -> None:
        if content is None:
            files.forget(connection, [row.path])
        else:
            files.put(connection, row)

    if await asyncio.to_thread(
        _is_still, tree, row
    ):  # else somebody wrote to it since: the next look reads that
        await parts.database.write(Failpoint.FILES_READ, put)


def _said(parts: Parts, found: _Found) -> DocumentText:
    """Raises BrokenFileError."""
    note = found.note
    kind = note.kind if note is not None else NoteKind.PATTERN
    said = read(found.content or b"", kind=kind, tags=note.tags if note is not None else ())
    if parts.current.redactor.redact(said.text) != said.text:
        raise BrokenFileError("it holds what looks like a secret: take it out")
    return said


def _take(connection: sqlite3.Connection, *, found: _Found, said: DocumentText, at: datetime) -> Note:
    """Change the row by what a person wrote, or make one. What Overlord changed since, which the person's words go before, is a draft."""
    actor, row = f"file:{found.path}", KnownFile(path=found.path, digest=found.digest, read_at=at)
    files.put(connection, row)
    there = next(iter(passages.documents(connection, found.space, found.name, NoteState.ACTIVE)), None)
    if there is None:
        return notes.add(connection, _new(found, said, actor=actor, at=at))
    if there.text != said.text and found.before is not None and _changed_since(found, there):
        reason = f"what {there.ref} said before a person changed it in {found.path}"
        draft = replace(there, state=NoteState.DRAFT, reason=reason, created_at=at, updated_at=at)
        notes.add(connection, replace(draft, contradicted_by=""))
    return notes.change(
        connection,
        there.id,
        at=at,
        actor=actor,
        reason=f"changed in {found.path}",
        text=said.text,
        kind=said.kind,
        tags=said.tags,
        contradicted_by="",
    )


def _changed_since(found: _Found, there: Note) -> bool:
    """Whether a row has changed since its file was last written."""
    was = found.before.mark.rpartition("/")[2] if found.before is not None else ""
    return was != _signature(there)


def _new(found: _Found, said: DocumentText, *, actor: str, at: datetime) -> Note:
    return Note(
        id=0,
        space=found.space,
        kind=said.kind,
        text=said.text,
        question="",
        state=NoteState.ACTIVE,
        source=NoteSource(file=found.path),
        actor=actor,
        created_at=at,
        updated_at=at,
        document=found.name,
        tags=said.tags,
    )


def _put(tree: FileTree, found: _Found, content: bytes | None) -> None:
    """Raises UnreadableFileError. One that a person wrote to, and that is to go, is never reached: it is a document again."""
    if content is not None and content != found.content:
        tree.put(found.path, content, expected=found.digest)
    elif content is None and found.content is not None:
        if tree.read(found.path, most=MOST_FILE_BYTES) != found.content:
            raise UnreadableFileError("somebody wrote to it meanwhile: it was left as it is")
        tree.remove(found.path)


def _is_still(tree: FileTree, row: KnownFile) -> bool:
    try:
        content = tree.read(row.path, most=MOST_FILE_BYTES)
    except UnreadableFileError:
        return False
    return (digest_of(content) if content is not None else "") == row.digest


async def _tell(parts: Parts, found: _Found, trouble: str) -> None:
    """Note that a file cannot be read or written; the file and what was read of it before stay as they are."""
    words = parts.current.redactor.redact(visible(trouble))[:_MOST_TROUBLE]

    def tell(connection: sqlite3.Connection) -> None:
        before, at = files.get(connection, found.path), parts.clock.now()
        if before is None or before.trouble != words:
            data = {"path": found.path, "trouble": words}
            ledger.append(connection, LedgerEvent(name=EventName.FILE_REFUSED, at=at, data={**data}))
        digest = before.digest if before is not None else ""
        row = KnownFile(path=found.path, digest=digest, mark=found.mark, trouble=words, read_at=at)
        files.put(connection, row)

    await parts.database.write(Failpoint.FILES_READ, tell)
