"""QUEUED → RUNNING: contract → role → scope → brief; the session's row is written, its session API opens, the runner starts."""

import sqlite3
from collections.abc import Sequence
from functools import partial

from minion.protocol import NATIVE, Scope, ScopeError, SessionKind
from overlord.domain.budgets.budget import NANO, Unit
from overlord.domain.contracts.asked import read_asked
from overlord.domain.decision import Subject
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job, JobChanges, branch_name
from overlord.domain.session import Session
from overlord.engine.contracts import begin, take
from overlord.engine.conversation import edited_issue
from overlord.engine.portfolio import lead_job
from overlord.engine.runtime.early_fetch import Heads
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.scope import approve
from overlord.engine.scope.allow import Allowed, allowed
from overlord.engine.sessions import (
    agent_choice,
    apply_answers,
    brief,
    capacity,
    environment,
    launcher,
    lost_work,
    setup,
    untested,
)
from overlord.engine.sessions import existing_work as found
from overlord.engine.sessions.agent_choice import Chosen
from overlord.engine.sessions.brief import Given
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.engine.sessions.lost_work import AskPerson
from overlord.engine.sessions.preconditions import Wait, first_wait
from overlord.engine.skills import select_skills
from overlord.errors import AgentUnknown, ContractError, GitFailed, RunnerRefused
from overlord.failpoints import Failpoint
from overlord.store import jobs, sessions
from overlord.store.budgets import exchanges, grants
from overlord.store.conversation import steering
from overlord.store.portfolio import escalations


async def step(parts: Parts, job: Job) -> Progress:
    """Prepare a session for a queued job if there is room for one, then start it once its session API is open."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    try:
        if session is None:
            return await _prepare_work(parts, job)
        if session.kind is SessionKind.SETUP:
            return await setup.advance(parts, job, session)
    except EnvironmentFailed as error:
        return await _refuse(parts, job, Subject.ENVIRONMENT, str(error))
    try:
        return Progress.of(
            await launcher.start(
                parts, job, session, Failpoint.WORK_STARTED, note=partial(_note_started, parts, job, session)
            )
        )
    except RunnerRefused as error:
        return await _refuse(parts, job, Subject.DISPATCH_REFUSED, str(error))
    except EnvironmentFailed as error:
        return await _refuse(parts, job, Subject.ENVIRONMENT, str(error))


def _note_started(parts: Parts, job: Job, session: Session, connection: sqlite3.Connection) -> None:
    data: dict[str, Json] = {"session": session.id, "may_write": Scope.parse(session.scope).describe()}
    data |= {} if session.agent == NATIVE else {"agent": session.agent, "model": session.asks_model}
    jobs.move(connection, job.id, EventName.SESSION_STARTED, at=parts.clock.now(), data=data)


async def _prepare_work(parts: Parts, job: Job) -> Progress:
    if (wait := await first_wait(parts, job)) is not None:
        return Progress.of(wait is Wait.NEWS)
    base, heads = await _base(parts, job)
    if base is None:
        body = (
            f"{job.space} has no branch {job.base_branch} with commits. Push a first commit, then try again."
        )
        return await _refuse(parts, job, Subject.EMPTY_REPOSITORY, body)
    kept = await lost_work.go_back(parts, job)
    if isinstance(kept, AskPerson):
        return await _refuse(parts, job, Subject.DISPATCH_REFUSED, kept.body)
    job = kept
    taken = found.is_to_look(job) and await _head(parts, job, heads, job.branch) is not None
    if taken and (question := await found.question(parts, job)):
        return await _refuse(parts, job, Subject.FOUND_WORK, question)
    branch = job.branch if job.base_sha and not taken else await _free_branch(parts, job, heads)
    try:
        job = await take.ensure(parts, job, base)
        base = (job.base_sha if job.head_sha else None) or base  # one that mends another begins on its work
        job = await begin.ensure(parts, job, base)
        writable = await allowed(parts, job, base=base)
        agent = await _agent(parts, job)
    except (ContractError, AgentUnknown) as error:
        return await _refuse(parts, job, Subject.DISPATCH_REFUSED, str(error))
    except ScopeError as error:
        return await _refuse(parts, job, Subject.DISPATCH_REFUSED, f"The scope does not parse: {error}")
    if await _is_spent(parts, job):
        return Progress.MOVED
    if writable.needs_approval:
        return await approve.ask_first(parts, job, writable, base)
    if (is_news := await untested.ask_first(parts, job, base)) is not None:
        return Progress.of(is_news)
    hints = await untested.guidance_for(parts, job, base)
    job = await _begun_at(parts, job, base, branch)
    layer = await setup.ensure(parts, job, await environment.allowed(parts, job, base))
    if layer is None:
        return Progress.IDLE
    return await _prepare_session(parts, job, base, branch, Given(writable, hints, layer, agent))


async def _agent(parts: Parts, job: Job) -> Chosen:
    """Who works in the next session. Raises AgentUnknown."""
    role_name, role = await brief.worker(parts, job)
    answers = read_asked(job.consultation) is not None or await lead_job.is_ours(parts, job)
    is_walled = parts.runner.capabilities.isolates_files
    return agent_choice.chosen(parts.settings, job, role, role_name, is_walled=is_walled, needs_tools=answers)


async def _prepare_session(parts: Parts, job: Job, base: Sha, branch: str, given: Given) -> Progress:
    writable, hints = given.writable, given.hints
    described = given._replace(writable=_with_hints(job, writable, hints))
    session, chosen = await brief.work_session(parts, job, described, branch=branch, base=base)

    def may(connection: sqlite3.Connection) -> bool:
        now = jobs.get(connection, job.id)
        is_free = capacity.for_one_more(connection, parts, job) and capacity.for_a_pull(
            connection, parts, job
        )
        is_as_read = (now.state, now.issue) == (job.state, job.issue)
        return is_free and is_as_read and not edited_issue.is_to_ask(connection, now)

    def note(connection: sqlite3.Connection) -> None:
        jobs.repair(connection, job.id, reason="")
        select_skills.note(connection, job, session, chosen)
        untested.note(connection, job, hints, writable.scope, at=session.prepared_at)
        steering.note_briefed(connection, session)
        escalations.note_briefed(connection, session)

    is_prepared = await launcher.prepare(
        parts, job, session, Failpoint.WORK_PREPARED, may=may, note=note, agent_by=given.agent.by
    )
    return Progress.of(is_prepared)


def _with_hints(job: Job, writable: Allowed, hints: untested.Guidance) -> Allowed:
    """What may be written to bring tests as well, where no role of a contract says who writes them."""
    return writable if job.role else hints.widened(writable)


async def _is_spent(parts: Parts, job: Job) -> bool:
    """Whether a job has used up what its contract gives it for all its life; then it fails."""

    def end(connection: sqlite3.Connection) -> bool:
        lifetime = parts.contract_of(connection, job).lifetime
        added = grants.added(connection, Unit.USD, job_id=job.id)
        spent = exchanges.job_cost(connection, job.id) or 0
        if lifetime is None or lifetime.usd is None or spent < round(lifetime.usd * NANO) + added:
            return False
        reason = f"the ${lifetime.usd:g} that its contract gives it for its lifetime are spent"
        jobs.move(connection, job.id, EventName.LIFETIME_EXCEEDED, at=parts.clock.now(), reason=reason)
        return True

    return await parts.database.write(Failpoint.JOB_EXPIRED, end)


async def _begun_at(parts: Parts, job: Job, base: Sha, branch: str) -> Job:
    """The job, with what it starts from and the branch its work is for written down."""
    if (base, branch) == (job.base_sha, job.branch):
        return job
    changes: JobChanges = {"base_sha": base, "branch": branch}
    return await parts.database.write(Failpoint.BASE_CHOSEN, lambda c: jobs.repair(c, job.id, **changes))


async def _base(parts: Parts, job: Job) -> tuple[Sha | None, Heads]:
    """The commit the job starts from, in a mirror that has all its session needs: where the base branch is now, until
    there is work on top of it; None when there is no such branch. And where the branches are that were asked for meanwhile."""
    name, known = job.space, job.base_sha if job.base_sha else None
    needed = [known, job.head_sha] if known and job.head_sha else []
    if needed and await _has(parts, name, needed):
        return known, {}
    heads = None if known else await _fetched_early(parts, job)
    if heads is None:
        remote = await parts.forge.remote(name)
        await parts.git.refresh_mirror(name, remote, branches=[job.base_branch], commits=needed[:1])
        branches = {job.base_branch, job.branch, branch_name(job.issue.number)}
        heads = await parts.git.branch_heads(name, branches)
    return known if job.head_sha else heads[job.base_branch] or known, heads


async def _fetched_early(parts: Parts, job: Job) -> Heads | None:
    """Where the branches were when they were fetched while the issue was claimed, if they were."""
    now = parts.clock.monotonic()
    return await parts.early_fetches.take(job.space, job.base_branch, job.issue.number, now=now)


async def _head(parts: Parts, job: Job, heads: Heads, branch: str) -> Sha | None:
    """Where a branch is in a fresh mirror."""
    return heads[branch] if branch in heads else await parts.git.branch_head(job.space, branch)


async def _has(parts: Parts, name: RepositoryName, commits: Sequence[Sha]) -> bool:
    """Whether the mirror has these commits."""
    try:
        for commit in commits:
            await parts.git.tree_of(name, commit)
    except GitFailed:
        return False
    return True


async def _free_branch(parts: Parts, job: Job, heads: Heads) -> str:
    """The first name of this job's that no branch at the forge has."""
    taken = 0
    while True:
        branch = branch_name(job.issue.number, taken)
        if await _head(parts, job, heads, branch) is None:
            return branch
        taken += 1


async def _refuse(parts: Parts, job: Job, subject: Subject, body: str) -> Progress:
    """No session can be started as things are: a person is asked."""
    await apply_answers.wait_for_person(
        parts, job, EventName.DISPATCH_REFUSED, subject, body, ending="never started"
    )
    return Progress.MOVED
