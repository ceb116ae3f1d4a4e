"""The brief of a work session: the issue with what people said since, the scope, and in a revision or a round the findings it is to
fix, what was tried before, answers and messages."""

import sqlite3
from dataclasses import dataclass, replace

from minion.protocol import Answer, Finding, Message, SessionKind
from overlord.domain.budgets.budget import NANO, Unit
from overlord.domain.contracts.contract import RoleBudget
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.scope.named_files import files_named_in
from overlord.domain.scope.reason import lines
from overlord.domain.session import Session, prepared
from overlord.domain.skills.match import Chosen
from overlord.engine.conversation import issue_comments
from overlord.engine.runtime.parts import Parts
from overlord.engine.scope.allow import Allowed
from overlord.engine.sessions import capacity, launcher, untested
from overlord.engine.sessions.guidance import guidance
from overlord.engine.skills import select_skills
from overlord.settings.model import BudgetLimits
from overlord.store import decisions, sessions
from overlord.store.budgets import grants
from overlord.store.checks import evaluations
from overlord.store.conversation import follow_ups, steering


async def work_session(
    parts: Parts, job: Job, *, branch: str, base: Sha, writable: Allowed, layer: str, hints: untested.Guidance
) -> tuple[Session, Chosen]:
    """A session of a role on a job, and the skills it is offered."""
    known = await parts.database.read(lambda c: _context(c, job))
    turn = await parts.turn_of(job)
    budget = turn.budget
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
            role=turn.role_name,
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


def _caps(settings: BudgetLimits, budget: RoleBudget, known: _Context) -> tuple[int, int | None]:
    """What a session may spend, in tokens and nano-dollars: the role's numbers or the settings', and what people added."""
    tokens, usd = budget.tokens or settings.session_tokens, budget.usd or settings.session_usd
    return tokens + known.added_tokens, round(usd * NANO) + known.added_nusd if usd else None
