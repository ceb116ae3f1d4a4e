"""What a signed-in person was shown of what waits, and when: the inbox marks what is new to them, and what has changed since.

A look lasts for a while: who answers one thing is still shown what was new when they came. A row has what they were shown last, and
what in the look before; it goes with the decision's answer, so there are never more rows than people times what waits.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from overlord.domain.decision import Decision
from overlord.store.rows import select

A_LOOK = timedelta(minutes=10)
"""Who comes back within so long is still at the same look."""
NOTED_EVERY = timedelta(minutes=1)
"""How often it is written down at most that a look goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What somebody was shown of one decision."""

    decision_id: int
    digest: str
    at: datetime
    """When they were shown it last."""
    before: str
    """Its digest as they were shown it in the look before; empty where they were not."""
    before_at: datetime | None

    def look_before(self, at: datetime) -> tuple[str, datetime | None]:
        """The digest they were shown in the look before the one of this moment, and when; empty where they were shown none."""
        return (self.digest, self.at) if self.at + A_LOOK <= at else (self.before, self.before_at)


def by(connection: sqlite3.Connection, actor: str) -> Mapping[int, Seen]:
    """Everything somebody was shown that still waits, by the decision's number."""
    query = "SELECT decision_id, digest, at, before, before_at FROM seen_decisions WHERE actor = ?"
    return {seen.decision_id: seen for seen in select(connection, Seen, query, actor)}


def is_due(known: Mapping[int, Seen], shown: Iterable[Decision], *, at: datetime) -> bool:
    """Whether there is something to write down of what they are shown now."""
    rows = [(known.get(decision.id), decision.digest) for decision in shown]
    return any(row is None or row.digest != digest or row.at + NOTED_EVERY <= at for row, digest in rows)


def note(connection: sqlite3.Connection, actor: str, shown: Mapping[int, str], *, at: datetime) -> None:
    """Somebody is shown these decisions, each with the digest it has now."""
    known = by(connection, actor)
    for number, digest in shown.items():
        row = known.get(number)
        before, before_at = row.look_before(at) if row is not None else ("", None)
        connection.execute(
            """INSERT OR REPLACE INTO seen_decisions (actor, decision_id, digest, at, before, before_at)
               SELECT ?, id, ?, ?, ?, ? FROM decisions WHERE id = ? AND state = 'open'""",
            (actor, digest, at.isoformat(), before, before_at.isoformat() if before_at else None, number),
        )
