"""An issue that is edited while it is worked on: the work goes on with the text that stood when it began, the one comment
says so, and a person is asked before the next brief. The new text waits beside the job until then."""

import asyncio
import sqlite3
from datetime import datetime

from minion.protocol import Issue
from overlord.domain.conversation import issue_edit
from overlord.domain.decision import DecisionState, Subject, Verb
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobState
from overlord.domain.question import ask
from overlord.domain.text.hidden_text import issue_without_hidden
from overlord.engine.issues import claim, projection
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs


async def look(parts: Parts, name: RepositoryName, job: Job, issue: Issue) -> Progress:
    """Take note of what an open job's issue says now. Whether that is news.

    It asks nothing of the forge while the text is the known one, and for the comments when it is another.
    """
    shown = await asyncio.to_thread(issue_without_hidden, issue)  # as a snapshot has it
    if issue_edit.is_same(job.edited_issue or job.issue, shown):
        return Progress.IDLE
    now, at = await claim.snapshot(parts, name, issue), parts.clock.now()
    return Progress.of(
        await parts.database.write(Failpoint.FATE_NOTED, lambda c: _note_edit(c, job, now, at))
    )


def _note_edit(connection: sqlite3.Connection, read: Job, now: Issue, at: datetime) -> bool:
    job = jobs.get(connection, read.id)
    if not job.is_open or issue_edit.is_same(job.edited_issue or job.issue, now):
        return False
    edited = None if issue_edit.is_same(job.issue, now) else now
    data: dict[str, Json] = {"edition": issue_edit.edition(job.issue, edited) if edited else None}
    noted = jobs.note(
        connection,
        job.id,
        EventName.ISSUE_EDITED,
        at=at,
        actor="forge",
        data=data,
        edited_issue=edited,
        projected=projection.in_doubt(job),
    )
    if _is_asked(connection, noted):
        _ask_anew(connection, noted, at)
    return True


def _is_asked(connection: sqlite3.Connection, job: Job) -> bool:
    """Whether what the job waits for is asked about a text that is gone: which text counts, or which files it means."""
    about = (Subject.ISSUE_EDITED, Subject.SCOPE_UNKNOWN)
    return any(item.subject in about for item in decisions.waiting(connection, job.id))


def _ask_anew(connection: sqlite3.Connection, job: Job, at: datetime) -> None:
    """What was asked is about a text that is gone: ask about this one, unless there is nothing to ask any more."""
    decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
    if is_to_ask(connection, job):
        _raise(connection, job, at)
    else:
        jobs.move(connection, job.id, EventName.WORK_RESUMED, at=at, actor="forge")


async def ask_about_edit(parts: Parts, job: Job) -> Progress:
    """Ask a person which text counts before a queued job gets its next brief. Whether the job waits for that now."""
    if not await parts.database.read(lambda c: is_to_ask(c, jobs.get(c, job.id))):
        return Progress.IDLE
    at = parts.clock.now()

    def put(connection: sqlite3.Connection) -> bool:
        queued = jobs.get(connection, job.id)
        if queued.state is not JobState.QUEUED or not is_to_ask(connection, queued):
            return False
        body = _raise(connection, queued, at)
        data: dict[str, Json] = {"subject": Subject.ISSUE_EDITED, "body": body}
        reason = body.splitlines()[0]
        jobs.move(connection, job.id, EventName.DISPATCH_REFUSED, at=at, data=data, reason=reason)
        return True

    return Progress.of(await parts.database.write(Failpoint.PERSON_ASKED, put))


def is_to_ask(connection: sqlite3.Connection, job: Job) -> bool:
    """Whether there is an edit that nobody has declined."""
    if job.edited_issue is None:
        return False
    edition = issue_edit.edition(job.issue, job.edited_issue)
    answered = decisions.answered(connection, job.id)
    return not any(item.verb is Verb.KEEP and edition in item.options for item in answered)


def _raise(connection: sqlite3.Connection, job: Job, at: datetime) -> str:
    """Put the question; what it says. Its digest is bound to the whole text, also where that is shown in part."""
    assert job.edited_issue is not None
    body = issue_edit.question(job.issue, job.edited_issue)
    options = (issue_edit.edition(job.issue, job.edited_issue),)
    decisions.raise_decision(connection, ask(job, Subject.ISSUE_EDITED, body, at=at, options=options))
    return body
