"""Now: what each session does, what is queued and why, what is in trouble."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from minion.protocol import NATIVE
from overlord.domain.budgets.budget import Cost, Unit, cost_text, usd_text
from overlord.domain.conversation.pull_card import state_of
from overlord.domain.evaluation import CheckResult
from overlord.domain.inquiry import Cap, JobView, Queue, Status
from overlord.domain.job import Job, JobState
from overlord.domain.session import Session, with_models
from overlord.entrypoints.web.pages import health
from overlord.entrypoints.web.pages.health import HealthLine, Known
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.store.checks import evaluations

AT_WORK = frozenset({JobState.RUNNING, JobState.EVALUATING, JobState.DELIVERING})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCard:
    """A job that is worked on now."""

    job: Job
    state: str
    role: str
    agent: str
    """The coding agent of its session and its model; empty for the native one."""
    session: Session | None
    doing: str
    checks: tuple[CheckResult, ...]
    """Of its last evaluation."""
    cost: str
    budget: str
    """What it may spend; empty where nothing caps it."""
    spent: int
    """Of its budget, in percent."""
    began_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """The page."""

    cards: tuple[JobCard, ...]
    others: tuple[JobView, ...]
    """Open jobs that are at rest: waiting for people, in review."""
    queue: Queue
    status: Status
    health: tuple[HealthLine, ...]
    today: str


def now(look: Look, known: Known, sees: Iterable[str] = ()) -> Now:
    """Of the repositories that somebody `sees`; empty for all."""
    seen = frozenset(sees)
    found = overview.status(look.connection, look.settings, at=look.at)
    open_jobs = [view.job for view in found.jobs]
    queue = overview.queue(look.connection, look.settings, at=look.at, open_jobs=open_jobs)
    views = [view for view in found.jobs if not seen or view.job.space in seen]
    at_work = [view for view in views if view.job.state in AT_WORK]
    return Now(
        cards=tuple(_card(look, view) for view in at_work),
        others=tuple(v for v in views if v.job.state in {JobState.WAITING, JobState.IN_REVIEW}),
        queue=Queue(
            at=queue.at,
            jobs=tuple(item for item in queue.jobs if not seen or item.job.space in seen),
            running=queue.running,
            most=queue.most,
            pauses=(),
        ),
        status=found if not seen else _only(found, seen),
        health=health.lines(look, found, known, seen),
        today=cost_text(found.today) if not seen else "",
    )


def _only(found: Status, seen: frozenset[str]) -> Status:
    """What of it is about these repositories."""
    return replace(
        found,
        poll_errors=tuple(item for item in found.poll_errors if item.name in seen),
        pauses=tuple(pause for pause in found.pauses if pause.space in seen),
        outages=(),
        settings=(),
    )


def _card(look: Look, view: JobView) -> JobCard:
    job, session = view.job, view.session
    judged = evaluations.history(look.connection, job)
    caps = overview.job_cost(look.connection, look.settings, job.id, at=look.at).caps
    cap = caps[0] if caps else None
    return JobCard(
        job=job,
        state=state_of(job),
        role=_role(session),
        agent=_agent(session),
        session=session,
        doing=view.doing,
        checks=judged[-1].checks if judged else (),
        cost=_spent(view.cost),
        budget=_limit(cap) if cap is not None else "",
        spent=min(100, round(100 * cap.spending.spent / max(cap.spending.limit, 1)))
        if cap is not None
        else 0,
        began_at=(session.started_at if session is not None else None) or job.updated_at,
    )


def _role(session: Session | None) -> str:
    if session is None:
        return ""
    return str(json.loads(session.brief).get("role") or session.kind)


def _agent(session: Session | None) -> str:
    if session is None or session.agent == NATIVE:
        return ""
    return with_models(session.agent, [session.asks_model])


def _spent(cost: Cost) -> str:
    return usd_text(cost.nusd) if cost.nusd is not None else f"{cost.tokens:,} tokens"


def _limit(cap: Cap) -> str:
    limit = cap.spending.limit
    return usd_text(limit) if cap.budget.unit is Unit.USD else f"{limit:,} tokens"
