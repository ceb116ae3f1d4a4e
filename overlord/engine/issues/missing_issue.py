"""An issue that was transferred or deleted is in no list any more: the issues of open jobs are looked for, about once an hour.

That costs a request for each open job in an hour, which does not count at GitHub while nothing has changed (304), and
one for the repository for each issue that is not found.
"""

import sqlite3
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job
from overlord.domain.repositories.forge import IssueState
from overlord.domain.text.plain import visible
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import PollErrors
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeMoved
from overlord.failpoints import Failpoint
from overlord.store import jobs

EVERY = timedelta(minutes=55)
"""Less than an hour: a space is looked at as a whole once in an hour at least, and then its issues are due."""
GONE = "the issue is gone: it was deleted, or moved to where Overlord does not see it"

Act = Callable[[IssueState], Awaitable[Progress]]


async def look(parts: Parts, name: RepositoryName, poll_errors: PollErrors, found: Act) -> Progress:
    """Look for the issues that it is time for; `found` sees those that are there. To be asked after a list of the issues was
    had: that shows that we may see them."""
    moved, now = Progress.IDLE, parts.clock.now()
    for job in await parts.database.read(lambda c: _due(c, name, now)):
        with poll_errors.kept():
            moved |= await _find(parts, name, job, found)
    return moved


def _due(connection: sqlite3.Connection, name: RepositoryName, now: datetime) -> list[Job]:
    """A space's open jobs whose issue was not looked for lately; a clock that was set back does not put it off."""
    return [
        job
        for job in jobs.of_space(connection, name)
        if job.call_number is None
        and not timedelta(0) <= now - (job.issue_looked_at or job.created_at) < EVERY
    ]


async def _find(parts: Parts, name: RepositoryName, job: Job, found: Act) -> Progress:
    try:
        state = await parts.forge.issue(name, job.issue.number)
    except ForgeMissing as error:
        await parts.forge.repository(name)  # which says when it is all of the repository that we do not see
        where = " ".join(visible(error.to).split())[:200] if isinstance(error, ForgeMoved) else None
        return Progress.of(
            await parts.database.write(Failpoint.FATE_NOTED, lambda c: _missed(c, parts, job, where))
        )
    there = partial(jobs.repair, job_id=job.id, issue_looked_at=parts.clock.now(), issue_missing_at=None)
    await parts.database.write(Failpoint.FATE_NOTED, there)
    return await found(state)


async def note_present(parts: Parts, job: Job) -> None:
    """The issue is in a list: it is there, or there again."""
    if job.issue_missing_at is not None:
        there = partial(jobs.repair, job_id=job.id, issue_missing_at=None)
        await parts.database.write(Failpoint.FATE_NOTED, there)


def _missed(connection: sqlite3.Connection, parts: Parts, read: Job, where: str | None) -> bool:
    """An issue was not found. The job ends when it has moved, and when it was not found the last time either: what the forge
    does not show may be there again in a moment."""
    job, at = jobs.get(connection, read.id), parts.clock.now()
    if not job.is_open:
        return False
    since = job.issue_missing_at
    if where is None and (since is None or at - since < EVERY):
        is_first = since is None or at < since
        jobs.repair(connection, job.id, issue_looked_at=at, issue_missing_at=at if is_first else since)
        return False
    reason = GONE if where is None else f"the issue was moved to {where or 'another repository'}"
    data: dict[str, Json] = {"reason": reason}
    jobs.move(connection, job.id, EventName.ISSUE_CLOSED, at=at, actor="forge", data=data, reason=reason)
    return True
