"""An issue that a person asked for is opened once, and asked to be worked on in their name: it runs its repository's contract."""

import sqlite3

from overlord.domain.conversation.issue_request import IssueRequest
from overlord.domain.conversation.requested_issue import issue_text
from overlord.domain.text.plain import defused_line
from overlord.engine.issues.open_issue import opened
from overlord.engine.portfolio import opened_issue
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeRefused, Refused
from overlord.failpoints import Failpoint
from overlord.store.bootstrap import issue_requests
from overlord.store.conversation import processed_comments
from overlord.verbs.commands import work_on


async def step(parts: Parts, number: int) -> Progress:
    """Open it, and note it with the request for work; or note why it cannot be opened. Raises ForgeUnavailable."""
    asked = await parts.database.read(lambda c: issue_requests.get(c, number))
    if asked.issue_number is not None or asked.is_refused:
        return Progress.IDLE
    try:
        issue = await _issue(parts, asked)
    except ForgeMissing:
        await _refuse(parts, asked, "its repository cannot be found, or Overlord may not see it")
    except ForgeRefused as error:
        await _refuse(parts, asked, defused_line(str(error))[:300])
    else:
        await parts.database.write(Failpoint.ISSUE_REQUEST_SETTLED, lambda c: _settle(c, parts, asked, issue))
    parts.notify()
    return Progress.MOVED


async def _issue(parts: Parts, asked: IssueRequest) -> int:
    async def order() -> None:
        at = parts.clock.now()
        await parts.database.write(
            Failpoint.ISSUE_ORDERED, lambda c: issue_requests.order(c, asked.id, at=at)
        )

    place = await parts.database.read(lambda c: _place(c, asked))
    return await opened(
        parts,
        asked.space,
        title=asked.title,
        body=issue_text(asked, at_number=place),
        key=asked.key,
        ordered_at=asked.ordered_at,
        order=order,
    )


def _place(connection: sqlite3.Connection, asked: IssueRequest) -> int | None:
    """The issue or pull request where it was asked for."""
    if asked.comment_id is None:
        return None
    return processed_comments.place_of(connection, asked.space, asked.comment_id)


async def _refuse(parts: Parts, asked: IssueRequest, why: str) -> None:
    at = parts.clock.now()
    await parts.database.write(
        Failpoint.ISSUE_REQUEST_SETTLED, lambda c: opened_issue.refused(c, asked, why, at=at)
    )


def _settle(connection: sqlite3.Connection, parts: Parts, asked: IssueRequest, number: int) -> None:
    """The issue is known by its number before its job begins, which tells by that what it is for."""
    at = parts.clock.now()
    issue_requests.opened(connection, asked.id, issue_number=number, at=at)
    if not opened_issue.note(connection, asked, number, at=at):
        return  # what it was for was given up meanwhile: it is closed again
    try:
        wish = work_on(connection, asked.space, number, actor=asked.actor, at=at)
    except Refused as error:
        opened_issue.refused(connection, asked, str(error), at=at)
    else:
        issue_requests.wished(connection, asked.id, wish.id)
