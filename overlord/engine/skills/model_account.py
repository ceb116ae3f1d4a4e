"""Whose books a model's words go on that no session of a Minion asked for: a session of its own, which runs nowhere and has no
door, with the budgets of its job's space."""

from dataclasses import replace
from datetime import datetime

from minion.protocol import Scope, SessionKind
from overlord.domain.budgets.budget import NANO
from overlord.domain.job import Job
from overlord.domain.session import Session, SessionState, session_id
from overlord.engine.runtime.parts import Parts
from overlord.failpoints import Failpoint
from overlord.store import sessions
from overlord.store.evidence import EvidenceFile


async def of_review(parts: Parts, job: Job, *, since: datetime) -> Session:
    """The account of one evaluation's review, however often it is tried: the one that was opened at `since` or later, or a new one."""
    kind = SessionKind.REVIEW
    last = await parts.database.read(lambda c: sessions.last_of(c, job.id, kind))
    if last is not None and last.prepared_at >= since:
        return last
    ordinal = await parts.database.read(lambda c: sessions.count(c, job.id, kind)) + 1
    return await _opened(parts, job, kind, ordinal, Failpoint.REVIEW_PREPARED)


async def of_draft(parts: Parts, job: Job, number: int) -> Session:
    """The account of one draft, however often it is tried. Several may be on one job at once, so it is found by the draft's number."""
    kind, name = SessionKind.DRAFT, session_id(job.id, SessionKind.DRAFT, number)
    known = await parts.database.read(lambda c: sessions.of_job(c, job.id))
    found = next((session for session in known if session.id == name), None)
    return found or await _opened(parts, job, kind, number, Failpoint.DRAFT_PREPARED)


async def _opened(parts: Parts, job: Job, kind: SessionKind, ordinal: int, point: Failpoint) -> Session:
    at, budget = parts.clock.now(), parts.settings.space(job.space).budget
    session = Session(
        id=session_id(job.id, kind, ordinal),
        job_id=job.id,
        kind=kind,
        state=SessionState.ENDED,
        brief="",
        scope=Scope.unrestricted().to_json(),
        branch=job.branch,
        token_budget=budget.session_tokens,
        nusd_budget=round(budget.session_usd * NANO) if budget.session_usd else None,
        time_limit_s=0,
        prepared_at=at,
        ending="no container",
    )
    # A draft's is cleared away once it is written; nothing else tells how long it is needed.
    session = replace(session, cleared=kind is SessionKind.DRAFT)
    await parts.database.write(point, lambda c: sessions.prepare(c, session))
    return session


def transcript(parts: Parts, session: Session) -> EvidenceFile | None:
    """What was asked and answered, already redacted."""
    path = parts.home.transcript(session.id)
    if not path.exists():
        return None
    content = path.read_bytes()
    return EvidenceFile(
        job_id=session.job_id,
        session_id=session.id,
        kind="transcript",
        sha256=parts.evidence.put(content),
        size=len(content),
        at=parts.clock.now(),
    )
