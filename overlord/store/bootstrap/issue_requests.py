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
    comment_id: int | None = None,
) -> IssueRequest:
    """Ask for an issue, in the transaction of the person's word; `issue_number` where it is there already, `comment_id` where a
    comment asks."""
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
        "comment_id": comment_id,
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
    """Those whose issue is to be opened, oldest first; none that could not be."""
    query = "SELECT * FROM issue_requests WHERE issue_number IS NULL AND trouble = '' ORDER BY id"
    return select(connection, IssueRequest, query)


def last_init(connection: sqlite3.Connection, space: str) -> IssueRequest | None:
    """The last request for a repository's contract that was not refused."""
    query = """SELECT * FROM issue_requests WHERE space = ? AND kind = 'init' AND (issue_number IS NOT NULL OR trouble = '')
               ORDER BY id DESC LIMIT 1"""
    return next(iter(select(connection, IssueRequest, query, space)), None)


def to_acknowledge(connection: sqlite3.Connection) -> list[IssueRequest]:
    """Those whose author waits at a comment to be told what became of them, and it is known."""
    query = """SELECT issue_requests.* FROM issue_requests LEFT JOIN wishes ON wishes.id = wish_id
               WHERE comment_id IS NOT NULL AND NOT is_told AND (trouble <> '' OR issue_number IS NOT NULL)
               AND coalesce(wishes.state, '') <> 'open' ORDER BY issue_requests.id"""
    return select(connection, IssueRequest, query)


def mark_acknowledged(connection: sqlite3.Connection, number: int) -> None:
    """Whoever asked knows what became of it."""
    update(connection, "issue_requests", number, {"is_told": True})


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


def wished(connection: sqlite3.Connection, number: int, wish_id: int) -> None:
    """Its issue is asked to be worked on."""
    update(connection, "issue_requests", number, {"wish_id": wish_id})


def refused(connection: sqlite3.Connection, number: int, trouble: str) -> None:
    """It cannot be opened or taken up, and why: it is not tried again."""
    update(connection, "issue_requests", number, {"trouble": trouble})


def try_again(connection: sqlite3.Connection, number: int) -> None:
    """Whatever kept its issue from being opened may be over: it is to be opened again."""
    update(connection, "issue_requests", number, {"trouble": ""})
