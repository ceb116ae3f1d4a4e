"""Operators' programs that observe: phases and gates out of the ledger, and evidence out of its table, once each and in order.

How far they were told is on record, and written before a program is started: after a crash nothing is told twice, and a program that
Overlord's end cut off is not started again for the same fact. Who is named in the settings for the first time is told of what comes
from then on, not of all that ever was.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from overlord.domain.event import EventName as E
from overlord.domain.hooks import Hook, HookCall
from overlord.domain.identifiers import RepositoryName
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings
from overlord.store import hooks, ledger
from overlord.store.evidence import EvidenceFile

AT_ONCE = 20
"""Facts that one step tells; then it looks at the settings again."""
OBSERVED: Mapping[E, tuple[Hook, ...]] = {
    E.PHASE_STARTED: (Hook.PHASE,),
    E.ROLE_COMPLETED: (Hook.PHASE,),
    E.PHASE_COMPLETED: (Hook.PHASE,),
    E.GATE_REJECTED: (Hook.PHASE, Hook.GATE),
    E.TERMINATED: (Hook.PHASE,),
    E.GATE_REACHED: (Hook.GATE,),
    E.GATE_APPROVED: (Hook.GATE,),
    E.GATE_REUSED: (Hook.GATE,),
}
"""The facts of the ledger that are told, and at which points."""

Found = Sequence[tuple[int, Sequence[HookCall]]]
"""Rows by number, and what is told of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A table that grows, and for whom its rows are."""

    name: str
    hooks: frozenset[Hook]
    last: Callable[[sqlite3.Connection], int]
    after: Callable[[sqlite3.Connection, int, int], Found]


def is_due(connection: sqlite3.Connection, parts: Parts) -> bool:
    """Whether there is a fact to tell, or somebody begins or ends to observe."""
    known = hooks.positions(connection)
    return any(_is_due(connection, parts, source, known.get(source.name)) for source in _sources(parts))


def _is_due(connection: sqlite3.Connection, parts: Parts, source: _Source, position: int | None) -> bool:
    is_wanted = _is_wanted(parts.settings, source)
    if is_wanted != (position is not None):
        return True
    return position is not None and bool(source.after(connection, position, 1))


async def step(parts: Parts) -> Progress:
    """Tell the next facts; whether there may be more."""
    moved = Progress.IDLE
    for source in _sources(parts):
        position = (await parts.database.read(hooks.positions)).get(source.name)
        if not _is_wanted(parts.settings, source):
            if position is not None:
                await _put(parts, source, None)
        elif position is None:
            await _put(parts, source, await parts.database.read(source.last))
        else:
            found = await parts.database.read(partial(_read, source=source, position=position))
            for number, calls in found:
                await _put(parts, source, number)
                for call in calls:
                    await parts.hooks.ask(call)
                moved = Progress.MOVED
    return moved


def _read(connection: sqlite3.Connection, *, source: _Source, position: int) -> Found:
    return source.after(connection, position, AT_ONCE)


async def _put(parts: Parts, source: _Source, number: int | None) -> None:
    act = partial(hooks.put_position, name=source.name, number=number)
    await parts.database.write(Failpoint.HOOK_POSITION_NOTED, act)


def _is_wanted(settings: Settings, source: _Source) -> bool:
    """Whether a program observes it, of all repositories or of one."""
    sections = (settings.hooks, *(own.hooks for own in settings.spaces.values()))
    return any(section.programs(hook) for section in sections for hook in source.hooks)


def _facts(connection: sqlite3.Connection, position: int, limit: int) -> Found:
    """The facts of the ledger after one, that somebody may want to be told of."""
    names = [str(name) for name in OBSERVED]
    return [
        (entry.seq, [_of_fact(hook, entry, space) for hook in OBSERVED[E(entry.name)]])
        for entry, space in ledger.named_with_spaces(connection, names, after=position, limit=limit)
    ]


def _of_fact(hook: Hook, entry: ledger.Entry, space: str) -> HookCall:
    data = dict(entry.details)
    return HookCall(
        hook=hook,
        space=space,
        job=entry.job_id,
        session=str(data.get("session") or ""),
        event=entry.name,
        data={"number": entry.seq, "at": entry.at, "actor": entry.actor, **data},
    )


def _evidence(
    connection: sqlite3.Connection, position: int, limit: int, *, path_of: Callable[[str], Path]
) -> Found:
    """The evidence after one file."""
    return [
        (number, (_of_evidence(number, space, file, path_of(file.sha256)),))
        for number, space, file in hooks.evidence_after(connection, position, limit)
    ]


def _of_evidence(number: int, space: RepositoryName, file: EvidenceFile, path: Path) -> HookCall:
    return HookCall(
        hook=Hook.EVIDENCE,
        space=space,
        job=file.job_id,
        session=file.session_id or "",
        event="evidence_recorded",
        data={
            "number": number,
            "at": file.at.isoformat(),
            "kind": file.kind,
            "sha256": file.sha256,
            "size": file.size,
            "path": str(path),
        },
    )


def _sources(parts: Parts) -> tuple[_Source, ...]:
    facts = _Source(
        name="ledger", hooks=frozenset({Hook.PHASE, Hook.GATE}), last=ledger.last_number, after=_facts
    )
    files = partial(_evidence, path_of=parts.evidence.path)
    return (
        facts,
        _Source(name="evidence", hooks=frozenset({Hook.EVIDENCE}), last=hooks.last_evidence, after=files),
    )
