"""What outlived its job: sessions of closed jobs, and sessions the runner holds that no row knows."""

from overlord.domain.job import Job
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import collect, final_state
from overlord.errors import RunnerUnavailable
from overlord.store import sessions


async def step(parts: Parts, job: Job) -> Progress:
    """End the live session of a job that is closed; where none is left, keep its final state."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    if session is None:
        return await final_state.keep(parts, job)
    await collect.abandon(parts, session)
    return Progress.MOVED


async def orphans(parts: Parts) -> None:
    """Remove what the runner holds for this Overlord and the database does not know as live."""
    try:
        present = await parts.runner.sessions()
        # Read after the runner was asked: what it holds was written down before it was started.
        live = {session.id for session in await parts.database.read(sessions.live)}
        for running in present:
            if running.session not in live:
                await parts.runner.remove(running.session)
    except RunnerUnavailable:
        return  # nothing is known now; the next poll looks again
