"""The verbs that put a repository into Overlord's care and take it out again; as in `verbs/commands.py`, facts in one transaction.

A daemon that runs takes them up between two passes.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from overlord.command_ref import CommandRef, hint
from overlord.domain.decision import DecisionState
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.text.plain import count
from overlord.errors import NotFound, Refused
from overlord.store import decisions, jobs, ledger
from overlord.store.spaces import managed, pauses, spaces, untested_policies
from overlord.verbs import commands


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSpace:
    """Put a repository into Overlord's care, or say anew what it has of its own."""

    space: str
    """owner/repo."""
    given: Mapping[str, Any]
    """Its section of the settings. Whoever parses it has seen that it can be one."""
    actor: str


def add_space(
    connection: sqlite3.Connection, command: AddSpace, *, named: Sequence[str], at: datetime
) -> bool:
    """`named` are the repositories of the settings. Returns whether it is new. Raises Refused for one of those."""
    if twin := next((name for name in named if name.casefold() == command.space.casefold()), None):
        raise Refused(f"{twin} is managed by Overlord by the settings; change `spaces.{twin}` there")
    known = _word_of(connection, command.space)
    name = known.name if known is not None else command.space
    managed.note(connection, name, given=command.given, actor=command.actor, at=at)
    settings: dict[str, Json] = dict(command.given)
    data: dict[str, Json] = {"space": name, "settings": settings}
    event = LedgerEvent(name=EventName.SPACE_ADDED, at=at, actor=command.actor, data=data)
    ledger.append(connection, event)
    return known is None or known.is_removed


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSpace:
    """Take a repository out of Overlord's care. What was made stays, and so does what is known of it."""

    space: str
    actor: str
    stop_jobs: bool = False
    """End its open jobs; without that there may be none."""


def remove_space(
    connection: sqlite3.Connection, command: RemoveSpace, *, named: Sequence[str], at: datetime
) -> int:
    """Returns how many jobs were ended. Raises NotFound, and Refused for a repository of the settings or with open jobs."""
    word = _word_of(connection, command.space)
    if word is None or word.is_removed:
        if any(name.casefold() == command.space.casefold() for name in named):
            raise Refused(
                f"{command.space} is managed by Overlord by the settings: take it out of `repositories` or OVERLORD_REPOS there"
            )
        raise NotFound(
            f"{command.space} is not managed by Overlord", hint=hint(CommandRef("spaces"), " shows what is")
        )
    open_jobs = jobs.of_space(connection, word.name)
    if open_jobs and not command.stop_jobs:
        raise Refused(
            f"{count(len(open_jobs), 'job')} of {word.name} {'is' if len(open_jobs) == 1 else 'are'} open",
            hint=hint(
                CommandRef("space remove", (word.name, "--stop-jobs")), " ends them, and what they made stays"
            ),
        )
    for job in open_jobs:
        stop = commands.StopJob(
            job_id=job.id, actor=command.actor, reason="its repository was taken out of Overlord's care"
        )
        commands.stop_job(connection, stop, at=at)
    _forget_flags(connection, word.name, at=at)
    managed.note(connection, word.name, given=None, actor=command.actor, at=at)
    data: dict[str, Json] = {"space": word.name, "stopped": len(open_jobs)}
    ledger.append(
        connection, LedgerEvent(name=EventName.SPACE_REMOVED, at=at, actor=command.actor, data=data)
    )
    return len(open_jobs)


def _forget_flags(connection: sqlite3.Connection, name: str, *, at: datetime) -> None:
    """What held it back does not hold it back when it is added again."""
    pauses.remove(connection, name)
    untested_policies.remove(connection, name)
    spaces.pause(connection, name, paused=False)
    spaces.note_identity(connection, name, None)
    decisions.close_of_space(connection, name, DecisionState.SUPERSEDED, at=at)


def _word_of(connection: sqlite3.Connection, space: str) -> managed.Word | None:
    words = managed.current(connection)
    return next((word for name, word in words.items() if name.casefold() == space.casefold()), None)
