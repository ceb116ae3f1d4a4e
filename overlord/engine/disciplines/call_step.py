"""One step of a call's job, whichever state it is in: its session is prepared and started, its work collected, its result verified.

Nobody is asked anything: what cannot be done is a result with status `error`, so that whoever called is answered. What fails is tried
again first, for some minutes; what the database or the disk does not allow, for as long as that lasts.
"""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

from overlord.domain.disciplines.call import Call, CallState
from overlord.domain.event import EventName
from overlord.domain.job import Job, JobState
from overlord.engine.disciplines import answer, collect, dispatch, verify
from overlord.engine.disciplines.ground import NoGround
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.runtime.retry import RETRY_LATER
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.errors import AgentUnknown, ContractError, Fenced, IllegalMove, OverlordError, RunnerRefused
from overlord.store import jobs, ledger
from overlord.store.disciplines import calls

PATIENCE = timedelta(minutes=5)
"""How long something may keep a call up before whoever called is told so as its result."""
FAILURES = (
    OverlordError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
)
"""What may keep a call up: what we do not own, what somebody wrote, a mistake of ours."""

STEPS: Mapping[JobState, Callable[[Parts, Job, Call], Awaitable[Progress]]] = {
    JobState.QUEUED: dispatch.step,
    JobState.RUNNING: collect.step,
    JobState.EVALUATING: verify.step,
}


async def step(parts: Parts, job: Job) -> Progress:
    """Take a call one step on its way. Raises what is to be tried again."""
    call = await parts.database.read(lambda c: calls.of_job(c, job))
    act = STEPS.get(job.state)
    if call is None or call.state is not CallState.OPEN or act is None:
        return Progress.IDLE
    try:
        return await act(parts, job, call)
    except (Fenced, IllegalMove):
        raise  # this daemon is over, or somebody else moved the job
    except (EnvironmentFailed, RunnerRefused, AgentUnknown, ContractError, NoGround) as error:
        return await answer.failed(parts, job, call, str(error))
    except FAILURES as error:
        if await parts.database.read(lambda c: _may_be_repeated(c, job, parts.clock.now())):
            raise
        return await answer.failed(parts, job, call, _told(error))


def _told(error: Exception) -> str:
    """What went wrong, for whoever called."""
    is_ours = not isinstance(error, OverlordError)
    return f"Overlord could not go on: {type(error).__name__}: {error}" if is_ours else str(error)


def _may_be_repeated(connection: sqlite3.Connection, job: Job, now: datetime) -> bool:
    """Whether what keeps a call up has not done so for long, in whatever words it was told."""
    if not jobs.get(connection, job.id).reason.startswith(RETRY_LATER):
        return True
    told = [
        entry for entry in ledger.entries(connection, job_id=job.id) if entry.name == EventName.STEP_FAILED
    ]
    begun = (entry.at for entry in reversed(told) if json.loads(entry.data).get("failures", 1) == 1)
    since = next(begun, None)
    return since is None or now - datetime.fromisoformat(since) < PATIENCE
