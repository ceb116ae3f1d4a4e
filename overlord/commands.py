"""Every verb a person has: one record and one function each. CLI, comments, Slack, web and MCP parse and render; this acts.

A function takes a connection inside one transaction (the daemon's, or `write_beside` it) and writes facts; the tick
does the rest. Each says who did it in the ledger.
"""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from minion.protocol import Issue, Scope
from overlord.domain.budget import parse_amount
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.event import EventName, Json, LedgerEvent
from overlord.domain.job import Job, JobState
from overlord.domain.scope import effective_scope, exact_pattern
from overlord.errors import Refused
from overlord.store import decisions, grants, jobs, ledger, sessions, spaces
from overlord.store.grants import GrantKind

SCOPE_GRANT_LIFETIME = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopJob:
    """End a job: its session is stopped, what it pushed and all evidence stay."""

    job_id: int
    actor: str
    """Who says so: `cli:name`, `slack:U123`."""
    reason: str = ""


def stop_job(connection: sqlite3.Connection, command: StopJob, *, at: datetime) -> Job:
    """Raises NotFound for an unknown job, Refused for one that has ended."""
    job = jobs.get(connection, command.job_id)
    if not job.is_open:
        raise Refused(f"job {job.id} has ended already: {job.state}")
    reason = command.reason or "stopped by a person"
    return jobs.move(
        connection,
        job.id,
        EventName.STOPPED,
        at=at,
        actor=command.actor,
        data={"reason": reason},
        reason=reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeJob:
    """Let a job that waits for people go on from where it is, as its work label put on again does."""

    job_id: int
    actor: str
    issue: Issue
    """As it stands now: that is what is worked on from here."""


def resume_job(connection: sqlite3.Connection, command: ResumeJob, *, at: datetime) -> Job:
    """Raises NotFound for an unknown job, Refused for one that does not wait or goes on already."""
    job = jobs.get(connection, command.job_id)
    if job.state is not JobState.WAITING:
        raise Refused(f"job {job.id} does not wait for anybody: it is {job.state}")
    if decisions.unapplied(connection, job.id):
        raise Refused(f"job {job.id} is about to go on: somebody has just answered")
    decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
    return jobs.move(
        connection,
        job.id,
        EventName.WORK_RESUMED,
        at=at,
        actor=command.actor,
        issue=command.issue,
        edited_issue=None,
        losses=0,
        projected="",  # with that, the label is ours to take off again
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryJob:
    """Answer what a job waits for with the answer that tries again."""

    job_id: int
    actor: str


def retry_job(connection: sqlite3.Connection, command: RetryJob, *, at: datetime) -> Decision:
    """Raises NotFound for an unknown job, Refused for one that waits for nothing another try could mend."""
    job = jobs.get(connection, command.job_id)
    for decision in decisions.waiting(connection, job.id):
        verb = next((verb for verb in decision.verbs if verb in _TRY_AGAIN), None)
        if verb is not None and decision.session_id is None:
            answer = AnswerDecision(decision_id=decision.id, verb=verb, actor=command.actor)
            return answer_decision(connection, answer, at=at)
    raise Refused(f"job {job.id} does not wait for another try: it is {job.state}")


_TRY_AGAIN = frozenset({Verb.RETRY, Verb.ONE_MORE, Verb.RECHECK, Verb.REDELIVER})


@dataclass(frozen=True, slots=True, kw_only=True)
class WidenScope:
    """Let a job write more paths, for 14 days."""

    job_id: int
    patterns: tuple[str, ...]
    actor: str


def widen_scope(connection: sqlite3.Connection, command: WidenScope, *, at: datetime) -> None:
    """It holds at once: for the running session, the next brief and the check of the diff. Raises NotFound for an unknown job,
    Refused for one that has ended."""
    job = jobs.get(connection, command.job_id)
    if not job.is_open:
        raise Refused(f"job {job.id} has ended already: {job.state}")
    live = sessions.live_of(connection, job.id)
    _widen(
        connection, job.id, command.patterns, by=command.actor, session_id=live.id if live else None, at=at
    )
    data: dict[str, Json] = {"patterns": list(command.patterns)}
    jobs.note(connection, job.id, EventName.SCOPE_WIDENED, at=at, actor=command.actor, data=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDecision:
    """Answer a decision. `digest` is that of what the person was shown; without one, what stands now counts as shown."""

    decision_id: int
    verb: Verb
    actor: str
    text: str = ""
    """Free text; for `add_budget` the amount: tokens (`500000`) or dollars (`$2`)."""
    digest: str | None = None


def answer_decision(connection: sqlite3.Connection, command: AnswerDecision, *, at: datetime) -> Decision:
    """Raises NotFound; Refused when it was answered before, is stale, or takes no such answer."""
    decision = decisions.get(connection, command.decision_id)
    if command.verb is Verb.ADD_BUDGET:
        _check_amount(decision, command.text)
    if command.verb is Verb.REPLY and not command.text.strip():
        raise Refused(
            f"say what to reply: `overlord decisions answer {decision.id} reply 'use the second one'`"
        )
    answered = decisions.answer(
        connection,
        command.decision_id,
        digest=command.digest or decision.digest,
        verb=command.verb,
        text=command.text,
        actor=command.actor,
        at=at,
    )
    if answered.job_id is None:
        _decide_space(connection, answered, at=at)
    elif command.verb is Verb.GRANT:
        _grant_scope(connection, answered, answered.job_id, at=at)
    return answered


def _decide_space(connection: sqlite3.Connection, decision: Decision, *, at: datetime) -> None:
    """What is answered about a space as a whole is carried out at once."""
    actor = decision.answered_by
    if decision.verb is Verb.RETRY:
        resume_space(connection, decision.space, actor=actor, at=at)
    else:
        for job in jobs.of_space(connection, decision.space):
            reason = "its repository is gone"
            jobs.move(connection, job.id, EventName.DROPPED, at=at, actor=actor, reason=reason)
    decisions.mark_applied(connection, decision)


def resume_space(connection: sqlite3.Connection, name: str, *, actor: str, at: datetime) -> None:
    """Let a paused space go on."""
    spaces.pause(connection, name, paused=False)
    ledger.append(connection, LedgerEvent(name=EventName.RESUMED, at=at, actor=actor, data={"space": name}))


def _check_amount(decision: Decision, text: str) -> None:
    """Raises Refused for what is no amount, or none of what the spent budget counts."""
    suggested = decision.options[0] if decision.options else "500000"
    try:
        amount = parse_amount(text)
    except ValueError:
        raise Refused(
            f"say how much to add: `overlord decisions answer {decision.id} add_budget '{suggested}'`"
        ) from None
    if decision.options and amount.unit is not parse_amount(suggested).unit:
        raise Refused(f"the spent budget counts {parse_amount(suggested).unit}: add as in '{suggested}'")


def _grant_scope(connection: sqlite3.Connection, decision: Decision, job_id: int, *, at: datetime) -> None:
    """A grant holds at once: for the running session, for the next brief, and for the check of the diff."""
    named = decision.subject is Subject.SCOPE  # files of a change, not patterns somebody wrote
    patterns = tuple(map(exact_pattern, decision.patterns)) if named else decision.patterns
    _widen(
        connection,
        job_id,
        patterns,
        by=decision.answered_by,
        session_id=decision.session_id,
        at=at,
    )


def _widen(
    connection: sqlite3.Connection,
    job_id: int,
    patterns: tuple[str, ...],
    *,
    by: str,
    session_id: str | None,
    at: datetime,
) -> None:
    expires_at = at + SCOPE_GRANT_LIFETIME
    grants.add(connection, job_id, GrantKind.SCOPE, patterns, by=by, at=at, expires_at=expires_at)
    if session_id is not None:
        scope = Scope.parse(sessions.get(connection, session_id).scope)
        widened = effective_scope(scope, None, patterns)
        sessions.mark(connection, session_id, scope=widened.to_json())
