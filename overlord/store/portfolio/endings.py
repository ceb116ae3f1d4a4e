"""What ends with a task or an initiative: what was asked about it, what its sessions escalated, what nobody has begun."""

import sqlite3
from datetime import datetime

from overlord.domain.event import EventName
from overlord.domain.portfolio.initiative import Initiative
from overlord.domain.portfolio.task import Task, TaskState
from overlord.store import decisions, jobs
from overlord.store.bootstrap import issue_requests
from overlord.store.portfolio import escalations, tasks
from overlord.store.spaces import work_requests

GIVEN_UP = "the task was given up before its issue was opened"


def end_initiative(
    connection: sqlite3.Connection, initiative: Initiative, *, at: datetime, actor: str
) -> None:
    """What belongs to an initiative that has ended ends with it, its planning too. A task that is worked on goes on to its end."""
    reason = f"its initiative is {initiative.state}"
    for task in tasks.of_initiative(connection, initiative.id):
        if task.state in (TaskState.PROPOSED, TaskState.PENDING):
            ended = tasks.change(
                connection, task.id, at=at, actor=actor, reason=reason, state=TaskState.CANCELLED, waits=""
            )
            end_task(connection, ended, at=at)
    for escalation in escalations.of_initiative(connection, initiative.id):
        if escalation.is_open and escalation.task_id is None:
            escalations.withdraw(connection, escalation.id, reason=reason, at=at)
    close_questions(connection, initiative.ref, at=at)
    if initiative.issue_number is not None:
        lead = jobs.live_for(connection, initiative.space, initiative.issue_number)
        if lead is not None:
            jobs.move(connection, lead.id, EventName.DROPPED, at=at, actor=actor, reason=reason)


def end_task(connection: sqlite3.Connection, task: Task, *, at: datetime) -> None:
    """What belongs to a task that has ended ends with it: an issue that is not opened yet is opened no more."""
    for escalation in escalations.of_task(connection, task.id):
        if escalation.is_open:
            escalations.withdraw(connection, escalation.id, reason=f"task {task.ref} is {task.state}", at=at)
    close_questions(connection, task.ref, at=at)
    if task.issue_number is not None:
        work_requests.withdraw(
            connection, task.space, task.issue_number, why=f"Task {task.ref} is {task.state}.", at=at
        )
    elif task.issue_request_id is not None:
        issue_requests.refused(connection, task.issue_request_id, GIVEN_UP)


def close_questions(connection: sqlite3.Connection, about: str, *, at: datetime) -> None:
    """What was asked about it needs no answer any more."""
    for decision in decisions.about(connection, about):
        decisions.supersede(connection, decision, at=at)
