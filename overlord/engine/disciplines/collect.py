"""A call's session is over: what it changed becomes one commit of ours, without what lies outside its scope; nothing else is taken."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from minion.protocol import Report, Scope
from overlord.domain.disciplines.call import Call
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import SessionId, Sha
from overlord.domain.job import Job
from overlord.domain.session import MAX_LOSSES, Session, SessionVerdict, judge_ending, why_short
from overlord.domain.text.plain import plain_line
from overlord.engine.disciplines import answer, trainer
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import ending as endings
from overlord.failpoints import Failpoint
from overlord.store import jobs, sessions
from overlord.store.budgets import model_outages
from overlord.store.disciplines import calls


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What a session left."""

    head: Sha
    dropped: Sequence[str] = ()
    refused: str = ""


async def step(parts: Parts, job: Job, call: Call) -> Progress:
    """See whether the session is over, and take in what it leaves."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    if session is None:
        return await _lost(parts, job, call, "its session left no trace")
    over = await endings.over(parts, session)
    if over is None:
        return Progress.IDLE
    verdict = judge_ending(over.session, over.ending)
    if verdict is SessionVerdict.LOST and job.losses < MAX_LOSSES:
        return await _lost(parts, job, call, str(over.ending.kind), over)
    if verdict is not SessionVerdict.SUBMITTED:
        return await _stopped_short(parts, job, call, over)
    if call.discipline is DisciplineName.TRAINER and trainer.is_reader(over.session):
        return await trainer.read(parts, job, call, over)
    change = await _collected(parts, job, call, over.session)
    if change.refused:
        return await answer.failed(parts, job, call, change.refused, over)

    def settle(connection: sqlite3.Connection) -> None:
        endings.close(connection, parts, over)
        sessions.mark(connection, over.session.id, dropped=tuple(change.dropped), taken_sha=change.head)
        data: dict[str, Json] = {
            "session": over.session.id,
            "head": change.head,
            "ending": over.ending.kind,
            "dropped": list(change.dropped),
        }
        at = parts.clock.now()
        jobs.move(
            connection, job.id, EventName.WORK_SUBMITTED, at=at, data=data, head_sha=change.head, losses=0
        )
        calls.stage(connection, call.id, "the result is verified")

    await parts.database.write(Failpoint.CALL_COLLECTED, settle)
    return Progress.MOVED


async def _stopped_short(parts: Parts, job: Job, call: Call, over: endings.Over) -> Progress:
    """A worker that gave no result: whoever called is told why."""
    report = over.session.report
    outage = await parts.database.read(lambda c: model_outages.of_session(c, over.session.id))
    if outage is not None:
        why = outage.verdict(parts.clock.now()).splitlines()[0]
    else:
        why = why_short(over.session, over.ending)
        if isinstance(report, Report) and report.summary:
            why = f"{why} Its last words: {plain_line(report.summary, limit=600)}"
    return await answer.failed(parts, job, call, f"The worker gave no result. {why}", over)


async def _lost(parts: Parts, job: Job, call: Call, how: str, over: endings.Over | None = None) -> Progress:
    """A session that infrastructure lost is begun again, a few times."""
    if job.losses >= MAX_LOSSES:
        return await answer.failed(
            parts, job, call, f"Its session was lost {job.losses + 1} times ({how}).", over
        )

    def write(connection: sqlite3.Connection) -> None:
        if over is not None:
            endings.close(connection, parts, over)
        data: dict[str, Json] = {
            "session": over.session.id if over else "",
            "ending": how,
            "head": None,
            "dropped": [],
        }
        reason = f"a session was lost ({how}); this is start {job.losses + 2}"
        jobs.move(
            connection,
            job.id,
            EventName.SESSION_LOST,
            at=parts.clock.now(),
            data=data,
            losses=job.losses + 1,
            reason=reason,
        )
        calls.stage(connection, call.id, reason)

    await parts.database.write(Failpoint.LOSS_NOTED, write)
    return Progress.MOVED


async def _collected(parts: Parts, job: Job, call: Call, session: Session) -> _Change:
    """One commit over what the session pushed; the base where it changed nothing, or may change nothing."""
    writes = call.kind.writes or call.discipline is DisciplineName.TRAINER
    identifier = SessionId(session.id)
    tree = await parts.git.session_tree(identifier, session.branch) if writes else None
    if tree is None or tree == await parts.git.tree_of(job.space, job.base):
        return _Change(head=job.base)
    if excess := await parts.git.excess(identifier, tree=tree, parent=job.base):
        return _Change(head=job.base, refused=f"What it wrote is too large to be judged: {excess}.")
    message, at = (
        f"{plain_line(job.issue.title, limit=60)}\n\nCall {call.ref}, session {session.id}.",
        session.prepared_at,
    )
    head = await parts.git.canonical_commit(
        job.space, identifier, tree=tree, parent=job.base, message=message, at=at
    )
    scope = Scope.parse(session.scope)
    changes = await parts.git.changes(job.space, job.base, head)
    outside = sorted({path for change in changes for path in change.paths if not scope.allows(path)})
    if outside:
        head = await parts.git.drop(
            job.space, head, base=job.base, paths=outside, parent=job.base, message=message, at=at
        )
    if await parts.git.tree_of(job.space, head) == await parts.git.tree_of(job.space, job.base):
        head = job.base
    return _Change(head=head, dropped=outside)
