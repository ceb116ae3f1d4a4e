"""RUNNING → EVALUATING, QUEUED or WAITING: a session is over; its tree becomes one canonical commit of our own."""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from minion.protocol import Outcome, Report, Scope
from overlord.domain.checks.integrity import holds_secret
from overlord.domain.contracts.asked import Asked, read_asked
from overlord.domain.contracts.contract import BLOCKED
from overlord.domain.contracts.note import NoteKind
from overlord.domain.contracts.onward import leads_out
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, EvaluationResult
from overlord.domain.event import EventName, Json
from overlord.domain.identifiers import SessionId, Sha
from overlord.domain.job import Job
from overlord.domain.model_fault import ModelOutage
from overlord.domain.question import ask
from overlord.domain.scope.check import droppable
from overlord.domain.session import (
    MAX_LOSSES,
    MODEL,
    Ending,
    EndKind,
    Session,
    SessionVerdict,
    judge_ending,
    why_short,
)
from overlord.domain.text.plain import defused_line, last_of, plain_line, quoted
from overlord.domain.transcript import exchange_of, failed_edits
from overlord.engine.contracts import carry_on, consult, escalate, plan
from overlord.engine.contracts.carry_on import Way
from overlord.engine.contracts.move import Move
from overlord.engine.contracts.plan import PlanWork
from overlord.engine.portfolio import escalated_wait
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.scope.allow import by_commit, scope_of, settled
from overlord.engine.sessions import ending as endings
from overlord.engine.sessions.evaluation_input import kept_in_lfs
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs, sessions
from overlord.store.budgets import model_outages
from overlord.store.checks import evaluations
from overlord.store.contracts import plan_files, role_notes

DIFF_BYTES = 2_000_000
"""Of a session's diff that are kept."""
SHOWN_EDITS = 3
"""Reasons of failed edits that are told, the last ones."""


async def step(parts: Parts, job: Job) -> Progress:
    """See whether the job's session is over, and take in what it leaves."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    if session is None:
        return await _lost_without_trace(parts, job)
    over = await endings.over(parts, session)
    if over is None:
        return Progress.IDLE
    if (asked := read_asked(job.consultation)) is not None:
        if not _is_lost(over):
            return await _settle_consultation(parts, job, over, asked)
        work = _Work(head=job.head_sha)  # it writes nothing, whatever its container pushed
    else:
        work = await _canonical(parts, job, over.session)
    work = replace(work, way=await _way_when_blocked(parts, job, over.session))
    over = await _with_diff(parts, job, over, work)
    await parts.database.write(Failpoint.WORK_SETTLED, lambda c: _settle(c, parts, job, over, work))
    return Progress.MOVED


def _is_lost(over: endings.Over) -> bool:
    return judge_ending(over.session, over.ending) is SessionVerdict.LOST


async def _settle_consultation(parts: Parts, job: Job, over: endings.Over, asked: Asked) -> Progress:
    """A session that was asked something is over: its answer says how the job goes on."""
    found = await consult.settled(parts, job, over.session, asked)
    data: dict[str, Json] = {"session": over.session.id}

    def settle(connection: sqlite3.Connection) -> None:
        endings.close(connection, parts, over)
        consult.settle(Move(connection=connection, parts=parts, job=job, turn=found.turn, data=data), found)

    await parts.database.write(Failpoint.CONSULTATION_SETTLED, settle)
    return Progress.MOVED


async def _way_when_blocked(parts: Parts, job: Job, session: Session) -> Way | None:
    """Where the job goes whose session says that it is blocked, if its phase has a successor for that; never out, for nothing was
    judged."""
    report = session.report
    if not isinstance(report, Report) or report.outcome is not Outcome.BLOCKED or report.event not in _PLAIN:
        return None
    turn = await parts.turn_of(job)
    if BLOCKED not in turn.phase.next or leads_out(
        turn, (), is_round=carry_on.is_round(turn, job), outcome=BLOCKED
    ):
        return None
    return await carry_on.prepare(parts, job, BLOCKED)


_PLAIN = ("", "needs_escalation")
"""The event of a session that hands its work up for no reason of its contract's own."""


async def _with_diff(parts: Parts, job: Job, over: endings.Over, work: "_Work") -> endings.Over:
    """What the session changed, kept with its evidence."""
    if not work.head or work.head == job.head_sha:
        return over
    diff = await parts.git.diff(job.space, job.role_base, work.head, limit_bytes=DIFF_BYTES)
    return await asyncio.to_thread(endings.with_evidence, parts, over, "diff", diff)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What a session left: the job's head from now on, and what of it was not taken."""

    head: Sha | None
    dropped: tuple[str, ...] = ()
    """The paths whose changes were taken out."""
    refused: str = ""
    """Why nothing of what it pushed is taken, as a sentence."""
    failed_edits: Sequence[str] = ()
    """Where it changed nothing: why its edits could not be made."""
    plan: PlanWork = field(default_factory=PlanWork)
    way: Way | None = None
    """Where its job goes in place of to a person, where it says that it is blocked."""


async def _canonical(parts: Parts, job: Job, session: Session) -> _Work:
    """One commit of ours over what the session pushed last; the job's head as it was when that is nothing new.

    The few changes that went outside the scope are not in it: nothing out of scope is ever in a branch's history. Nor are
    changes of what Git LFS keeps.
    """
    name, identifier = job.space, SessionId(session.id)
    base = job.role_base
    tree = await parts.git.session_tree(identifier, session.branch)
    before = job.head_sha if job.head_sha else None
    if tree is None or tree == await parts.git.tree_of(name, before or base):
        failed = await asyncio.to_thread(_failed_edits, parts.home.transcript(session.id))
        if not job.role:
            return _Work(head=before, failed_edits=failed)
        scope = await scope_of(parts, job, session_id=session.id)
        head = before or base
        made = PlanWork() if tree is None else await plan.of_commit(parts, job, head, scope, parent=head)
        return _Work(head=before or base, failed_edits=failed, plan=made, dropped=made.outside)
    parent = clean_parent(job, await parts.database.read(lambda c: evaluations.history(c, job)))
    if excess := await parts.git.excess(identifier, tree=tree, parent=parent):
        return _Work(head=before, refused=f"What it pushed is too large to be judged: {excess}.")
    title = plain_line(job.issue.title, limit=60)
    message = f"{title}\n\nIssue {job.issue.number}, session {session.id}."
    at = session.prepared_at
    head = await parts.git.canonical_commit(
        name, identifier, tree=tree, parent=parent, message=message, at=at
    )
    scope = await scope_of(parts, job, session_id=session.id)
    work, head = await _without_plan(parts, job, head, scope, parent=parent, message=message, at=at)
    if head == parent:
        return replace(work, head=before or base)
    changes = await parts.git.changes(name, base, head)
    before_it = await settled(parts, job, head, changes)
    large = await kept_in_lfs(parts, job, [change.path for change in changes if change.status in "MT"])
    dropped = tuple(dict.fromkeys((*droppable(scope, changes, before_it.accepted), *large)))
    for commit, paths in by_commit(dropped, before_it, base).items():
        head = await parts.git.drop(
            name, head, base=commit, paths=paths, parent=parent, message=message, at=at
        )
    return replace(work, head=head, dropped=(*dropped, *work.plan.outside))


async def _without_plan(
    parts: Parts, job: Job, head: Sha, scope: Scope, *, parent: Sha, message: str, at: datetime
) -> tuple[_Work, Sha]:
    """What a session did to the job's plan, and its commit without that: its parent where nothing else was changed."""
    if not (await parts.turn_of(job)).contract.has_plan:
        return _Work(head=head), head
    work = await plan.of_commit(parts, job, head, scope, parent=parent)
    if work.paths:
        head = await parts.git.drop(
            job.space, head, base=parent, paths=work.paths, parent=parent, message=message, at=at
        )
    if await parts.git.tree_of(job.space, head) == await parts.git.tree_of(job.space, parent):
        head = parent
    return _Work(head=head, plan=work, dropped=work.outside), head


def clean_parent(job: Job, past: Sequence[EvaluationResult]) -> Sha:
    """The commit new work is put on: the job's head, or where it was before a secret got in. A later commit takes a secret
    out of the files and not out of the history, which a push publishes."""
    if job.role and job.head_sha is None:
        return job.role_base  # what was there is taken back
    judged = [item for item in past if any(made.name is CheckName.INTEGRITY for made in item.checks)]
    holds = {item.head_sha: any(map(holds_secret, item.checks)) for item in judged}
    if job.head_sha and not holds.get(job.head_sha):
        return job.head_sha
    return Sha(next((sha for sha in reversed(holds) if not holds[sha]), job.phase_base))


def _settle(connection: sqlite3.Connection, parts: Parts, job: Job, over: endings.Over, work: _Work) -> None:
    session, head = over.session, work.head
    ending = replace(over.ending, detail=". ".join(filter(None, (over.ending.detail, work.refused))))
    endings.close(connection, parts, replace(over, ending=ending))
    sessions.mark(connection, session.id, dropped=work.dropped, taken_sha=head or "")
    verdict = judge_ending(session, ending)
    if work.refused:
        verdict = SessionVerdict.STOPPED_SHORT
    elif verdict is SessionVerdict.SUBMITTED and head is None and _is_gone(session, ending):
        verdict = SessionVerdict.LOST
    at = parts.clock.now()
    data: dict[str, Json] = {
        "session": session.id,
        "head": head,
        "ending": ending.kind,
        "dropped": list(work.dropped),
    }
    if verdict is SessionVerdict.SUBMITTED:
        _keep_plan(connection, job, session, work.plan, at=at)
    if verdict is SessionVerdict.SUBMITTED and head is not None:
        jobs.move(connection, job.id, EventName.WORK_SUBMITTED, at=at, data=data, head_sha=head, losses=0)
        return
    if verdict is SessionVerdict.LOST and job.losses < MAX_LOSSES:
        jobs.move(
            connection,
            job.id,
            EventName.SESSION_LOST,
            at=at,
            data=data,
            head_sha=head,
            losses=job.losses + 1,
            reason=f"a session was lost ({ending.kind}); this is start {job.losses + 2}",
        )
        return
    _stopped_short(connection, parts, job, replace(over, ending=ending), verdict, work, data)


def _stopped_short(  # noqa: PLR0917
    connection: sqlite3.Connection,
    parts: Parts,
    job: Job,
    over: endings.Over,
    verdict: SessionVerdict,
    work: _Work,
    data: dict[str, Json],
) -> None:
    """What follows where there is nothing to judge: whom the contract names goes on, or a person is asked."""
    session, at = over.session, parts.clock.now()
    subject, body = _question(session, over.ending, verdict, work)
    if subject is Subject.STOPPED_SHORT and (outage := _outage(connection, session)) is not None:
        subject, body = Subject.MODEL, outage.verdict(at)
    if subject is Subject.BLOCKED and escalated_wait.begin(connection, session, data, head=work.head, at=at):
        return
    turn = Turn.of(parts.contract_of(connection, job), job)
    move = Move(connection=connection, parts=parts, job=job, turn=turn, data=data)
    if not turn.contract.keeps_misses and _handed_up(move, session, work, subject, body):
        return
    jobs.move(
        connection,
        job.id,
        EventName.SESSION_STOPPED_SHORT,
        at=at,
        data=data,
        head_sha=work.head,
        losses=0,
        reason=body.splitlines()[0],
    )
    options = (session.exhausted.amount,) if subject is Subject.BUDGET and session.exhausted else ()
    asked = ask(jobs.get(connection, job.id), subject, body, at=at, options=options)
    decisions.raise_decision(connection, asked)


def _keep_plan(
    connection: sqlite3.Connection, job: Job, session: Session, work: PlanWork, *, at: datetime
) -> None:
    """The plan as the session leaves it; what of that is no artifact is told to the next one."""
    for sentence in work.unusable:
        role_notes.add(connection, job, NoteKind.MISS, sentence, source=session.id, role=job.role, at=at)
    if not work.changed:
        return
    plan_files.put(connection, job.id, work.changed, session_id=session.id, at=at)
    data: dict[str, Json] = {
        "session": session.id,
        "made": [*sorted(path for path, text in work.changed.items() if text is not None)],
        "removed": [*sorted(path for path, text in work.changed.items() if text is None)],
    }
    jobs.note(connection, job.id, EventName.PLAN_CHANGED, at=at, data=data)


_SPENT = (Subject.BUDGET, Subject.STOPPED_SHORT)


def _handed_up(move: Move, session: Session, work: _Work, subject: Subject, body: str) -> bool:
    """Whether the contract says who goes on in place of a session that could not; then it is done."""
    connection, turn, job = move.connection, move.turn, move.job
    if work.way is not None:
        carry_on.go(move, work.way)
        return True
    if subject is Subject.BLOCKED:
        event = session.report.event if isinstance(session.report, Report) else ""
        move = move.saying(event=event or "needs_escalation")
        target = escalate.by_chain(connection, turn, job, event)
    elif subject in _SPENT:
        target = escalate.when_exhausted(connection, turn, job)
    else:
        return False
    return escalate.to(move, target, body, EventName.SESSION_STOPPED_SHORT)


def _is_gone(session: Session, ending: Ending) -> bool:
    """Whether a session pushed something that is not there any more, nor is the session: the database is an older copy."""
    return isinstance(session.report, Report) and bool(session.report.head) and ending.kind is EndKind.LOST


def _failed_edits(transcript: Path) -> Sequence[str]:
    try:
        lines = transcript.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return ()
    return failed_edits(exchange for line in lines if (exchange := exchange_of(line)) is not None)


def _unchanged(failed: Sequence[str]) -> str:
    """That a session changed nothing, and why, as far as the answers to its edits tell."""
    if not failed:
        return "It says it is done and changed nothing."
    shown, more = last_of([defused_line(reason) for reason in failed], SHOWN_EDITS)
    how_many = "An edit" if len(failed) == 1 else f"{len(failed)} edits"
    return f"It says it is done and changed nothing. {how_many} failed: {' · '.join(shown)}{more}"


def _question(session: Session, ending: Ending, verdict: SessionVerdict, work: _Work) -> tuple[Subject, str]:
    report = session.report if isinstance(session.report, Report) else None
    if verdict is SessionVerdict.LOST:
        return Subject.LOSSES, f"The last one: {why_short(session, ending)} {ending.detail}".strip()
    if report is not None and report.outcome is Outcome.COMPLETE:
        why = work.refused or _unchanged(work.failed_edits)
        return Subject.STOPPED_SHORT, f"{why}\n\n{quoted(report.summary)}"
    why = f"{why_short(session, ending)} {work.refused}".strip()
    text = f"\n\n{quoted(report.summary)}" if report is not None and report.summary else ""
    if report is not None and report.outcome is Outcome.BLOCKED:
        return Subject.BLOCKED, f"{why}{text}"
    if report is not None and report.outcome is Outcome.OUT_OF_BUDGET:
        return Subject.BUDGET, f"{why}{text}"
    return Subject.STOPPED_SHORT, f"{why}{text}"


def _outage(connection: sqlite3.Connection, session: Session) -> ModelOutage | None:
    """Why a session that ended for its model had no reply, where Overlord saw that itself."""
    report = session.report
    if not isinstance(report, Report) or report.reason != MODEL:
        return None
    return model_outages.of_session(connection, session.id)


async def _lost_without_trace(parts: Parts, job: Job) -> Progress:
    """A running job without a live session: only damage from outside makes one; it goes back to the queue."""
    await parts.database.write(
        Failpoint.LOSS_NOTED,
        lambda c: jobs.move(
            c,
            job.id,
            EventName.SESSION_LOST,
            at=parts.clock.now(),
            losses=job.losses + 1,
            reason="its session is gone from the database",
        ),
    )
    return Progress.MOVED


async def abandon(parts: Parts, session: Session) -> None:
    """End a session whose job does not need it any more, keeping its evidence."""
    over = await endings.end_now(parts, session)
    await parts.database.write(Failpoint.SESSION_ABANDONED, lambda c: endings.close(c, parts, over))
