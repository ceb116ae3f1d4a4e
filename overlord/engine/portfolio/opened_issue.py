"""The issue of a task or an initiative is there: the row is known by its number before its job begins."""

import sqlite3
from datetime import datetime

from overlord.domain.conversation.issue_request import IssueRequest, RequestKind
from overlord.store.portfolio import initiatives, tasks


def note(connection: sqlite3.Connection, asked: IssueRequest, number: int, *, at: datetime) -> None:
    """Write it down, in the transaction that knows the issue; nothing for other requests."""
    if asked.kind is RequestKind.TASK and asked.options.task is not None:
        tasks.change(connection, asked.options.task, at=at, issue_number=number)
    elif asked.kind is RequestKind.PLAN and asked.options.initiative is not None:
        initiatives.change(connection, asked.options.initiative, at=at, issue_number=number)
