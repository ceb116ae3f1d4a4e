"""The brief of a work session: the issue with what people said since, the scope, and in a revision or a round the findings it is to
fix, what was tried before, answers and messages."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from minion.protocol import Answer, Finding, Limits, Message, PortfolioBrief, Report, SessionKind
from overlord.domain.budgets.budget import NANO, Unit
from overlord.domain.contracts.asked import Asked, read_asked
from overlord.domain.contracts.contract import Role
from overlord.domain.contracts.turn import Turn
from overlord.domain.evaluation import Verdict
from overlord.domain.identifiers import Sha
from overlord.domain.job import Job
from overlord.domain.scope.named_files import files_named_in
from overlord.domain.scope.reason import lines
from overlord.domain.session import Session, prepared
from overlord.domain.skills.match import Chosen
from overlord.engine.contracts import consult, mcp_servers, terms
from overlord.engine.conversation import issue_comments
from overlord.engine.knowledge import recall
from overlord.engine.portfolio import told
from overlord.engine.runtime.parts import Parts
from overlord.engine.scope.allow import Allowed
from overlord.engine.sessions import agent_choice, capacity, launcher, untested
from overlord.engine.sessions.guidance import guidance
from overlord.engine.skills import select_skills
from overlord.settings.model import BudgetLimits
from overlord.store import decisions, sessions
from overlord.store.budgets import exchanges, grants
from overlord.store.checks import evaluations
from overlord.store.contracts import job_contracts
from overlord.store.conversation import follow_ups, steering


async def worker(parts: Parts, job: Job) -> tuple[str, Role]:
    """Who works in the job's next session: the role's name, and what the contract says of it."""
    works = _works(await parts.turn_of(job), read_asked(job.consultation))
    return works.role_name, works.role


def _works(turn: Turn, asked: Asked | None) -> Turn:
    return turn if asked is None else Turn.in_phase(turn.contract, turn.phase_name, asked.role)


class Given(NamedTuple):
    """What a session is given beside its job: decided before it is described."""

    writable: Allowed
    hints: untested.Guidance
    layer: str
    agent: agent_choice.Chosen


async def work_session(
    parts: Parts, job: Job, given: Given, *, branch: str, base: Sha
) -> tuple[Session, Chosen]:
    """A session of a role on a job, and the skills it is offered."""
    turn, asked = await parts.turn_of(job), read_asked(job.consultation)
    known = await parts.database.read(lambda c: _context(c, job, turn))
    works = _works(turn, asked)
    limits = _limits(parts, job, works, known)
    tokens, nusd = _caps(parts.settings.space(job.space).budget, works, known)
    scope = given.writable.scope if asked is None else consult.NOTHING
    listing = await parts.git.listing(job.space, base)
    named = files_named_in(job.issue, listing)
    about = {*named, *(item.file for item in known.findings if item.file)}
    chosen = await select_skills.skills_for(parts, job, base, listing, files=about, scope=scope)
    brief = replace(
        launcher.described(
            job,
            SessionKind.WORK,
            known.ordinal,
            role=works.role_name,
            base=base,
            head=job.head_sha or base,
            scope=scope,
            limits=limits,
        ),
        branch=branch,
        issue=await issue_comments.with_later_comments(parts, job) if known.is_later else job.issue,
        model=works.role.model or "default",
        guidance=await guidance(parts, job, base, listing),
        named_files=named,
        skills=tuple(skill.text_offered for skill in chosen.offered),
        traced=parts.settings.tracing.is_on,
        terms=await terms.terms_of(parts, job, works, base, asked),
        agent=given.agent.agent,
        **_said(known, given, is_asked=asked is not None),
        portfolio=await _portfolio(parts, job, base, listing) if asked is None else None,
        mcp=mcp_servers.offered(parts.settings.space(job.space).mcp, works, asked),
    )
    session = prepared(
        brief,
        job.id,
        at=parts.clock.now(),
        layer=given.layer,
        time_limit_s=limits.time_s,
        token_budget=tokens,
        nusd_budget=nusd,
        model=given.agent.model,
    )
    return session, chosen


async def _portfolio(parts: Parts, job: Job, base: Sha, listing: Mapping[str, str]) -> PortfolioBrief | None:
    """Where its initiative stands, where it is of one, and what was learned."""
    return await recall.with_notes(
        parts, job, await told.portfolio_brief(parts, job), base=base, listing=listing
    )


def _said(known: "_Context", given: Given, *, is_asked: bool) -> dict[str, Any]:
    """What was found, answered and said so far, as the brief has it; one that is asked a question is told no findings."""
    return {
        "scope_reasons": () if is_asked else lines(given.writable.reasons),
        "findings": () if is_asked else known.findings,
        "answers": (*known.answers, *given.hints.answers),
        "messages": known.messages,
        "tried": known.tried,
    }


def _findings(connection: sqlite3.Connection, job: Job, judged: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What a session is to fix: what its round is about, and once that was tried what the judge held against it."""
    asked = tuple(item.finding for item in follow_ups.of_round(connection, job))
    return (*asked, *judged) if job.revision or not asked else asked


def _judged(connection: sqlite3.Connection, job: Job, turn: Turn) -> tuple[Finding, ...]:
    """What the last evaluation found; of another role's work, or of work that passed, nothing."""
    past = evaluations.history(connection, job)
    if not past:
        return ()
    if not turn.contract.keeps_misses:
        last = sessions.last_of(connection, job.id, SessionKind.WORK)
        is_own = last is not None and terms.is_own(terms.brief_of(last), job)
        if past[-1].overall is Verdict.PASS or not is_own:
            return ()
    return past[-1].findings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    ordinal: int
    findings: tuple[Finding, ...]
    answers: tuple[Answer, ...]
    messages: tuple[Message, ...]
    tried: tuple[str, ...]
    added_tokens: int
    added_nusd: int
    spent_nusd: int
    is_own_contract: bool
    """Whether the repository wrote the contract: then it can lower what the settings allow, and not raise it."""

    @property
    def is_later(self) -> bool:
        """Whether the job has had a session, or an answer, so that people may have said more since it began."""
        return self.ordinal > 1 or bool(self.answers)


def _context(connection: sqlite3.Connection, job: Job, turn: Turn) -> _Context:
    row = job_contracts.get(connection, job.id)
    return _Context(
        ordinal=sessions.count(connection, job.id, SessionKind.WORK) + 1,
        findings=_findings(connection, job, _judged(connection, job, turn)),
        answers=decisions.answers_for_brief(connection, job.id),
        messages=steering.for_brief(connection, job.id),
        tried=_tried(connection, job, turn),
        added_tokens=grants.added(connection, Unit.TOKENS, job_id=job.id),
        added_nusd=grants.added(connection, Unit.USD, job_id=job.id),
        spent_nusd=exchanges.job_cost(connection, job.id) or 0,
        is_own_contract=row is not None and row.is_own,
    )


def _tried(connection: sqlite3.Connection, job: Job, turn: Turn) -> tuple[str, ...]:
    """What earlier sessions said they did: under a contract of version 2 those of this role in this phase."""
    if turn.contract.keeps_misses:
        return sessions.summaries(connection, job.id)
    work = (item for item in sessions.of_job(connection, job.id) if item.kind is SessionKind.WORK)
    reports = (item.report for item in work if terms.is_own(terms.brief_of(item), job))
    return tuple(report.summary for report in reports if isinstance(report, Report) and report.summary)


def _limits(parts: Parts, job: Job, turn: Turn, known: _Context) -> Limits:
    """A session's limits: the role's numbers or the settings', the lower ones where a repository wrote the contract."""
    budget, usual = turn.budget, capacity.limits_of(parts, job.space)
    turns, time_s = budget.turns or usual.turns, budget.time_s or usual.time_s
    if known.is_own_contract:
        turns, time_s = min(turns, usual.turns), min(time_s, usual.time_s)
    return replace(usual, turns=turns, time_s=time_s)


def _caps(settings: BudgetLimits, turn: Turn, known: _Context) -> tuple[int, int | None]:
    """What a session may spend, in tokens and nano-dollars: the role's numbers or the settings', and what people added; no more
    than the contract's lifetime has left."""
    budget, lifetime = turn.budget, turn.contract.lifetime
    tokens, usd = budget.tokens or settings.session_tokens, budget.usd or settings.session_usd
    if known.is_own_contract:
        tokens = min(tokens, settings.session_tokens)
        usd = min(usd, settings.session_usd) if usd and settings.session_usd else usd
    nusd = round(usd * NANO) + known.added_nusd if usd else None
    if lifetime is not None and lifetime.usd is not None:
        left = round(lifetime.usd * NANO) + known.added_nusd - known.spent_nusd
        nusd = max(left if nusd is None else min(nusd, left), 1)
    return tokens + known.added_tokens, nusd
