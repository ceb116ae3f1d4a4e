"""Whose books a model's words go on that no session of a Minion asked for: a session of its own, which runs nowhere and has no
door, with the budgets of its job's space."""

from minion.protocol import Scope, SessionKind
from overlord.domain.budgets.budget import NANO
from overlord.domain.job import Job
from overlord.domain.retention_item import TRANSCRIPT
from overlord.domain.search import SpokenText
from overlord.domain.session import Session, SessionState, session_id
from overlord.domain.transcript_text import spoken
from overlord.engine.runtime.parts import Parts
from overlord.failpoints import Failpoint
from overlord.store import sessions
from overlord.store.evidence import EvidenceFile


async def of_draft(parts: Parts, job: Job, number: int) -> Session:
    """The account of one draft, however often it is tried. Several may be on one job at once, so it is found by the draft's number."""
    kind, name = SessionKind.DRAFT, session_id(job.id, SessionKind.DRAFT, number)
    known = await parts.database.read(lambda c: sessions.of_job(c, job.id))
    found = next((session for session in known if session.id == name), None)
    if found is None:
        found = row(parts, job, kind, number)
        await parts.database.write(Failpoint.DRAFT_PREPARED, lambda c: sessions.prepare(c, found))
    return found


def row(parts: Parts, job: Job, kind: SessionKind, ordinal: int) -> Session:
    """A session that runs nowhere, with the budgets of the job's space: what it costs is on the books like all else."""
    budget = parts.settings.space(job.space).budget
    return Session(
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
        prepared_at=parts.clock.now(),
        ending="no container",
        # A draft's is cleared away once it is written; nothing else tells how long it is needed.
        cleared=kind is SessionKind.DRAFT,
    )


def transcript(parts: Parts, session: Session) -> tuple[EvidenceFile, tuple[SpokenText, ...]] | None:
    """What was asked and answered, already redacted, and what is found in it."""
    path = parts.home.transcript(session.id)
    if not path.exists():
        return None
    content = path.read_bytes()
    file = EvidenceFile(
        job_id=session.job_id,
        session_id=session.id,
        kind=TRANSCRIPT,
        sha256=parts.evidence.put(content),
        size=len(content),
        at=parts.clock.now(),
    )
    return file, spoken(content)
