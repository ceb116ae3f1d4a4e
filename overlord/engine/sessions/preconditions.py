"""What must be so before a session of a queued job is prepared: a list of named preconditions, asked in their order."""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum

from overlord.domain.job import Job
from overlord.engine.conversation import edited_issue
from overlord.engine.runtime.parts import Parts
from overlord.engine.sessions import capacity, environment, setup, untested
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.errors import GitFailed
from overlord.failpoints import Failpoint
from overlord.store import jobs
from overlord.store.spaces import pauses


class Wait(Enum):
    """That a queued job waits, and whether people do not see yet for what."""

    NEWS = "news"
    KNOWN = "known"


async def not_paused(parts: Parts, job: Job) -> Wait | None:
    """Nobody has paused everything, or the repository."""
    if await parts.database.read(lambda c: pauses.over(c, job.space)) is None:
        return None
    is_news = await parts.database.write(Failpoint.TROUBLE_NOTED, lambda c: capacity.note_paused(c, job.id))
    return Wait.NEWS if is_news else Wait.KNOWN


async def room_for_a_session(parts: Parts, job: Job) -> Wait | None:
    """One more session may run, over all and in the repository."""
    is_free = await parts.database.read(lambda c: capacity.for_one_more(c, parts, job))
    return None if is_free else Wait.KNOWN


async def issue_as_claimed(parts: Parts, job: Job) -> Wait | None:
    """The issue was not edited since, or a person said what counts."""
    return Wait.NEWS if await edited_issue.ask_about_edit(parts, job) else None


async def room_for_a_pull_request(parts: Parts, job: Job) -> Wait | None:
    """The repository has not as many open pull requests of Overlord's as it takes."""
    if await parts.database.read(lambda c: capacity.for_a_pull(c, parts, job)):
        return None
    return await _waits_for(parts, job, capacity.no_pull_left(parts, job.space))


async def tests_answered(parts: Parts, job: Job) -> Wait | None:
    """No other job of the repository waits for a person's word about its having no tests."""
    waits = (await parts.database.read(untested.waiting_jobs)).get(job.id)
    return await _waits_for(parts, job, waits) if waits else None


async def environment_made(parts: Parts, job: Job) -> Wait | None:
    """The environment of the base is not being set up just now."""
    return Wait.KNOWN if await _is_being_set_up(parts, job) else None


PRECONDITIONS: Sequence[Callable[[Parts, Job], Awaitable[Wait | None]]] = (
    not_paused,
    room_for_a_session,
    issue_as_claimed,
    room_for_a_pull_request,
    tests_answered,
    environment_made,
)
"""What must be so before anything of a queued job's base is fetched, in the order in which it is asked: None where it is so."""


async def first_wait(parts: Parts, job: Job) -> Wait | None:
    """The first precondition that does not hold; None where the job waits for nothing."""
    for is_met in PRECONDITIONS:
        if (wait := await is_met(parts, job)) is not None:
            return wait
    return None


async def _waits_for(parts: Parts, job: Job, reason: str) -> Wait:
    """Let people see what a queued job waits for."""
    if job.reason == reason:
        return Wait.KNOWN
    await parts.database.write(Failpoint.TROUBLE_NOTED, lambda c: jobs.repair(c, job.id, reason=reason))
    return Wait.NEWS


async def _is_being_set_up(parts: Parts, job: Job) -> bool:
    """Whether the job waits for the setup of its base as it was last seen: there is nothing to fetch before that is over."""
    if job.base_sha is None:
        return False
    try:
        need = await environment.allowed(parts, job, job.base_sha)
    except (EnvironmentFailed, GitFailed):
        return False  # a fetch may change that
    return need is not None and await setup.is_being_made(parts, need)
