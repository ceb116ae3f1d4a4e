"""IN_REVIEW: what became of a pull request. People merge or close it; Overlord reads that when it polls the space."""

from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.engine.parts import Parts
from overlord.ports import Pull, RepositoryName
from overlord.store import jobs


async def step(_parts: Parts, _job: Job) -> bool:
    """Nothing to do between polls: `pulls` asks the forge once for the whole space."""
    return False


async def pulls(parts: Parts, name: RepositoryName) -> bool:
    """Follow the pull requests of a space's open jobs."""
    moved = False
    for job in await parts.database.read(jobs.open_jobs):
        if job.space == name and job.pull_number is not None and job.state is not JobState.DELIVERING:
            moved |= await _follow(parts, job, await parts.forge.pull(name, job.pull_number))
    return moved


def fate(pull: Pull) -> EventName | None:
    """The fact a pull request's state makes, if it makes one."""
    if pull.merged:
        return EventName.MERGED
    return None if pull.open else EventName.PR_CLOSED


async def _follow(parts: Parts, job: Job, pull: Pull) -> bool:
    event = fate(pull)
    if event is None:
        return False
    await parts.database.write(
        lambda c: jobs.move(
            c,
            job.id,
            event,
            at=parts.clock.now(),
            actor="forge",
            data={"pull": pull.number, "head": pull.head_sha},
        )
    )
    return True
