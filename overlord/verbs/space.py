"""The verbs that put a repository into Overlord's care and take it out again; as in `verbs/commands.py`, facts in one transaction.

A daemon that runs takes them up between two passes.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from overlord.command_ref import CommandRef, hint
from overlord.domain.decision import DecisionState
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.text.plain import count
from overlord.domain.text.reference import is_full_name, repository_in
from overlord.errors import NotFound, Refused
from overlord.settings.load import Settings, added_repositories
from overlord.store import decisions, jobs, ledger
from overlord.store.spaces import managed, pauses, spaces, untested_policies
from overlord.verbs import commands


def named_by_settings(settings: Settings) -> list[str]:
    """The repositories that are in Overlord's care by a settings file or the environment, and not by a command."""
    return [name for name in settings.repositories if name not in added_repositories(settings)]


def check_name(text: str) -> str:
    """A repository's whole name. Raises Refused for what is none."""
    name = repository_in(text)
    if name is None or not is_full_name(name):
        raise Refused("give a repository as owner/repo, or its address")
    return name


def add_space(
    connection: sqlite3.Connection,
    space: str,
    given: Mapping[str, Any],
    *,
    actor: str,
    named: Sequence[str],
    at: datetime,
) -> bool:
    """Put a repository (owner/repo) into Overlord's care, or say anew what it has of its own: `given`, its section of the settings,
    of which whoever parses it has seen that it can be one. `named` are the repositories of the settings. Returns whether it is new.
    Raises Refused for one of those."""
    if twin := next((name for name in named if name.casefold() == space.casefold()), None):
        raise Refused(f"{twin} is managed by Overlord by the settings; change `spaces.{twin}` there")
    known = _word_of(connection, space)
    name = known.name if known is not None else space
    managed.note(connection, name, given=given, actor=actor, at=at)
    settings: dict[str, Json] = dict(given)
    data: dict[str, Json] = {"space": name, "settings": settings}
    ledger.append(connection, LedgerEvent(name=EventName.SPACE_ADDED, at=at, actor=actor, data=data))
    return known is None or known.is_removed


def remove_space(
    connection: sqlite3.Connection,
    space: str,
    *,
    stop_jobs: bool,
    actor: str,
    named: Sequence[str],
    at: datetime,
) -> int:
    """Take a repository out of Overlord's care. What was made stays, and so does what is known of it. `stop_jobs`: end its open
    jobs; without that there may be none. Returns how many were ended. Raises NotFound, and Refused for a repository of the settings
    or with open jobs."""
    word = _word_of(connection, space)
    if word is None or word.is_removed:
        if any(name.casefold() == space.casefold() for name in named):
            raise Refused(
                f"{space} is managed by Overlord by the settings: take it out of `repositories` or OVERLORD_REPOS there"
            )
        raise NotFound(
            f"{space} is not managed by Overlord", hint=hint(CommandRef("spaces"), " shows what is")
        )
    open_jobs = jobs.of_space(connection, word.name)
    if open_jobs and not stop_jobs:
        ends = CommandRef("space remove", (word.name, "--stop-jobs"))
        raise Refused(
            f"{count(len(open_jobs), 'job')} of {word.name} {'is' if len(open_jobs) == 1 else 'are'} open",
            hint=hint(ends, " ends them, and what they made stays"),
        )
    for job in open_jobs:
        reason = "its repository was taken out of Overlord's care"
        commands.stop_job(connection, job.id, actor=actor, reason=reason, at=at)
    _forget_flags(connection, word.name, at=at)
    managed.note(connection, word.name, given=None, actor=actor, at=at)
    data: dict[str, Json] = {"space": word.name, "stopped": len(open_jobs)}
    ledger.append(connection, LedgerEvent(name=EventName.SPACE_REMOVED, at=at, actor=actor, data=data))
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
