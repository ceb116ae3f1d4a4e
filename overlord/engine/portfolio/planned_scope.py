"""What the plan of an initiative says that a task may write: a person approved it."""

import sqlite3

from minion.protocol import Scope, ScopeError
from overlord.domain.job import Job
from overlord.domain.scope.reason import Inference, Reason
from overlord.store.portfolio import tasks


def planned_scope(connection: sqlite3.Connection, job: Job) -> Inference | None:
    """The paths of the job's task; None where it is of none, or its task names none."""
    task = tasks.of_issue(connection, job.space, job.issue.number)
    if task is None or not task.paths:
        return None
    try:
        scope = Scope.parse(Scope(patterns=task.paths).to_json())
    except ScopeError:
        return None
    reasons = tuple(Reason(pattern=path, why=f"the plan says so of task {task.ref}") for path in task.paths)
    return Inference(scope=scope, reasons=reasons)
