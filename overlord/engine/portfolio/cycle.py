"""A cycle: orient, triggers, generate, assign, monitor, and again while something moves. Nothing changed since the last one is nothing
done: no row is written, and no model asked.

A cycle is one transaction: what it decides by cannot change while it decides, and a daemon that is cut off in it has done nothing.
"""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from overlord.domain.cron import Cron
from overlord.domain.event import OVERLORD
from overlord.domain.portfolio.cycle.action import Action, Applied, NoteJob
from overlord.domain.portfolio.cycle.decide import decide
from overlord.domain.portfolio.view import Conflict
from overlord.engine.portfolio import cycle_end, exports, files
from overlord.engine.portfolio.act import Acting, act
from overlord.engine.portfolio.noted_conflicts import conflicts_in
from overlord.engine.portfolio.orient import fingerprint, orient
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.settings.load import Settings
from overlord.store.portfolio import cycles, facts
from overlord.store.portfolio.cycles import Cycle

MOST_ROUNDS = 30
"""Of one cycle: what is left then, the next one does."""
MOST_CONFLICTS = 20
"""That people are asked about after one cycle."""
MOST_SUMMARY = 40
"""Acts that are named in what a cycle says it did."""
SCHEDULE, FACT, PERSON = "schedule", cycles.FACT, cycles.PERSON


def schedules(settings: Settings) -> dict[Cron, list[str]]:
    """Each time of a schedule, with the repositories that go by it."""
    found = dict[Cron, list[str]]()
    for name in settings.repositories:
        if (cron := settings.space(name).portfolio.cron) is not None:
            found.setdefault(cron, []).append(name)
    return found


def due_schedules(connection: sqlite3.Connection, settings: Settings, at: datetime) -> list[Cron]:
    """Those whose last time has come and was not made up for. One that was never looked at counts from its next time on."""
    due = list[Cron]()
    for cron in schedules(settings):
        slot, known = cron.slot_at(at), cycles.scheduled(connection, _name(cron))
        if not slot.has_any(known):
            due.append(cron)
    return due


def _name(cron: Cron) -> str:
    return f"{cron.expression} {cron.zone}"


def is_due(connection: sqlite3.Connection, settings: Settings, at: datetime) -> bool:
    """Whether one is asked for, its time has come, or something happened that it may decide by."""
    if cycles.asked(connection) is not None:
        return True
    if not facts.has_work(connection):
        return False
    last = cycles.last(connection)
    if last is None or last.ran_at is None or facts.has_news(connection, after=last.ledger_id):
        return True
    return bool(due_schedules(connection, settings, at))


async def step(parts: Parts) -> Progress:
    """Run the one that is due, by what people's files say now; then write what people read beside the rows."""
    await files.look(parts)
    at, settings, redact = parts.clock.now(), parts.settings, parts.current.redactor.redact
    ran = await parts.database.write(Failpoint.CYCLE_RUN, lambda c: run(c, settings, at, redact=redact))
    await exports.write_exports(parts)
    if ran.acts:
        await cycle_end.end(parts, acts=ran.acts, summary=ran.summary)
        parts.notify()
    return Progress.of(bool(ran.acts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a cycle came to."""

    acts: int = 0
    summary: str = ""
    is_whole: bool = True
    """Whether nothing more was to be done when it ended."""


def run(
    connection: sqlite3.Connection, settings: Settings, at: datetime, *, redact: Callable[[str], str] = str
) -> Ran:
    """One cycle in one transaction. `redact`: what takes secrets out of a text that is kept."""
    due = due_schedules(connection, settings, at)
    asked = cycles.asked(connection)
    is_first = {cron: not cycles.scheduled(connection, _name(cron)) for cron in due}
    times = [cron for cron in due if not is_first[cron]]
    trigger = asked.trigger if asked is not None else SCHEDULE if times else FACT
    on_turn = _on_turn(settings, times, everybody=trigger == PERSON)
    for cron in due:
        cycles.note_scheduled(connection, _name(cron), at=at)
    last, mark = cycles.last(connection), fingerprint(connection, settings, at, on_turn=on_turn)
    if last is not None and last.fingerprint == mark:
        _nothing_changed(connection, asked, last, at)
        return Ran()
    actor = asked.actor if asked is not None else OVERLORD
    acting = Acting(connection=connection, at=at, actor=actor, redact=redact)
    ran = _rounds(acting, settings, on_turn)
    mark = fingerprint(connection, settings, at, on_turn=on_turn)
    row = asked or cycles.ask(connection, trigger=trigger, actor=OVERLORD, at=at)
    cycles.ran(connection, row.id, fingerprint=mark, acts=ran.acts, summary=ran.summary, at=at)
    if not ran.is_whole:
        cycles.ask(connection, trigger=FACT, actor=OVERLORD, at=at)
    return ran


def _nothing_changed(connection: sqlite3.Connection, asked: Cycle | None, last: Cycle, at: datetime) -> None:
    """No row is added: whoever asked is told that nothing was done, and what happened meanwhile is not looked at again."""
    if asked is not None:
        cycles.ran(connection, asked.id, fingerprint=last.fingerprint, acts=0, summary="", at=at)
    else:
        cycles.saw(connection, last)


def _on_turn(settings: Settings, due: Collection[Cron], *, everybody: bool) -> Collection[str]:
    if everybody:
        return frozenset(settings.repositories)
    return frozenset(name for cron, names in schedules(settings).items() if cron in due for name in names)


def _rounds(acting: Acting, settings: Settings, on_turn: Collection[str]) -> Ran:
    """Decide and act until there is nothing more to do."""
    connection, at, told, is_whole = acting.connection, acting.at, list[str](), False
    conflicts = _new_conflicts(connection)
    for _ in range(MOST_ROUNDS):
        actions = decide(orient(connection, settings, at, on_turn=on_turn, conflicts=conflicts))
        done = [(action, act(acting, action)) for action in actions]
        told += [words for _, words in done if words]
        if not any(_moves(action, words) for action, words in done):
            is_whole = True
            break
    more = f" and {len(told) - MOST_SUMMARY} more" if len(told) > MOST_SUMMARY else ""
    return Ran(acts=len(told), summary="; ".join(told[:MOST_SUMMARY]) + more, is_whole=is_whole)


def _new_conflicts(connection: sqlite3.Connection) -> Sequence[Conflict]:
    """Notes that do not go together, where a note has changed since the last cycle: all are held against all then."""
    last = cycles.last(connection)
    if last is not None and not facts.has_noted(connection, after=last.ledger_id):
        return ()
    return conflicts_in(connection)[:MOST_CONFLICTS]


def _moves(action: Action, words: str) -> bool:
    """Whether another round may find something else: something was done, or what came first is out of the way."""
    return bool(words) or isinstance(action, Applied | NoteJob)
