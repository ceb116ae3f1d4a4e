"""Notes that rest on something in the repository are held against its base: those that do not hold any more are withdrawn.

A note is looked at whenever the mirror has another base commit than it was last held against, and before a session is told of it.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from overlord.domain.event import OVERLORD
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.knowledge.checking import MOST_BYTES, looks_into, why_not
from overlord.domain.knowledge.note import Note, NoteState
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.store.knowledge import notes


async def step(parts: Parts) -> Progress:
    """Look at each repository whose base is another one than when its notes were last held against it."""
    moved = False
    for space, branch in (await parts.database.read(notes.checked_spaces)).items():
        if space not in parts.settings.repositories:
            continue
        head = await parts.git.branch_head(RepositoryName(space), branch)
        if head is None or parts.notes_checked_at.get(space) == head:
            continue
        moved |= await hold(parts, space, head)
        parts.notes_checked_at[space] = head
    return Progress.of(moved)


async def hold(parts: Parts, space: str, base: Sha, listing: Mapping[str, str] | None = None) -> bool:
    """Hold a repository's notes against a commit; whether one was withdrawn."""
    checked = await parts.database.read(lambda c: notes.with_check(c, space))
    if not checked:
        return False
    paths = listing if listing is not None else await parts.git.listing(RepositoryName(space), base)
    wanted = sorted(
        {note.check.path for note in checked if note.check and looks_into(note.check)} & paths.keys()
    )
    contents: Mapping[str, bytes] = {}
    if wanted:
        contents = await parts.git.read_files(RepositoryName(space), base, wanted, limit_bytes=MOST_BYTES)
    failed = {
        note.id: why
        for note in checked
        if note.check and (why := why_not(note.check, paths.keys(), contents))
    }
    noting = partial(_note, checked=checked, failed=failed, base=base, at=parts.clock.now())
    await parts.database.write(Failpoint.NOTES_CHECKED, noting)
    return bool(failed)


def _note(
    connection: sqlite3.Connection,
    *,
    checked: Sequence[Note],
    failed: Mapping[int, str],
    base: Sha,
    at: datetime,
) -> None:
    for note in checked:
        now = notes.get(connection, note.id)
        if now.state is not NoteState.ACTIVE or now.check != note.check:
            continue
        if why := failed.get(note.id):
            reason = f"its check does not hold at {base[:12]}: {why}"
            notes.change(
                connection,
                note.id,
                at=at,
                actor=OVERLORD,
                reason=reason,
                state=NoteState.WITHDRAWN,
                checked_at=at,
            )
        else:
            notes.mark_checked(connection, note.id, at=at)
