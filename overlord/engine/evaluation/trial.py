"""A trial of the judge on a base commit, without a change and without a model: could Overlord judge work here?

It is on the books as a job that is closed from the start, so that a daemon that finds its remains only clears them up.
"""

import sqlite3
from dataclasses import dataclass

from minion.protocol import CheckReport, Issue, SessionKind
from overlord.domain.checks.file import ChecksFileError
from overlord.domain.checks.trial import Trial, judge_trial, plan_trial
from overlord.domain.event import EventName
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job
from overlord.domain.session import Session, SessionState
from overlord.engine.evaluation import check
from overlord.engine.runtime.parts import Parts
from overlord.engine.sessions import collect, environment, setup
from overlord.engine.sessions import ending as endings
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.engine.sessions.evaluation_input import checks_of, lint_configuration_at_base
from overlord.errors import RunnerRefused
from overlord.failpoints import Failpoint
from overlord.store import jobs, sessions

ISSUE_NUMBER = 0
"""No issue has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the trial could not be made: for people."""

    why: str


async def begin(parts: Parts, name: RepositoryName, branch: str, base: Sha, *, actor: str) -> Job:
    """The job the trial's sessions belong to."""
    issue = Issue(number=ISSUE_NUMBER, title="A trial of the checks", body="", author=actor)

    def write(connection: sqlite3.Connection) -> Job:
        at = parts.clock.now()
        job = jobs.claim(
            connection, space=name, issue=issue, base_branch=branch, contract=parts.contract(name), at=at
        )
        assert job is not None  # nothing keeps an open job of this number
        reason = "a trial needs no work"
        closed = jobs.move(
            connection, job.id, EventName.STOPPED, at=at, actor=actor, data={"reason": reason}, reason=reason
        )
        return jobs.repair(connection, job.id, base_sha=base, head_sha=base, projected=closed.state)

    return await parts.database.write(Failpoint.TRIAL_BEGUN, write)


async def free(parts: Parts) -> None:
    """Take from those whose process is gone what they still hold: no other works here while a trial does. Work that was
    interrupted goes on where somebody resumes it, but an environment nobody is making would be waited for for ever.
    """
    for job in await parts.database.read(jobs.with_remains):
        await clear(parts, job)
    for session in await parts.database.read(sessions.live):
        if session.kind is SessionKind.SETUP:
            await collect.abandon(parts, session)


async def step(parts: Parts, job: Job) -> Trial | Refusal | None:
    """Bring the trial one step on; None until it is over."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    try:
        if session is None:
            return await _prepare(parts, job)
        if session.kind is SessionKind.SETUP:
            await setup.advance(parts, job, session)
            return None
        return await _advance(parts, job, session)
    except (EnvironmentFailed, ChecksFileError, RunnerRefused) as error:
        return Refusal(why=str(error))


async def _prepare(parts: Parts, job: Job) -> Refusal | None:
    past = await parts.database.read(lambda c: sessions.last_of(c, job.id, SessionKind.CHECK))
    if past is not None:
        return Refusal(why=f"the check session ended before it could be read ({past.ending})")
    layer = await setup.ensure(parts, job, await environment.need_of(parts, job, job.base))
    if layer is None:
        return None
    limits = parts.settings.space(job.space).checks
    steps = plan_trial(
        await checks_of(parts, job),
        await lint_configuration_at_base(parts, job),
        tests_s=limits.tests_s,
        lint_s=limits.lint_s,
    )
    if await check.prepare(parts, job, steps, layer):
        parts.notify()
    return None


async def _advance(parts: Parts, job: Job, session: Session) -> Trial | None:
    if session.state is SessionState.PREPARED:
        await check.start(parts, job, session)
        return None
    over = await endings.over(parts, session)
    if over is None:
        return None
    await parts.database.write(Failpoint.TRIAL_ENDED, lambda c: endings.close(c, parts, over))
    report = over.session.report if isinstance(over.session.report, CheckReport) else None
    return judge_trial(report, over.ending, await checks_of(parts, job))


async def clear(parts: Parts, job: Job) -> None:
    """End what still runs of it, and free what its sessions held."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    if session is not None:
        await collect.abandon(parts, session)
    for left in await parts.database.read(lambda c: sessions.of_job(c, job.id)):
        if not left.cleared:
            await endings.clear(parts, left)
