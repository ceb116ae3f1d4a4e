"""A repository that cannot be found any more: deleted, renamed, or out of the sign-in's sight. Its work is paused, and a person
is asked; what the forge does not show for a moment is waited for.
"""

import sqlite3
from datetime import datetime

from overlord.domain.decision import Subject
from overlord.domain.event import EventName, LedgerEvent
from overlord.domain.identifiers import RepositoryName
from overlord.domain.question import ask_about_space
from overlord.domain.text.plain import defused_line
from overlord.engine.runtime.parts import Parts
from overlord.errors import ForgeMissing
from overlord.failpoints import Failpoint
from overlord.store import decisions, ledger
from overlord.store.spaces import spaces
from overlord.verbs import commands

GONE_AFTER_S = 900.0


async def note(parts: Parts, name: RepositoryName, error: Exception | None) -> None:
    """Take note of how a poll ended. What is missing for long enough is paused."""
    if not isinstance(error, ForgeMissing):
        parts.poll_schedule.found(name)
        return
    if parts.poll_schedule.missing_for_s(name, parts.clock.monotonic()) < GONE_AFTER_S:
        return
    body = (
        f"GitHub says: {defused_line(str(error))}\n\nIt was deleted, renamed, or the sign-in may not see it any more "
        "(`overlord doctor` tells which). Trying again asks for it anew; dropping ends its jobs, and it stays paused until "
        "Overlord is started again."
    )
    at = parts.clock.now()
    await parts.database.write(Failpoint.SPACE_PAUSED, lambda c: _pause(c, name, body, at))
    parts.poll_schedule.found(name)


def _pause(connection: sqlite3.Connection, name: RepositoryName, body: str, at: datetime) -> None:
    spaces.pause(connection, name, paused=True)
    ledger.append(connection, LedgerEvent(name=EventName.PAUSED, at=at, data={"space": name}))
    decisions.raise_decision(connection, ask_about_space(name, Subject.SPACE_GONE, body, at=at))


def look_again(connection: sqlite3.Connection, *, at: datetime) -> None:
    """At a start: what is paused and waits for nobody's answer is looked for again."""
    asked = {decision.space for decision in decisions.waiting(connection) if not decision.about}
    for name, space in spaces.noted(connection).items():
        if space.paused and name not in asked:
            commands.resume_space(connection, name, actor="overlord", at=at)
