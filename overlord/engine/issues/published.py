"""What of a job's work stands at the forge, written down: where its branch is, and which pull request is its own."""

import sqlite3

from overlord.domain.event import EventName
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.repositories.forge import Pull
from overlord.engine.runtime.parts import Parts
from overlord.failpoints import Failpoint
from overlord.store import jobs


async def adopt(parts: Parts, job: Job) -> Job:
    """Note what a crash kept us from noting: a push or a pull request of ours that the row does not tell."""
    name = job.space
    if job.pushing_sha is None:
        return job
    if job.pushed_sha != job.pushing_sha:
        seen = await parts.git.remote_head(name, await parts.forge.remote(name), job.branch)
        if seen == job.pushing_sha:
            job = await note_push(parts, job, seen, adopting=True)
    if job.pull_number is None and (pull := await opened_pull(parts, job)):
        job = await note_pull(parts, job, pull)
    return job


async def note_push(parts: Parts, job: Job, head: Sha, *, adopting: bool = False) -> Job:
    """Write down where the branch is. What is `adopting` runs beside the job's step, which may be further by now."""

    def note(connection: sqlite3.Connection) -> Job:
        now = jobs.get(connection, job.id)
        if now.pushed_sha == head or (adopting and now.pushing_sha != head):
            return now
        return jobs.note(
            connection,
            job.id,
            EventName.BRANCH_PUSHED,
            at=parts.clock.now(),
            data={"branch": job.branch, "head": head},
            pushing_sha=head,
            pushed_sha=head,
        )

    return await parts.database.write(Failpoint.PUSH_NOTED, note)


async def opened_pull(parts: Parts, job: Job) -> Pull | None:
    """The open pull request from the job's branch."""
    found = await parts.forge.pulls_from(job.space, job.branch)
    return next((pull for pull in found if pull.open), None)


async def note_pull(parts: Parts, job: Job, pull: Pull) -> Job:
    """Write down which pull request is the job's."""

    def note(connection: sqlite3.Connection) -> Job:
        now = jobs.get(connection, job.id)
        if now.pull_number is not None:
            return now
        return jobs.note(
            connection,
            job.id,
            EventName.PULL_OPENED,
            at=parts.clock.now(),
            data={"pull": pull.number, "url": pull.url},
            pull_number=pull.number,
        )

    return await parts.database.write(Failpoint.PULL_NOTED, note)
