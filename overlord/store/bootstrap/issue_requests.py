"""Issues that people want opened: each is asked for once, ordered once, and known by its number once it is there."""

import secrets
import sqlite3
from datetime import datetime

from overlord.domain.conversation.issue_request import IssueRequest, RequestKind, RequestOptions
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.errors import NotFound
from overlord.store import ledger
from overlord.store.rows import insert, select, update


def request(
    connection: sqlite3.Connection,
    *,
    space: str,
    kind: RequestKind,
    title: str,
    body: str,
    options: RequestOptions,
    actor: str,
    at: datetime,
    issue_number: int | None = None,
) -> IssueRequest:
    """Ask for an issue, in the transaction of the person's word; `issue_number` where it is there already."""
    columns = {
        "space": space,
        "kind": kind,
        "title": title,
        "body": body,
        "key": secrets.token_hex(8),
        "options": options.to_json(),
        "actor": actor,
        "requested_at": at,
        "issue_number": issue_number,
    }
    number = insert(connection, "issue_requests", columns)
    data: dict[str, Json] = {"request": number, "space": space, "kind": str(kind), "title": title[:200]}
    event = LedgerEvent(name=EventName.ISSUE_REQUESTED, at=at, actor=actor, data=data)
    ledger.append(connection, event)
    return get(connection, number)


def get(connection: sqlite3.Connection, number: int) -> IssueRequest:
    """Raises NotFound."""
    found = select(connection, IssueRequest, "SELECT * FROM issue_requests WHERE id = ?", number)
    if not found:
        raise NotFound(f"there is no request {number} for an issue")
    return found[0]


def of_issue(connection: sqlite3.Connection, space: str, number: int) -> IssueRequest | None:
    """The request that an issue was opened for."""
    query = "SELECT * FROM issue_requests WHERE space = ? AND issue_number = ?"
    return next(iter(select(connection, IssueRequest, query, space, number)), None)


def unopened(connection: sqlite3.Connection) -> list[IssueRequest]:
    """Those whose issue is not there yet, oldest first."""
    query = "SELECT * FROM issue_requests WHERE issue_number IS NULL ORDER BY id"
    return select(connection, IssueRequest, query)


def order(connection: sqlite3.Connection, number: int, *, at: datetime) -> None:
    """The issue is about to be opened."""
    update(connection, "issue_requests", number, {"ordered_at": at})


def opened(connection: sqlite3.Connection, number: int, *, issue_number: int, at: datetime) -> None:
    """The issue is there."""
    row = get(connection, number)
    update(connection, "issue_requests", number, {"issue_number": issue_number, "trouble": ""})
    data: dict[str, Json] = {"request": number, "issue": f"{row.space}#{issue_number}", "kind": str(row.kind)}
    ledger.append(
        connection, LedgerEvent(name=EventName.REQUESTED_ISSUE_OPENED, at=at, actor=row.actor, data=data)
    )


def refused(connection: sqlite3.Connection, number: int, trouble: str) -> None:
    """It could not be opened, and why."""
    update(connection, "issue_requests", number, {"trouble": trouble})
