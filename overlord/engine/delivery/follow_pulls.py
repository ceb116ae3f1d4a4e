"""What people do with an issue or a pull request while it is worked on: Overlord reads that when it polls the space."""

import sqlite3
from collections.abc import Collection
from functools import partial

from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import OPEN, Job, JobId, JobState
from overlord.domain.repositories.forge import IssueState, Pull
from overlord.engine.conversation import edited_issue
from overlord.engine.delivery import rounds
from overlord.engine.issues import missing_issue, projection
from overlord.engine.portfolio import issue_states
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import LOOKS_BACK, PollErrors, through
from overlord.engine.runtime.progress import Progress
from overlord.errors import ForgeMissing, ForgeRefused
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.spaces import spaces


async def pulls(
    parts: Parts, name: RepositoryName, poll_errors: PollErrors, only: Collection[JobId] | None = None
) -> Progress:
    """Follow the pull requests of a space's open jobs, or of some; one that cannot be read keeps no other waiting."""
    moved = Progress.IDLE
    for job in await parts.database.read(lambda c: jobs.with_pulls(c, name)):
        if job.state is not JobState.DELIVERING and job.pull_number and (only is None or job.id in only):
            parts.poll_schedule.saw_pull(job.id, parts.clock.monotonic())
            with poll_errors.kept():
                pull = await parts.forge.pull(name, job.pull_number)
                moved |= await _follow(parts, job, pull) or await rounds.look(
                    parts, job, pull, has_news=only is None
                )
    return moved


def fate(pull: Pull) -> EventName | None:
    """The fact a pull request's state makes, if it makes one."""
    if pull.merged:
        return EventName.MERGED
    return None if pull.open else EventName.PR_CLOSED


async def _follow(parts: Parts, job: Job, pull: Pull) -> Progress:
    event = fate(pull)
    if event is None:
        return Progress.IDLE
    reason = "its pull request was closed without a merge"
    if event is EventName.MERGED:
        reason = await _tidy(parts, job)
    await parts.database.write(
        Failpoint.FATE_NOTED,
        lambda c: jobs.move(
            c,
            job.id,
            event,
            at=parts.clock.now(),
            actor="forge",
            data={"pull": pull.number, "head": pull.head_sha},
            reason=reason,
        ),
    )
    return Progress.MOVED


async def _tidy(parts: Parts, job: Job) -> str:
    """After a merge: the issue is done with, and so is the branch. What the forge does not let us do is left to people; returns
    what they are told of it."""
    name, left = job.space, list[str]()
    try:
        if await _is_issue_open(parts, name, job.issue.number):
            await parts.forge.close_issue(name, job.issue.number)
    except ForgeRefused as error:
        left.append(f"its issue could not be closed: {error}")
    try:
        if parts.settings.space(job.space).delivery.delete_branch:
            await parts.forge.delete_branch(name, job.branch)
    except ForgeRefused as error:
        left.append(f"its branch could not be deleted: {error}")
    return "; ".join(left)


async def _is_issue_open(parts: Parts, name: RepositoryName, number: int) -> bool:
    """One that is gone is not to be closed."""
    try:
        return (await parts.forge.issue(name, number)).open
    except ForgeMissing:
        return False


async def issues(parts: Parts, name: RepositoryName, poll_errors: PollErrors) -> Progress:
    """Stop work on issues that were closed, that are gone, or whose label was taken off while it was under way; evidence
    stays. Take note of those that were edited."""
    space = await parts.database.read(lambda c: spaces.get(c, name))
    since = space.seen_at or await parts.database.read(lambda c: jobs.oldest(c, name)) or parts.clock.now()
    since = since if space.seen_at else since - LOOKS_BACK
    changed = await parts.forge.issues_since(name, since)
    act = partial(_look, parts, name)
    moved, since = await through(changed, act, poll_errors, since=since, at=lambda state: state.updated_at)
    moved |= await missing_issue.look(parts, name, poll_errors, act)
    if since != space.seen_at:
        await parts.database.write(Failpoint.ISSUES_SEEN, lambda c: spaces.note_seen(c, name, at=since))
    return moved


async def _look(parts: Parts, name: RepositoryName, state: IssueState) -> Progress:
    job = await parts.database.read(lambda c: jobs.live_for(c, name, state.issue.number))
    if job is None:
        await issue_states.seen(parts, name, state)
        return Progress.IDLE
    await missing_issue.note_present(parts, job)
    if not state.open:
        return await _closed(parts, name, job, state)
    if label := await _taken_off(parts, name, job, state):
        reason = f"somebody took the label {label} off"
        return await _end(parts, job, EventName.UNLABELLED, reason, only_in={job.state})
    return await edited_issue.look(parts, name, job, state.issue)


async def _taken_off(parts: Parts, name: RepositoryName, job: Job, state: IssueState) -> str | None:
    """The label of the work under way, if somebody has taken it off."""
    labels = parts.settings.space(name).labels
    label, ours = (
        projection.label_for(job.state, labels),
        {labels.in_progress, labels.in_review, labels.attention},
    )
    if job.state not in projection.UNDER_WAY or label is None:
        return None
    if not ours.isdisjoint(state.issue.labels):
        return None  # it is there, or another of ours: then Overlord put that in its place, which this database may not know
    if job.projected != projection.projection_key(job):
        return None  # it may not have been put on yet
    labelling = await parts.forge.labelling(name, job.issue.number, label)
    return label if labelling is not None and labelling.is_off else None


async def _closed(parts: Parts, name: RepositoryName, job: Job, state: IssueState) -> Progress:
    """An issue is closed: by the merge of its pull request, or because nobody wants it any more."""
    if job.pull_number is not None:
        found = [await parts.forge.pull(name, job.pull_number)]
    else:
        found = list(await parts.forge.pulls_from(name, job.branch))[:1]
    for pull in found:
        if fate(pull) is not None:
            return await _follow(parts, job, pull)
    return await _end(parts, job, EventName.ISSUE_CLOSED, "the issue was closed", only_in=OPEN, seen=state)


async def _end(
    parts: Parts,
    job: Job,
    event: EventName,
    reason: str,
    *,
    only_in: Collection[JobState],
    seen: IssueState | None = None,
) -> Progress:
    data: dict[str, Json] = {"reason": reason}
    at = parts.clock.now()

    def end(connection: sqlite3.Connection) -> bool:
        if jobs.get(connection, job.id).state not in only_in:
            return False
        jobs.move(connection, job.id, event, at=at, actor="forge", data=data, reason=reason)
        if seen is not None:
            issue_states.note(connection, job.space, seen, at=at)
        return True

    return Progress.of(await parts.database.write(Failpoint.FATE_NOTED, end))
