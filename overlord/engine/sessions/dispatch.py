"""QUEUED → RUNNING: contract → role → scope → brief; the session's row is written, its door opens, the runner starts."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from minion.protocol import Answer, Finding, Message, Scope, ScopeError, SessionKind
from overlord.domain.budgets.budget import NANO, Unit
from overlord.domain.contracts.contract import SessionBudget
from overlord.domain.decision import Subject
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.job import Job, JobChanges, branch_name
from overlord.domain.scope.named_files import files_named_in
from overlord.domain.scope.reason import lines
from overlord.domain.session import Session, prepared
from overlord.domain.skills.match import Chosen
from overlord.engine.conversation import edited_issue, issue_comments
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.scope import approve
from overlord.engine.scope.allow import Allowed, allowed
from overlord.engine.sessions import apply_answers, capacity, environment, launcher, setup, untested
from overlord.engine.sessions import existing_work as found
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.engine.sessions.guidance import guidance
from overlord.engine.sessions.preconditions import Wait, first_wait
from overlord.engine.skills import select_skills
from overlord.errors import GitFailed, RunnerRefused
from overlord.failpoints import Failpoint
from overlord.settings.model import BudgetLimits
from overlord.store import decisions, jobs, sessions
from overlord.store.budgets import grants
from overlord.store.checks import evaluations
from overlord.store.conversation import follow_ups, steering


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
    jobs.move(connection, job.id, EventName.SESSION_STARTED, at=parts.clock.now(), data=data)


async def _prepare_work(parts: Parts, job: Job) -> Progress:
    if (wait := await first_wait(parts, job)) is not None:
        return Progress.of(wait is Wait.NEWS)
    base = await _base(parts, job)
    if base is None:
        body = (
            f"{job.space} has no branch {job.base_branch} with commits. Push a first commit, then try again."
        )
        return await _refuse(parts, job, Subject.EMPTY_REPOSITORY, body)
    taken = await found.is_taken(parts, job)
    if taken and (question := await found.question(parts, job)):
        return await _refuse(parts, job, Subject.FOUND_WORK, question)
    branch = job.branch if job.base_sha and not taken else await _free_branch(parts, job)
    try:
        writable = await allowed(parts, job, base=base)
    except ScopeError as error:
        return await _refuse(parts, job, Subject.DISPATCH_REFUSED, f"The scope does not parse: {error}")
    if writable.needs_approval:
        return await approve.ask_first(parts, job, writable, base)
    if (is_news := await untested.ask_first(parts, job, base)) is not None:
        return Progress.of(is_news)
    hints = await untested.guidance_for(parts, job, base)
    job = await _begun_at(parts, job, base, branch)
    layer = await setup.ensure(parts, job, await environment.allowed(parts, job, base))
    if layer is None:
        return Progress.IDLE
    session, chosen = await _work_session(
        parts, job, branch=branch, base=base, writable=hints.widened(writable), layer=layer, hints=hints
    )

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

    return Progress.of(
        await launcher.prepare(parts, job, session, Failpoint.WORK_PREPARED, may=may, note=note)
    )


async def _begun_at(parts: Parts, job: Job, base: Sha, branch: str) -> Job:
    """The job, with what it starts from and the branch its work is for written down."""
    if (base, branch) == (job.base_sha, job.branch):
        return job
    changes: JobChanges = {"base_sha": base, "branch": branch}
    return await parts.database.write(Failpoint.BASE_CHOSEN, lambda c: jobs.repair(c, job.id, **changes))


async def _base(parts: Parts, job: Job) -> Sha | None:
    """The commit the job starts from, in a mirror that has all its session needs: where the base branch is now, until
    there is work on top of it. None when there is no such branch."""
    name, known = job.space, job.base_sha if job.base_sha else None
    needed = [known, job.head_sha] if known and job.head_sha else []
    if needed and await _has(parts, name, needed):
        return known
    remote = await parts.forge.remote(name)
    await parts.git.refresh_mirror(name, remote, branches=[job.base_branch], commits=needed[:1])
    return known if job.head_sha else await parts.git.branch_head(name, job.base_branch) or known


async def _has(parts: Parts, name: RepositoryName, commits: Sequence[Sha]) -> bool:
    """Whether the mirror has these commits."""
    try:
        for commit in commits:
            await parts.git.tree_of(name, commit)
    except GitFailed:
        return False
    return True


async def _free_branch(parts: Parts, job: Job) -> str:
    """The first name of this job's that no branch at the forge has."""
    taken = 0
    while True:
        branch = branch_name(job.issue.number, taken)
        if await parts.git.branch_head(job.space, branch) is None:
            return branch
        taken += 1


async def _work_session(
    parts: Parts, job: Job, *, branch: str, base: Sha, writable: Allowed, layer: str, hints: untested.Guidance
) -> tuple[Session, Chosen]:
    known = await parts.database.read(lambda c: _context(c, job))
    contract = parts.contract(job.space)
    budget = contract.role_of(job.phase).budget or SessionBudget()
    limits = capacity.limits_of(parts, job.space, turns=budget.turns, time_s=budget.time_s)
    tokens, nusd = _caps(parts.settings.space(job.space).budget, budget, known)
    listing = await parts.git.listing(job.space, base)
    named = files_named_in(job.issue, listing)
    about = {*named, *(item.file for item in known.findings if item.file)}
    chosen = await select_skills.skills_for(parts, job, base, listing, files=about, scope=writable.scope)
    brief = replace(
        launcher.described(
            job,
            SessionKind.WORK,
            known.ordinal,
            role=contract.phase(job.phase).role,
            base=base,
            head=job.head_sha or base,
            scope=writable.scope,
            limits=limits,
        ),
        branch=branch,
        issue=await issue_comments.with_later_comments(parts, job) if known.is_later else job.issue,
        scope_reasons=lines(writable.reasons),
        findings=known.findings,
        answers=(*known.answers, *hints.answers),
        messages=known.messages,
        tried=known.tried,
        guidance=await guidance(parts, job, base),
        named_files=named,
        skills=tuple(skill.text_offered for skill in chosen.offered),
        traced=parts.settings.tracing.is_on,
    )
    session = prepared(
        brief,
        job.id,
        at=parts.clock.now(),
        layer=layer,
        time_limit_s=limits.time_s,
        token_budget=tokens,
        nusd_budget=nusd,
    )
    return session, chosen


def _findings(connection: sqlite3.Connection, job: Job, judged: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What a session is to fix: what its round is about, and once that was tried what the judge held against it."""
    asked = tuple(item.finding for item in follow_ups.of_round(connection, job))
    return (*asked, *judged) if job.revision or not asked else asked


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    ordinal: int
    findings: tuple[Finding, ...]
    answers: tuple[Answer, ...]
    messages: tuple[Message, ...]
    tried: tuple[str, ...]
    added_tokens: int
    added_nusd: int

    @property
    def is_later(self) -> bool:
        """Whether the job has had a session, or an answer, so that people may have said more since it began."""
        return self.ordinal > 1 or bool(self.answers)


def _context(connection: sqlite3.Connection, job: Job) -> _Context:
    past = evaluations.history(connection, job)
    return _Context(
        ordinal=sessions.count(connection, job.id, SessionKind.WORK) + 1,
        findings=_findings(connection, job, past[-1].findings if past else ()),
        answers=decisions.answers_for_brief(connection, job.id),
        messages=steering.for_brief(connection, job.id),
        tried=sessions.summaries(connection, job.id),
        added_tokens=grants.added(connection, Unit.TOKENS, job_id=job.id),
        added_nusd=grants.added(connection, Unit.USD, job_id=job.id),
    )


def _caps(settings: BudgetLimits, budget: SessionBudget, known: _Context) -> tuple[int, int | None]:
    """What a session may spend, in tokens and nano-dollars: the role's numbers or the settings', and what people added."""
    tokens, usd = budget.tokens or settings.session_tokens, budget.usd or settings.session_usd
    return tokens + known.added_tokens, round(usd * NANO) + known.added_nusd if usd else None


async def _refuse(parts: Parts, job: Job, subject: Subject, body: str) -> Progress:
    """No session can be started as things are: a person is asked."""
    await apply_answers.wait_for_person(
        parts, job, EventName.DISPATCH_REFUSED, subject, body, ending="never started"
    )
    return Progress.MOVED
