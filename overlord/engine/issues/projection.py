"""Labels and the one comment at the forge are projections of the row: repaired whenever they are not what it says."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping

import structlog

from overlord.domain.identifiers import RepositoryName
from overlord.domain.job import OPEN, Job, JobId, JobState
from overlord.engine.issues.issue_comment import issue_comment
from overlord.engine.issues.published import adopt
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.poll_errors import is_locked
from overlord.engine.runtime.progress import Progress
from overlord.errors import ExternalServiceError, ForgeMissing, ForgeRefused, GitFailed
from overlord.failpoints import Failpoint
from overlord.queries.job_story import story_of
from overlord.settings.work import Labels
from overlord.store import jobs
from overlord.store.jobs import JobSummary

log = structlog.get_logger()

COMMENT_MARK = "<!-- overlord:job -->"
UNSURE = "? "
"""Put before what was last shown as long as it may stand at the forge in parts, or something else in parts."""
WITH_PEOPLE = frozenset({JobState.WAITING, JobState.IN_REVIEW})
PUBLISHING = frozenset({JobState.EVALUATING, JobState.DELIVERING})
"""In these a push or a pull request may be under way."""


UNDER_WAY = frozenset({JobState.QUEUED, JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING})
"""In these Overlord moves a job, and its issue carries the label of that."""


def label_for(state: JobState, labels: Labels) -> str | None:
    """The one label of ours an issue carries in this state of its job."""
    by_state: Mapping[JobState, str] = {
        JobState.QUEUED: labels.in_progress,
        JobState.RUNNING: labels.in_progress,
        JobState.EVALUATING: labels.in_progress,
        JobState.DELIVERING: labels.in_progress,
        JobState.IN_REVIEW: labels.in_review,
        JobState.WAITING: labels.attention,
        JobState.FAILED: labels.attention,
    }
    return by_state.get(state)


async def step(parts: Parts, job: Job) -> Progress:
    """Bring the forge in line with the row, if it is not known to be; whether there is more to tell by now."""
    job = await parts.database.read(lambda c: jobs.get(c, job.id))
    if job.projected == projection_key(job):
        return Progress.IDLE
    if job.projected and not job.projected.startswith(UNSURE):
        job = await parts.database.write(Failpoint.PROJECTION_NOTED, lambda c: _doubt(c, job.id))
    is_wished, refused = _is_wished(job), list[ExternalServiceError]()
    if job.state not in PUBLISHING:
        with _collected(refused):
            job = await adopt(parts, job)
    wanted, comment, unlabelled = projection_key(job), job.comment_id, list[ExternalServiceError]()
    with _collected(unlabelled):
        await _label(parts, job, is_wished=is_wished)
    if not any(isinstance(error, ForgeMissing) for error in unlabelled):  # of an issue that is gone
        with _collected(refused):
            comment = await _kept_comment(parts, job.space, job)
    refused += unlabelled
    if not job.is_open:  # its issue was deleted or transferred: nothing is left to label
        refused = [error for error in refused if not isinstance(error, ForgeMissing)]

    def note(connection: sqlite3.Connection) -> bool:
        if refused:
            projected = jobs.get(connection, job.id).projected if unlabelled else f"{UNSURE}{wanted}"
            jobs.repair(connection, job.id, projected=projected, comment_id=comment)
            return False
        now = jobs.repair(connection, job.id, projected=wanted, comment_id=comment)
        if now.edited_issue != job.edited_issue:
            jobs.repair(connection, job.id, projected=in_doubt(now))
            return True
        return projection_key(now) != wanted  # the row may have moved on while the forge was told

    is_behind = await parts.database.write(Failpoint.PROJECTION_NOTED, note)
    if refused:
        raise refused[0]
    return Progress.of(is_behind)


@contextlib.contextmanager
def _collected(refused: list[ExternalServiceError]) -> Iterator[None]:
    """What an external service refuses keeps the rest from nothing: it is raised when all was tried. One that does not answer is not asked
    for more."""
    try:
        yield
    except (ForgeRefused, GitFailed) as error:
        refused.append(error)


def projection_key(job: Job | JobSummary) -> str:
    """What the forge is to show: it changes when labels or comment have to. An edit of the issue, which the row alone knows,
    puts what was shown `in_doubt` instead."""
    if job.state not in OPEN:
        return job.state
    return f"{job.state} {job.reason} {job.pull_number or ''}"


def has_labelled(job: Job) -> bool:
    """Whether a work label beside a closed job is known not to be the one it was taken up with."""
    return job.projected == projection_key(job) or job.projected.startswith(UNSURE)


def _doubt(connection: sqlite3.Connection, job_id: JobId) -> Job:
    """Note that the forge is about to be told something else: the row may say the old thing again before all is told.

    Returns the row as it was.
    """
    job = jobs.get(connection, job_id)
    jobs.repair(connection, job_id, projected=in_doubt(job))
    return job


def in_doubt(job: Job) -> str:
    """What is written down of what the forge shows when that is not all it has to."""
    is_certain = job.projected and not job.projected.startswith(UNSURE)
    return f"{UNSURE}{job.projected}" if is_certain else job.projected


def _is_wished(job: Job) -> bool:
    """Whether a work label beside this job is a person's request for what comes next, and not what it was taken up with."""
    if not job.is_open:
        return job.projected.startswith(UNSURE)  # its end is told late, and people may have gone on since
    return job.state in WITH_PEOPLE and job.projected.removeprefix(UNSURE).startswith(job.state)


async def _label(parts: Parts, job: Job, *, is_wished: bool) -> None:
    """See to the labels, and note that some are ours now; an issue whose next job has begun is left to that one."""
    if job.is_open or not await parts.database.read(lambda c: jobs.is_succeeded(c, job)):
        await _labels(parts, job.space, job, is_wished=is_wished)
        if not job.projected:
            await parts.database.write(
                Failpoint.PROJECTION_NOTED, lambda c: jobs.repair(c, job.id, projected=UNSURE)
            )


async def _labels(parts: Parts, name: RepositoryName, job: Job, *, is_wished: bool) -> None:
    labels = parts.settings.space(name).labels
    ours = {labels.in_progress, labels.in_review, labels.attention}
    if not is_wished:
        ours.add(labels.work)
    wanted = label_for(job.state, labels)
    present = set((await parts.forge.issue(name, job.issue.number)).issue.labels)
    if wanted is not None and wanted not in present:
        await parts.forge.add_label(name, job.issue.number, wanted)
    for label in sorted((ours & present) - {wanted}):
        await parts.forge.remove_label(name, job.issue.number, label)


async def _kept_comment(parts: Parts, name: RepositoryName, job: Job) -> int | None:
    """The one comment, kept; where a conversation is locked for us too, labels and the ledger alone tell people."""
    try:
        return await _comment(parts, name, job)
    except ForgeRefused as error:
        if not is_locked(error):
            raise
        log.warning("comment_refused", job_id=job.id, issue=job.issue_ref, reason=str(error))
        return job.comment_id


async def _comment(parts: Parts, name: RepositoryName, job: Job) -> int:
    """Keep one comment: edit ours if it is there, also when a crash kept us from noting its id.

    One that was deleted is written anew: people are to see where the job stands.
    """
    story = await parts.database.read(lambda c: story_of(c, job, parts.contract(job.space)))
    mark = COMMENT_MARK.replace("job", f"job {job.id}")
    body = f"{issue_comment(story)}\n{mark}"
    if job.comment_id is not None:
        with contextlib.suppress(ForgeMissing):
            await parts.forge.edit_comment(name, job.comment_id, body)
            return job.comment_id
    present = await parts.forge.comments(name, job.issue.number)
    known = next((number for number, comment in present if mark in comment.body), None)
    if known is None:
        return await parts.forge.add_comment(name, job.issue.number, body)
    await parts.forge.edit_comment(name, known, body)
    return known
