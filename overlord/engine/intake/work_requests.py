"""Issues that people want worked on: each is read, and claimed or told why not, in one transaction with the answer.

Whoever asks may do so: the interface that took the request has checked that.
"""

import sqlite3
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from minion.protocol import Issue
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import Job, JobState
from overlord.domain.text.plain import defused_line
from overlord.engine.issues import claim, renamed_repository
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import PollErrors
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeRefused, ForgeUnavailable, Refused
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.portfolio import cycles
from overlord.store.spaces import pauses, spaces, work_requests
from overlord.store.spaces.work_requests import WorkRequest, WorkRequestState
from overlord.verbs import commands

PATIENCE = timedelta(hours=1)
"""For so long the forge is asked about a request; then whoever asked is told that it does not answer."""


async def grant(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> Progress:
    """Answer what is wished for in a space; whether anything moved. What the forge does not answer now waits."""
    moved = False
    for wished in await parts.database.read(lambda c: work_requests.of_space(c, name)):
        with poll_errors.kept():
            act = await _answer_request(parts, name, wished)
            await parts.database.write(Failpoint.WORK_REQUEST_ANSWERED, act)
            moved = True
    if moved:
        parts.notify()
    return Progress.of(moved)


async def _answer_request(
    parts: Parts, name: RepositoryName, wished: WorkRequest
) -> Callable[[sqlite3.Connection], None]:
    """What is to be done and said. Raises ForgeUnavailable."""
    try:
        issue, base = await _evaluation_input(parts, name, wished)
    except Refused as error:
        return partial(_refuse, parts, wished, str(error))
    except ForgeRefused as error:
        return partial(_refuse, parts, wished, f"The forge says no: {defused_line(str(error))}")
    except ForgeUnavailable:
        if parts.clock.now() - wished.at < PATIENCE:
            raise
        return partial(_refuse, parts, wished, "The forge does not answer; ask again later")
    return partial(_grant, parts, wished, issue, base)


async def _evaluation_input(parts: Parts, name: RepositoryName, wished: WorkRequest) -> tuple[Issue, str]:
    """The issue as it stands now, and the branch its work is for. Raises Refused for what is not to be worked on."""
    if name not in parts.settings.repositories:
        raise Refused("that repository is not managed by Overlord any more")
    if (
        await parts.database.read(lambda c: spaces.get(c, name))
    ).paused or not await renamed_repository.is_itself(parts, name):
        raise Refused(await parts.database.read(lambda c: commands.why_not_found(c, name)))
    try:
        state = await parts.forge.issue(name, wished.number)
    except ForgeMissing:
        raise Refused(
            f"there is no issue #{wished.number} in {name}, or none that Overlord may see"
        ) from None
    if state.is_pull:
        raise Refused(f"#{wished.number} is a pull request; ask for the issue it is about")
    if not state.open:
        raise Refused(f"#{wished.number} is closed; reopen it first")
    issue, base = await claim.snapshot(parts, name, state.issue), await claim.base_branch(parts, name)
    # Asked after the text was read: an edit between the two is one too.
    edited_at = await parts.forge.edited_at(name, wished.number)
    if edited_at is not None and edited_at >= wished.at:
        raise Refused(f"#{wished.number} was edited after that was asked; look at it and ask again")
    return issue, base


def _grant(
    parts: Parts, wished: WorkRequest, issue: Issue, base: str, connection: sqlite3.Connection
) -> None:
    live = jobs.live_for(connection, wished.space, wished.number)
    try:
        job = _go_on(parts, wished, issue, live, connection) or _claim(parts, wished, issue, base, connection)
    except Refused as error:
        _refuse(parts, wished, str(error), connection)
        return
    text = f"Job {job.id} {'takes up' if live is None else 'goes on with'} {job.issue_ref}."
    if pause := pauses.over(connection, wished.space):
        text += f" It waits: {pause.describe()}."
    at = parts.clock.now()
    work_requests.answer(connection, wished.id, WorkRequestState.GRANTED, text, at=at, job_id=job.id)


def _go_on(
    parts: Parts, wished: WorkRequest, issue: Issue, live: Job | None, connection: sqlite3.Connection
) -> Job | None:
    """Let the job that works on it go on, if there is one. Raises Refused when it does not wait."""
    if live is None:
        return None
    if live.state is not JobState.WAITING:
        raise Refused(f"job {live.id} works on {live.issue_ref} already: it is {state_in_words(live.state)}")
    return commands.resume_job(connection, live.id, actor=wished.actor, issue=issue, at=parts.clock.now())


def _claim(parts: Parts, wished: WorkRequest, issue: Issue, base: str, connection: sqlite3.Connection) -> Job:
    job = jobs.claim(
        connection,
        space=wished.space,
        issue=issue,
        base_branch=base,
        contract=parts.contract(wished.space),
        at=parts.clock.now(),
        actor=wished.actor,
        is_urgent=parts.settings.space(wished.space).labels.priority in issue.labels,
    )
    assert job is not None, "there is no live one, in the same transaction"
    return job


def _refuse(parts: Parts, wished: WorkRequest, why: str, connection: sqlite3.Connection) -> None:
    text = f"{why[:1].upper()}{why[1:].rstrip('.')}."
    at = parts.clock.now()
    work_requests.answer(connection, wished.id, WorkRequestState.REFUSED, text, at=at)
    cycles.wake(connection, wished.space, wished.number, at=at)
