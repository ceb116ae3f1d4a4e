"""Retention: what is kept no longer, as the settings say, once a day and when a person asks. Never anything of an open job.

Each thing is looked for and then removed, its fact first; whoever is cut off finds the rest at the next look.
"""

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from overlord.domain.identifiers import RepositoryName, SessionId, Sha
from overlord.domain.retention_item import RetentionItem, RetentionKind, over
from overlord.engine.retention import environments as prune
from overlord.engine.runtime.parts import Caretaker, Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.store import retention

EVERY_S = 86_400.0
A_DAY = timedelta(days=1)
COPIES_KEPT = 2
"""Databases as they were before an upgrade."""
_NUMBER = re.compile(r"\d+$")


async def step(parts: Parts) -> Progress:
    """Clear up, and let mirrors go of what no job needs. Moves no job."""
    caretaker = Caretaker.of(parts)
    await clear(caretaker, environments=False)  # which `prune` looks after every hour
    await tidy(caretaker)
    return Progress.IDLE


async def look(caretaker: Caretaker) -> list[RetentionItem]:
    """Everything that would be removed now."""
    found = []
    for looking in (_evidence, _strays, _rows, _sessions, _mirrors, _copies, _stagings):
        found += await looking(caretaker)
    if caretaker.runner is not None:
        found += [
            _environment(environment.id, environment.size) for environment in await prune.due(caretaker)
        ]
        found += await _downloads(caretaker)
    return found


async def clear(caretaker: Caretaker, *, environments: bool = True) -> list[RetentionItem]:
    """Remove it; what there was. Waits for nobody: while a backup is written, evidence and mirrors stay.

    Raises what the runner answers, once all else is done.
    """
    gone: list[RetentionItem] = []
    with caretaker.home.housekeeping(exclusive=True) as is_alone:
        if is_alone:
            for looking in (_evidence, _strays, _mirrors):
                gone += await _remove(caretaker, await looking(caretaker))
    for looking in (_rows, _sessions, _copies, _stagings):
        gone += await _remove(caretaker, await looking(caretaker))
    if caretaker.runner is not None:
        removed = await prune.environments_due(caretaker) if environments else []
        gone += [_environment(environment.id, environment.size) for environment in removed]
        gone += await _remove(caretaker, await _downloads(caretaker))
    return gone


async def tidy(caretaker: Caretaker) -> None:
    """Have each mirror that is used let go of what no open job needs. For who alone uses the mirrors."""
    needed = await caretaker.database.read(retention.commits_needed)
    for mirror in await caretaker.git.mirrors():
        keep = {Sha(sha) for sha in needed.get(mirror.name, ())}
        before = caretaker.clock.now() - A_DAY
        await caretaker.git.tidy_mirror(RepositoryName(mirror.name), keep=keep, before=before)


async def _remove(caretaker: Caretaker, leavings: list[RetentionItem]) -> list[RetentionItem]:
    for retention_item in leavings:
        await _REMOVERS[retention_item.kind](caretaker, retention_item)
    return leavings


def _environment(key: str, size: int) -> RetentionItem:
    return RetentionItem(
        kind=RetentionKind.ENVIRONMENT, name=key, size=size, why="not used for long, or too many"
    )


async def _evidence(caretaker: Caretaker) -> list[RetentionItem]:
    keep, now = caretaker.settings.keep, caretaker.clock.now()
    kept, stored_bytes = await caretaker.database.read(
        lambda c: (retention.evidence_of_ended(c), retention.evidence_bytes(c))
    )
    return over(
        kept,
        evidence_before=now - timedelta(days=keep.evidence_days),
        transcripts_before=now - timedelta(days=keep.transcripts_days),
        most_bytes=round(keep.evidence_gb * prune.GIGABYTE),
        stored=stored_bytes,
    )


async def _forget_evidence(caretaker: Caretaker, retention_item: RetentionItem) -> None:
    """The fact; the files are strays from then on."""
    job = int(retention_item.name.removeprefix("job "))
    forget = partial(
        retention.forget_evidence,
        job_id=job,
        digests=retention_item.parts,
        size=retention_item.size,
        actor=caretaker.actor,
        at=caretaker.clock.now(),
    )
    await caretaker.database.write(Failpoint.EVIDENCE_FORGOTTEN, forget)


async def _strays(caretaker: Caretaker) -> list[RetentionItem]:
    named = await caretaker.database.read(retention.evidence_digests)
    # The files' own times are the machine's, whatever clock the rest goes by.
    found = await asyncio.to_thread(caretaker.evidence.strays, named)
    return [
        RetentionItem(kind=RetentionKind.STRAY, name=digest, size=size, why="nothing names it")
        for digest, size in found
    ]


async def _remove_stray(caretaker: Caretaker, retention_item: RetentionItem) -> None:
    await asyncio.to_thread(caretaker.evidence.remove, retention_item.name)


def _rows_before(caretaker: Caretaker) -> tuple[datetime, datetime]:
    now = caretaker.clock.now()
    return now - timedelta(days=caretaker.settings.keep.rows_days), now


async def _rows(caretaker: Caretaker) -> list[RetentionItem]:
    before, now = _rows_before(caretaker)
    count = await caretaker.database.read(lambda c: retention.old_rows(c, before, now))
    why = "of jobs that ended long ago"
    return [RetentionItem(kind=RetentionKind.ROWS, name=f"{count} rows", size=0, why=why)] if count else []


async def _forget_rows(caretaker: Caretaker, _retention_item: RetentionItem) -> None:
    before, now = _rows_before(caretaker)
    await caretaker.database.write(Failpoint.ROWS_FORGOTTEN, lambda c: retention.forget_rows(c, before, now))


async def _sessions(caretaker: Caretaker) -> list[RetentionItem]:
    """What sessions left that are over and were cleared away, or that no row knows."""
    there = sorted(place.name for place in caretaker.home.sessions.glob("*"))
    present = await caretaker.database.read(
        retention.sessions_present
    )  # after the look: a row comes before its folder
    return [
        RetentionItem(kind=RetentionKind.SESSION, name=name, size=0, why="its session is over")
        for name in there
        if name not in present
    ]


async def _remove_session(caretaker: Caretaker, retention_item: RetentionItem) -> None:
    await caretaker.git.remove_session(SessionId(retention_item.name))


async def _managed(caretaker: Caretaker) -> set[str]:
    """The repositories somebody names, or whose jobs are open, in small letters."""
    named = {name.casefold() for name in caretaker.settings.repositories}
    return named | set(await caretaker.database.read(retention.commits_needed))


async def _mirrors(caretaker: Caretaker) -> list[RetentionItem]:
    before = caretaker.clock.now() - timedelta(days=caretaker.settings.keep.mirrors_days)
    managed = await _managed(caretaker)
    return [
        RetentionItem(
            kind=RetentionKind.MIRROR, name=mirror.name, size=mirror.size, why="nobody names this repository"
        )
        for mirror in await caretaker.git.mirrors()
        if mirror.name not in managed and mirror.used_at < before
    ]


async def _remove_mirror(caretaker: Caretaker, retention_item: RetentionItem) -> None:
    await caretaker.git.remove_mirror(RepositoryName(retention_item.name))


async def _downloads(caretaker: Caretaker) -> list[RetentionItem]:
    if caretaker.runner is None:
        return []
    there = await caretaker.runner.downloads()
    since = caretaker.clock.now() - timedelta(days=caretaker.settings.keep.downloads_days)
    used = await caretaker.database.read(lambda c: retention.setups_since(c, since))
    return [
        RetentionItem(
            kind=RetentionKind.DOWNLOADS, name=space, size=0, why="nothing was set up with them for long"
        )
        for space in there
        if space not in used
    ]


async def _remove_downloads(caretaker: Caretaker, retention_item: RetentionItem) -> None:
    if caretaker.runner is not None:
        await caretaker.runner.remove_downloads(retention_item.name)


async def _copies(caretaker: Caretaker) -> list[RetentionItem]:
    """Databases from before upgrades, but for the newest."""
    copies = sorted(caretaker.home.database_copies(), key=_schema, reverse=True)
    return [
        RetentionItem(
            kind=RetentionKind.DATABASE, name=copy.name, size=copy.stat().st_size, why="there are newer ones"
        )
        for copy in copies[COPIES_KEPT:]
    ]


async def _stagings(caretaker: Caretaker) -> list[RetentionItem]:
    """Who has a database is not being restored."""
    return [
        RetentionItem(kind=RetentionKind.STAGING, name=place.name, size=0, why="it was cut off")
        for place in caretaker.home.stagings()
    ]


async def _remove_staging(caretaker: Caretaker, retention_item: RetentionItem) -> None:
    await asyncio.to_thread(shutil.rmtree, caretaker.home.root / retention_item.name, ignore_errors=True)


def _schema(copy: Path) -> int:
    found = _NUMBER.search(copy.name)
    return int(found[0]) if found else 0


async def _remove_copy(caretaker: Caretaker, retention_item: RetentionItem) -> None:
    (caretaker.home.root / retention_item.name).unlink(missing_ok=True)


_REMOVERS: Mapping[RetentionKind, Callable[[Caretaker, RetentionItem], Awaitable[None]]] = {
    RetentionKind.EVIDENCE: _forget_evidence,
    RetentionKind.STRAY: _remove_stray,
    RetentionKind.ROWS: _forget_rows,
    RetentionKind.SESSION: _remove_session,
    RetentionKind.MIRROR: _remove_mirror,
    RetentionKind.DATABASE: _remove_copy,
    RetentionKind.STAGING: _remove_staging,
    RetentionKind.DOWNLOADS: _remove_downloads,
}
