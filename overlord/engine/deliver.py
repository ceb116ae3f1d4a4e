"""DELIVERING → IN_REVIEW: the one place that pushes, and only what passed; then the pull request becomes ready.

Every act looks first: after a crash it finds what was done and goes on from there.
"""

import contextlib

from overlord.domain.card import pull_body, pull_title
from overlord.domain.decision import Subject
from overlord.domain.event import EventName
from overlord.domain.job import Job
from overlord.engine import inbox
from overlord.engine.parts import Parts
from overlord.engine.story import story_of
from overlord.errors import ForgeRefused, PushRejected
from overlord.ports import Pull, RepositoryName, Sha
from overlord.store import jobs

STATUS_CONTEXT = "overlord/evaluation"


async def step(parts: Parts, job: Job) -> bool:
    """Push, open or complete the pull request, mark it ready, and say so on the commit."""
    name = RepositoryName(job.space)
    try:
        job = await _push(parts, job)
        pull = await _pull(parts, job, draft=False)
        story = await parts.database.read(lambda c: story_of(c, job, parts.contract(job.space)))
        await parts.forge.edit_pull(name, pull.number, title=pull_title(job), body=pull_body(story))
        if pull.draft:
            await parts.forge.mark_ready(pull)
        await say(parts, job, state="success", description="evaluation passed")
    except (ForgeRefused, PushRejected) as error:
        await inbox.wait_for_person(
            parts, job, EventName.DELIVERY_REFUSED, Subject.DELIVERY_REFUSED, str(error), ending="not needed"
        )
        return True
    await parts.database.write(
        lambda c: jobs.move(
            c,
            job.id,
            EventName.DELIVERED,
            at=parts.clock.now(),
            data={"pull": pull.number, "head": job.head_sha, "url": pull.url},
        )
    )
    return True


async def push_draft(parts: Parts, job: Job) -> bool:
    """Show in-scope work as a draft, once, while it is still judged; whether that did anything.

    A refusal waits until delivery, where people are asked.
    """
    if job.pushed_sha == job.head_sha:
        return False
    try:
        job = await _push(parts, job)
        await _pull(parts, job, draft=True)
    except (ForgeRefused, PushRejected):
        return False
    await say(parts, job, state="pending", description="evaluating")
    return True


async def say(parts: Parts, job: Job, *, state: str, description: str) -> None:
    """The commit status of the job's head. One the forge refuses is no reason to stop."""
    name, head = RepositoryName(job.space), Sha(job.head_sha or "")
    with contextlib.suppress(ForgeRefused):
        await parts.forge.set_status(name, head, state=state, context=STATUS_CONTEXT, description=description)


async def _push(parts: Parts, job: Job) -> Job:
    """Bring the job's branch at the forge to its head, if it is not there yet."""
    name, head = RepositoryName(job.space), Sha(job.head_sha or "")
    if job.pushed_sha == head:
        return job
    remote = await parts.forge.remote(name)
    seen = await parts.git.remote_head(name, remote, job.branch)
    if seen != head:
        expected = Sha(job.pushed_sha) if job.pushed_sha else None
        await parts.git.push(name, remote, sha=head, branch=job.branch, expected=expected)
    return await parts.database.write(
        lambda c: jobs.note(
            c,
            job.id,
            EventName.BRANCH_PUSHED,
            at=parts.clock.now(),
            data={"branch": job.branch, "head": head},
            pushed_sha=head,
        )
    )


async def _pull(parts: Parts, job: Job, *, draft: bool) -> Pull:
    """The job's open pull request: the one that is known, or was opened before a crash, or a new one.

    Where a forge has no drafts (private repositories of free plans), nothing is shown before delivery.
    """
    name = RepositoryName(job.space)
    if job.pull_number is not None:
        return await parts.forge.pull(name, job.pull_number)
    opened = [pull for pull in await parts.forge.pulls_from(name, job.branch) if pull.open]
    if opened:
        pull = opened[0]
    else:
        story = await parts.database.read(lambda c: story_of(c, job, parts.contract(job.space)))
        pull = await parts.forge.open_pull(
            name,
            branch=job.branch,
            base=job.base_branch,
            title=pull_title(job),
            body=pull_body(story),
            draft=draft,
        )
    await parts.database.write(
        lambda c: jobs.note(
            c,
            job.id,
            EventName.PULL_OPENED,
            at=parts.clock.now(),
            data={"pull": pull.number, "url": pull.url},
            pull_number=pull.number,
        )
    )
    return pull
