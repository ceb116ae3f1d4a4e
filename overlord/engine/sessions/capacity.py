"""Whether one more session may be started now, and within which limits."""

import sqlite3

from minion.protocol import Limits
from overlord.domain.job import Job, JobId, JobState
from overlord.domain.text.plain import count
from overlord.engine.runtime.parts import Parts
from overlord.store import jobs, sessions
from overlord.store.portfolio import initiatives
from overlord.store.spaces import pauses, spaces


def for_one_more(connection: sqlite3.Connection, parts: Parts, job: Job) -> bool:
    """Whether the job's space goes on and fewer sessions run than may."""
    is_paused = spaces.get(connection, job.space).paused or pauses.over(connection, job.space) is not None
    return not is_paused and is_left(connection, parts, job.space)


def note_paused(connection: sqlite3.Connection, job_id: JobId) -> bool:
    """Let people see whose pause a queued job waits for, if it does; whether that is news."""
    job = jobs.get(connection, job_id)
    pause = pauses.over(connection, job.space)
    if pause is None or job.state is not JobState.QUEUED or job.reason == pause.describe():
        return False
    jobs.repair(connection, job_id, reason=pause.describe())
    return True


def for_a_pull(connection: sqlite3.Connection, parts: Parts, job: Job) -> bool:
    """Whether a job has a pull request or brings none, or another one may be open in its space beside those there are or will be."""
    if (
        job.pull_number is not None
        or job.call_number is not None
        or job.id in initiatives.planning_jobs(connection)
    ):
        return True
    return (
        jobs.pulls_taken(connection, job.space, without=job.id)
        < parts.settings.space(job.space).delivery.open_pulls
    )


def no_pull_left(parts: Parts, space: str) -> str:
    """What people are told of a job that waits for others' pull requests."""
    most = parts.settings.space(space).delivery.open_pulls
    return f"It waits: no more than {count(most, 'pull request')} of Overlord's may be open or in the making here at once."


def is_left(connection: sqlite3.Connection, parts: Parts, space: str) -> bool:
    """Whether fewer sessions run than may, in all and in this space; what a paused one has begun is judged all the same."""
    running = sessions.running_by_space(connection)
    return (
        sum(running.values()) < parts.settings.sessions.concurrent
        and running.get(space, 0) < parts.settings.space(space).sessions.concurrent
    )


def limits_of(parts: Parts, space: str, *, turns: int | None = None, time_s: int | None = None) -> Limits:
    """A session's limits: the role's own numbers, else the settings'."""
    own = parts.settings.space(space)
    settings, questions = own.sessions, own.questions
    return Limits(
        turns=turns or settings.turns,
        time_s=time_s or settings.time_s,
        silent_s=settings.silent_s,
        tool_errors=settings.tool_errors,
        command_s=settings.command_s,
        context_tokens=settings.context_tokens,
        questions=questions.per_session,
        question_wait_s=questions.wait_s,
    )
