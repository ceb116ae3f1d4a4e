"""Labels and the one comment at the forge are projections of the row: repaired whenever they are not what it says."""

from collections.abc import Mapping

from overlord.domain.card import issue_comment
from overlord.domain.job import Job, JobState
from overlord.engine.parts import Parts
from overlord.engine.story import story_of
from overlord.errors import ForgeMissing
from overlord.ports import RepositoryName
from overlord.settings import Labels
from overlord.store import jobs

COMMENT_MARK = "<!-- overlord:job -->"


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


async def step(parts: Parts, job: Job) -> bool:
    """Bring the forge in line with the row, if it is not known to be."""
    job = await parts.database.read(lambda c: jobs.get(c, job.id))
    wanted = projection_key(job)
    if job.projected == wanted:
        return False
    name = RepositoryName(job.space)
    comment: int | None
    try:
        await _labels(parts, name, job)
        comment = await _comment(parts, name, job)
    except ForgeMissing:
        comment = job.comment_id  # the issue was deleted or transferred; there is nothing left to label
    await parts.database.write(lambda c: jobs.repair(c, job.id, projected=wanted, comment_id=comment))
    return False


def projection_key(job: Job) -> str:
    """What the forge is to show: it changes when labels or comment have to."""
    if not job.is_open:
        return job.state
    return f"{job.state} {job.reason} {job.pull_number or ''}"


async def _labels(parts: Parts, name: RepositoryName, job: Job) -> None:
    labels = parts.settings.labels
    ours = {labels.work, labels.in_progress, labels.in_review, labels.attention}
    wanted = label_for(job.state, labels)
    present = set((await parts.forge.issue(name, job.issue.number)).issue.labels)
    if wanted is not None and wanted not in present:
        await parts.forge.add_label(name, job.issue.number, wanted)
    for label in sorted((ours & present) - {wanted}):
        await parts.forge.remove_label(name, job.issue.number, label)


async def _comment(parts: Parts, name: RepositoryName, job: Job) -> int:
    """Keep one comment: edit ours if it is there, also when a crash kept us from noting its id."""
    story = await parts.database.read(lambda c: story_of(c, job, parts.contract(job.space)))
    mark = COMMENT_MARK.replace("job", f"job {job.id}")
    body = f"{issue_comment(story)}\n{mark}"
    known = job.comment_id
    if known is None:
        present = await parts.forge.comments(name, job.issue.number)
        known = next((number for number, comment in present if mark in comment.body), None)
    if known is None:
        return await parts.forge.add_comment(name, job.issue.number, body)
    await parts.forge.edit_comment(name, known, body)
    return known
