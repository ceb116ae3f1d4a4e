"""DELIVERING → IN_REVIEW: the one place that pushes, and only what passed; then the pull request becomes ready.

Every act looks first: after a crash it finds what was done and goes on from there.
"""

import contextlib

from overlord.domain.conversation.pull_card import pull_body, pull_title
from overlord.domain.decision import Subject
from overlord.domain.event import EventName
from overlord.domain.job import Job
from overlord.domain.repositories.forge import Pull
from overlord.domain.text.plain import defused_line, quoted
from overlord.engine.delivery import contract_commit, review_answers
from overlord.engine.issues.published import note_pull, note_push, opened_pull
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import apply_answers
from overlord.errors import ContractError, ExternalServiceError, ForgeRefused, PushRefused, PushRejected
from overlord.failpoints import Failpoint
from overlord.queries.job_story import story_of
from overlord.store import jobs

STATUS_CONTEXT = "overlord/evaluation"
REFUSALS = (ForgeRefused, PushRejected, PushRefused)
"""What only a person can change: it is put to one when the work is to be delivered, and not tried again before they answer."""


async def step(parts: Parts, job: Job) -> Progress:
    """Push, open or complete the pull request, mark it ready, and say so on the commit."""
    name = job.space
    try:
        job = await _push(parts, await contract_commit.ensure(parts, job))
        pull = await _pull(parts, job, draft=False)
        story = await parts.database.read(lambda c: story_of(c, job, parts.contract(job.space)))
        await parts.forge.edit_pull(name, pull.number, title=pull_title(job), body=pull_body(story))
        if pull.draft:
            await parts.forge.mark_ready(pull)
        await set_status(parts, job, state="success", description="evaluation passed")
        await review_answers.answer(parts, job)
    except (*REFUSALS, ContractError) as error:
        body = str(error) if isinstance(error, ContractError) else _explained(parts, error)
        await apply_answers.wait_for_person(
            parts, job, EventName.DELIVERY_REFUSED, Subject.DELIVERY_REFUSED, body, ending="not needed"
        )
        return Progress.MOVED
    await parts.database.write(
        Failpoint.JOB_DELIVERED,
        lambda c: jobs.move(
            c,
            job.id,
            EventName.DELIVERED,
            at=parts.clock.now(),
            data={"pull": pull.number, "head": job.head_sha, "url": pull.url},
        ),
    )
    return Progress.MOVED


async def push_draft(parts: Parts, job: Job) -> Progress:
    """Show in-scope work as a draft, once, while it is still judged; whether that did anything.

    A refusal waits until delivery, where people are asked.
    """
    head = job.head_sha
    if head is None or head in (job.pushed_sha, parts.drafts_refused.get(job.id)):
        return Progress.IDLE
    try:
        job = await _push(parts, job)
        await _pull(parts, job, draft=True)
    except REFUSALS:
        parts.drafts_refused[job.id] = head
        return Progress.IDLE
    parts.drafts_refused.pop(job.id, None)
    await set_status(parts, job, state="pending", description="evaluating")
    return Progress.MOVED


async def set_status(parts: Parts, job: Job, *, state: str, description: str) -> None:
    """The commit status of the job's head. One the forge refuses is no reason to stop."""
    name, head = job.space, job.head
    with contextlib.suppress(ForgeRefused):
        await parts.forge.set_status(name, head, state=state, context=STATUS_CONTEXT, description=description)


def _explained(parts: Parts, error: ExternalServiceError) -> str:
    """Why the forge does not take it: one line, and for a push its own words as a quote, with what can be done."""
    redact = parts.current.redactor.redact
    line = defused_line(redact(str(error)))
    if not isinstance(error, PushRefused):
        return line
    return f"{line}\n\n{quoted(redact(error.words))}\n\n{error.advice} Then deliver it again."


async def _push(parts: Parts, job: Job) -> Job:
    """Bring the job's branch at the forge to its head, if it is not there yet."""
    name, head = job.space, job.head
    if job.pushed_sha == head:
        return job
    remote = await parts.forge.remote(name)
    seen = await parts.git.remote_head(name, remote, job.branch)
    if seen != head:
        if seen is not None and seen == job.pushing_sha != job.pushed_sha:
            # A push whose end was not noted; nobody else has this commit. It is forgotten once another one is ordered.
            job = await note_push(parts, job, seen)
        await parts.database.write(Failpoint.PUSH_ORDERED, lambda c: jobs.repair(c, job.id, pushing_sha=head))
        expected = job.pushed_sha if job.pushed_sha else None
        await parts.git.push(name, remote, sha=head, branch=job.branch, expected=expected)
    return await note_push(parts, job, head)


async def _pull(parts: Parts, job: Job, *, draft: bool) -> Pull:
    """The job's open pull request: the one that is known, or was opened before a crash, or a new one.

    Where a forge has no drafts (private repositories of free plans), nothing is shown before delivery.
    """
    name = job.space
    if job.pull_number is not None:
        return await parts.forge.pull(name, job.pull_number)
    pull = await opened_pull(parts, job) or await _open(parts, job, draft=draft)
    await note_pull(parts, job, pull)
    return pull


async def _open(parts: Parts, job: Job, *, draft: bool) -> Pull:
    story = await parts.database.read(lambda c: story_of(c, job, parts.contract(job.space)))
    try:
        return await parts.forge.open_pull(
            job.space,
            branch=job.branch,
            base=job.base_branch,
            title=pull_title(job),
            body=pull_body(story),
            draft=draft,
        )
    except ForgeRefused:
        # A daemon that this one replaced may have opened it since we looked.
        if pull := await opened_pull(parts, job):
            return pull
        raise
