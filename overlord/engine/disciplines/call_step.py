"""One step of a call's job, whichever state it is in."""

from overlord.domain.job import Job
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress


async def step(_parts: Parts, _job: Job) -> Progress:
    """Take a call one step on its way."""
    return Progress.IDLE
