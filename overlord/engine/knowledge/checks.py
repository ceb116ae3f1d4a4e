"""Notes that rest on something in the repository are held against its base: those that do not hold any more are withdrawn.

A note is looked at whenever the mirror has another base commit than it was last held against. Before one is withdrawn, the mirror is
brought up to date: the commit that made it true may be newer. A session is not told of notes that do not hold at its own base, which may
be an older one; those go on to count.
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
        name = RepositoryName(space)
        if await failing(parts, space, head):
            await parts.git.refresh_mirror(name, await parts.forge.remote(name), branches=[branch])
            head = await parts.git.branch_head(name, branch) or head
        moved |= await _hold(parts, space, head)
        parts.notes_checked_at[space] = head
    return Progress.of(moved)


async def _hold(parts: Parts, space: str, base: Sha) -> bool:
    """Withdraw the notes of a repository that do not hold at its base; whether there was one."""
    checked = await parts.database.read(lambda c: notes.with_check(c, space))
    if not checked:
        return False
    failed = await _why_not(parts, space, base, checked, None)
    noting = partial(_note, checked=checked, failed=failed, base=base, at=parts.clock.now())
    await parts.database.write(Failpoint.NOTES_CHECKED, noting)
    return bool(failed)


async def failing(
    parts: Parts, space: str, base: Sha, listing: Mapping[str, str] | None = None
) -> frozenset[str]:
    """The notes of a repository that do not hold at a commit, as people write them."""
    checked = await parts.database.read(lambda c: notes.with_check(c, space))
    failed = await _why_not(parts, space, base, checked, listing) if checked else {}
    return frozenset(note.ref for note in checked if note.id in failed)


async def _why_not(
    parts: Parts, space: str, base: Sha, checked: Sequence[Note], listing: Mapping[str, str] | None
) -> Mapping[int, str]:
    """Why they do not hold there, of those that do not."""
    paths = listing if listing is not None else await parts.git.listing(RepositoryName(space), base)
    wanted = sorted(
        {note.check.path for note in checked if note.check and looks_into(note.check)} & paths.keys()
    )
    contents: Mapping[str, bytes] = {}
    if wanted:
        contents = await parts.git.read_files(RepositoryName(space), base, wanted, limit_bytes=MOST_BYTES)
    return {
        note.id: why
        for note in checked
        if note.check and (why := why_not(note.check, paths.keys(), contents))
    }


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
