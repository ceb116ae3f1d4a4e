"""Tasks of an approved plan in repositories for which who approved it does not decide."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime

from overlord.domain.portfolio import discovered
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task, TaskState
from overlord.store import decisions
from overlord.store.portfolio import tasks


def ask_elsewhere(
    connection: sqlite3.Connection,
    initiative: Initiative,
    task: Task,
    fields: Mapping[str, object],
    *,
    actor: str,
    at: datetime,
) -> None:
    """Have those asked who decide where a new task, or one that the plan changes to these fields before it is begun, is to be done."""
    is_changed = any(getattr(task, name) != value for name, value in fields.items())
    if task.state in (TaskState.PENDING, TaskState.PROPOSED) and is_changed:
        reason = "an approved plan of another repository changes it"
        changes = {**fields, "state": TaskState.PROPOSED}
        task = tasks.change(connection, task.id, at=at, actor=actor, reason=reason, **changes)
    if task.state is TaskState.PROPOSED:
        for asked in decisions.about(connection, task.ref):
            decisions.supersede(connection, asked, at=at)
        decisions.raise_decision(connection, discovered.elsewhere(initiative, task, at=at))
