"""The issue of a task or an initiative is there: the row is known by its number before its job begins. Or it cannot be, and a cycle says
so."""

import sqlite3
from datetime import datetime

from overlord.domain.conversation.issue_request import IssueRequest, RequestKind
from overlord.domain.event import OVERLORD
from overlord.store.bootstrap import issue_requests
from overlord.store.portfolio import cycles, initiatives, tasks


def note(connection: sqlite3.Connection, asked: IssueRequest, number: int, *, at: datetime) -> bool:
    """Write it down, in the transaction that knows the issue; nothing for other requests. Whether it is still to be worked on."""
    if asked.kind is RequestKind.TASK and asked.options.task is not None:
        return not tasks.change(connection, asked.options.task, at=at, issue_number=number).has_ended
    if asked.kind is RequestKind.PLAN and asked.options.initiative is not None:
        return not initiatives.change(
            connection, asked.options.initiative, at=at, issue_number=number
        ).has_ended
    return True


def refused(connection: sqlite3.Connection, asked: IssueRequest, why: str, *, at: datetime) -> None:
    """It cannot be opened or taken up; of a task or an initiative, the next cycle asks a person what now."""
    issue_requests.refused(connection, asked.id, why.rstrip("."))
    if asked.kind in (RequestKind.TASK, RequestKind.PLAN):
        cycles.ask(connection, trigger=cycles.FACT, actor=OVERLORD, at=at)
