"""What every move of a job by its contract is made with: the transaction, whose turn it was, and what the ledger is told."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Unpack

from overlord.domain.contracts.turn import Turn
from overlord.domain.event import OVERLORD, EventName, Json
from overlord.domain.job import Job, JobChanges
from overlord.engine.runtime.parts import Parts
from overlord.store import jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One transaction in which a job goes on, or does not."""

    connection: sqlite3.Connection
    parts: Parts
    job: Job
    turn: Turn
    data: Mapping[str, Json] = field(default_factory=dict)
    actor: str = OVERLORD

    @property
    def at(self) -> datetime:
        return self.parts.clock.now()

    def saying(self, **data: Json) -> "Move":
        """The same, with more for the ledger."""
        return replace(self, data={**self.data, **data})

    def to(self, event: EventName, **changes: Unpack[JobChanges]) -> Job:
        """Take the job along the table of moves."""
        return jobs.move(
            self.connection, self.job.id, event, at=self.at, actor=self.actor, data=self.data, **changes
        )

    def note(self, event: EventName) -> Job:
        """Write down what moves nothing."""
        return jobs.note(self.connection, self.job.id, event, at=self.at, actor=self.actor, data=self.data)
