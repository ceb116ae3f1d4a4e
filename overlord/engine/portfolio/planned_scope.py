"""What the plan of an initiative says that a task may write: a person approved it."""

import sqlite3

from minion.protocol import Scope, ScopeError
from overlord.domain.decision import Subject, Verb
from overlord.domain.job import Job
from overlord.domain.portfolio.task import Task
from overlord.domain.scope.reason import Inference, Reason
from overlord.store import decisions
from overlord.store.portfolio import initiatives, plan_approval, tasks


def _is_a_persons(connection: sqlite3.Connection, task: Task) -> bool:
    """Whether a person stands behind the paths of a task: it is theirs, of a plan that they approved or work that they wanted, or within
    the paths of its initiative. What a session alone said of work that it came upon gives no session a scope."""
    if not task.created_by.startswith("session:") or plan_approval.is_approved(connection, task):
        return True
    asked = decisions.about(connection, task.ref)
    if any(item.subject is Subject.DISCOVERED_TASK and item.verb is Verb.APPROVE for item in asked):
        return True
    return bool(initiatives.get(connection, task.initiative_id).paths)


def planned_scope(connection: sqlite3.Connection, job: Job) -> Inference | None:
    """The paths of the job's task; None where it is of none, or its task names none."""
    task = tasks.of_issue(connection, job.space, job.issue.number)
    if task is None or not task.paths or not _is_a_persons(connection, task):
        return None
    try:
        scope = Scope.parse(Scope(patterns=task.paths).to_json())
    except ScopeError:
        return None
    reasons = tuple(Reason(pattern=path, why=f"the plan says so of task {task.ref}") for path in task.paths)
    return Inference(scope=scope, reasons=reasons)
