"""Every verb a person has: one record and one function each. CLI, Slack, web and MCP parse and render; this acts.

A function takes a connection inside one transaction (the daemon's, or `write_beside` it) and writes facts; the tick
does the rest. Each says who did it in the ledger.
"""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from minion.protocol import Scope
from overlord.domain.budget import parse_amount
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.event import EventName
from overlord.domain.job import Job
from overlord.domain.scope import effective_scope, exact_pattern
from overlord.errors import Refused
from overlord.store import decisions, grants, jobs, sessions
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
    decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
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
    if command.verb is Verb.GRANT:
        _grant_scope(connection, answered, at=at)
    return answered


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


def _grant_scope(connection: sqlite3.Connection, decision: Decision, *, at: datetime) -> None:
    """A grant holds at once: for the running session, for the next brief, and for the check of the diff."""
    named = decision.subject is Subject.SCOPE  # files of a change, not patterns somebody wrote
    patterns = tuple(map(exact_pattern, decision.patterns)) if named else decision.patterns
    grants.add(
        connection,
        decision.job_id,
        GrantKind.SCOPE,
        patterns,
        by=decision.answered_by,
        at=at,
        expires_at=at + SCOPE_GRANT_LIFETIME,
    )
    if decision.session_id is not None:
        scope = Scope.parse(sessions.get(connection, decision.session_id).scope)
        widened = effective_scope(scope, None, patterns)
        sessions.mark(connection, decision.session_id, scope=widened.to_json())
