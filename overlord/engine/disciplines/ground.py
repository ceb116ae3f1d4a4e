"""The files a call begins on: the caller's own, or where a repository's branch is; a session goes on from what its last call left."""

import sqlite3

from overlord.domain.disciplines.call import Call, CallState, CallStatus
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.engine.runtime.parts import Parts
from overlord.errors import GitFailed, OverlordError
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.disciplines import calls


class NoGround(OverlordError):
    """There are no files to begin on, and trying again finds none. The message is a sentence for whoever called."""


async def laid(parts: Parts, job: Job, call: Call) -> Job:
    """The job with its base written down. Raises NoGround where there is none."""
    if job.base_sha:
        if call.is_checkout:
            await _check_there(parts, job, call)
        return job
    base = await _gone_on_from(parts, job, call)
    if base is None:
        remote = await parts.forge.remote(job.space)
        branch = call.branch or job.base_branch
        await parts.git.refresh_mirror(job.space, remote, branches=[branch])
        base = await parts.git.branch_head(job.space, branch)
        if base is None:
            raise NoGround(f"{job.space} has no branch {branch} with commits")
    found = base

    def write(connection: sqlite3.Connection) -> Job:
        calls.base(connection, call.id, base_sha=found)
        return jobs.repair(connection, job.id, base_sha=found)

    return await parts.database.write(Failpoint.BASE_CHOSEN, write)


async def _check_there(parts: Parts, job: Job, call: Call) -> None:
    try:
        await parts.git.tree_of(job.space, call.base_sha)
    except GitFailed:
        raise NoGround("the copy of your files is not there any more; call again") from None


async def _gone_on_from(parts: Parts, job: Job, call: Call) -> Sha | None:
    """What the session's last call left, as far as that is kept."""
    left = await parts.database.read(lambda c: _left_by_last(c, call))
    if left is None:
        return None
    try:
        await parts.git.tree_of(job.space, left)
    except GitFailed:
        return None
    return left


def _left_by_last(connection: sqlite3.Connection, call: Call) -> Sha | None:
    """The commit that the last call of the same session left, where both are about a repository's branch. A session is its caller's own:
    another one who names it the same begins on the branch."""
    if not call.session_key:
        return None
    before = [
        item
        for item in calls.of_session(connection, call.space, call.session_key)
        if item.id < call.id
        and item.state is CallState.ENDED
        and not item.is_checkout
        and item.branch == call.branch
        and item.actor == call.actor
        and item.patch
        and item.result is not None
        and item.result.status is not CallStatus.ERROR
    ]
    if not before or before[-1].job_id is None:
        return None
    return jobs.get(connection, before[-1].job_id).head_sha
