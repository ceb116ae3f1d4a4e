"""One step of a call's job, whichever state it is in: its session is prepared and started, its work collected, its result verified.

Nobody is asked anything: what cannot be done is a result with status `error`, so that whoever called is answered.
"""

from collections.abc import Awaitable, Callable, Mapping

from overlord.domain.disciplines.call import Call, CallState
from overlord.domain.job import Job, JobState
from overlord.engine.disciplines import answer, collect, dispatch, verify
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.errors import AgentUnknown, GitFailed, RunnerRefused
from overlord.store.disciplines import calls

STEPS: Mapping[JobState, Callable[[Parts, Job, Call], Awaitable[Progress]]] = {
    JobState.QUEUED: dispatch.step,
    JobState.RUNNING: collect.step,
    JobState.EVALUATING: verify.step,
}


async def step(parts: Parts, job: Job) -> Progress:
    """Take a call one step on its way."""
    call = await parts.database.read(lambda c: calls.of_job(c, job))
    act = STEPS.get(job.state)
    if call is None or call.state is not CallState.OPEN or act is None:
        return Progress.IDLE
    try:
        return await act(parts, job, call)
    except (EnvironmentFailed, RunnerRefused, AgentUnknown, GitFailed) as error:
        return await answer.failed(parts, job, call, str(error))
