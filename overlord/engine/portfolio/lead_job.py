"""The job that plans an initiative."""

import sqlite3
from datetime import datetime

from overlord.domain.portfolio.initiative import Initiative, InitiativeState
from overlord.store.portfolio import initiatives


def request_plan(
    connection: sqlite3.Connection, initiative: Initiative, *, actor: str, at: datetime, reason: str
) -> None:
    """Have a lead plan it."""
    initiatives.change(
        connection, initiative.id, at=at, actor=actor, reason=reason, state=InitiativeState.PLANNING, waits=""
    )
