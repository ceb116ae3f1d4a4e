"""Decisions: raised with what they rest on, answered once by compare-and-swap on what was shown, applied once by the tick."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from minion.protocol import Answer
from overlord.command_ref import CommandRef, hint
from overlord.domain.answers import label_of
from overlord.domain.decision import (
    ApprovalKind,
    ApprovalRef,
    Audience,
    Decision,
    DecisionState,
    Subject,
    Verb,
)
from overlord.domain.event import OVERLORD, EventName, Json, LedgerEvent
from overlord.domain.person import Person
from overlord.errors import NotFound, Refused
from overlord.store import ledger
from overlord.store.rows import insert, select, update

_NOT_COLUMNS = {"id"}
_ANSWERABLE = (DecisionState.DRAFT, DecisionState.OPEN)
_OF_WORK = "proposal_id IS NULL AND draft_id IS NULL"


def raise_decision(
    connection: sqlite3.Connection, decision: Decision, *, question_id: str | None = None
) -> Decision:
    """Put something to people, in the transaction of the fact that made it necessary."""
    columns = {
        name: getattr(decision, name) for name in decision.__dataclass_fields__ if name not in _NOT_COLUMNS
    }
    number = insert(connection, "decisions", {**columns, "question_id": question_id})
    raised = replace(decision, id=number)
    data: dict[str, Json] = {
        "decision": number,
        "kind": decision.kind,
        "subject": decision.subject,
        "title": decision.title,
        "digest": raised.digest,
        **_gate(decision),
        **({"state": decision.state} if decision.state is DecisionState.DRAFT else {}),
    }
    _append_decision_event(connection, EventName.DECISION_RAISED, raised, at=decision.created_at, data=data)
    return raised


def keep_known(
    connection: sqlite3.Connection, decision: Decision, text: str, *, by: str, question_id: str
) -> None:
    """Keep a session's question with the answer that a rule or a note has for it: nobody is asked, and no event says so."""
    answered = replace(
        decision,
        state=DecisionState.ANSWERED,
        verb=Verb.REPLY,
        answer=text,
        answered_by=by,
        answered_at=decision.created_at,
        expires_at=None,
        applied=True,
    )
    columns = {
        name: getattr(answered, name) for name in answered.__dataclass_fields__ if name not in _NOT_COLUMNS
    }
    insert(connection, "decisions", {**columns, "question_id": question_id})


def get(connection: sqlite3.Connection, decision_id: int) -> Decision:
    """Raises NotFound."""
    found = select(connection, Decision, "SELECT * FROM decisions WHERE id = ?", decision_id)
    if not found:
        raise NotFound(
            f"there is no decision {decision_id}",
            hint=hint(CommandRef("decisions"), " shows those that wait"),
        )
    return found[0]


def waiting(connection: sqlite3.Connection, job_id: int | None = None) -> list[Decision]:
    """Open decisions about work, oldest first: of one job, or of all jobs and repositories."""
    if job_id is None:
        query = f"SELECT * FROM decisions WHERE state = 'open' AND {_OF_WORK} ORDER BY +id"  # noqa: S608 - a constant
        return select(connection, Decision, query)
    query = "SELECT * FROM decisions WHERE state = 'open' AND job_id = ? ORDER BY id"
    return select(connection, Decision, query, job_id)


def inbox(connection: sqlite3.Connection) -> list[Decision]:
    """Everything that waits for a person, oldest first: proposals and drafts of skills too."""
    # By `+id`, those that are open are found by their index.
    return select(connection, Decision, "SELECT * FROM decisions WHERE state = 'open' ORDER BY +id")


def count_open(connection: sqlite3.Connection) -> int:
    """How much waits for a person."""
    return int(connection.execute("SELECT count(*) FROM decisions WHERE state = 'open'").fetchone()[0])


def meant(connection: sqlite3.Connection, ref: ApprovalRef) -> Decision:
    """The decision of this number; of a proposal or a draft the newest. Raises NotFound."""
    if ref.kind is ApprovalKind.DECISION:
        return get(connection, ref.number)
    query = f"SELECT * FROM decisions WHERE {ref.kind}_id = ? ORDER BY id DESC LIMIT 1"  # noqa: S608 - a word of ours
    found = select(connection, Decision, query, ref.number)
    if not found:
        raise NotFound(
            f"there is no {ref.name}", hint=hint(CommandRef(f"{ref.kind}s"), " shows those that wait")
        )
    return found[0]


def unapplied(connection: sqlite3.Connection, job_id: int) -> list[Decision]:
    """Answered decisions a waiting job is about, that the tick has not carried out; a session's questions are not."""
    query = """SELECT * FROM decisions WHERE state = 'answered' AND NOT applied AND session_id IS NULL
               AND job_id = ? ORDER BY id"""
    return select(connection, Decision, query, job_id)


def unapplied_about(connection: sqlite3.Connection, letter: str) -> list[Decision]:
    """Answered decisions about things of the portfolio that nobody has carried out: those named by this letter, as `e` for `e5`."""
    query = """SELECT * FROM decisions WHERE about <> '' AND substr(about, 1, 1) = ? AND state = 'answered' AND NOT applied
               ORDER BY id"""
    return select(connection, Decision, query, letter)


def jobs_with_unapplied(connection: sqlite3.Connection) -> frozenset[int]:
    """The jobs that `unapplied` finds something for."""
    query = """SELECT job_id FROM decisions WHERE state = 'answered' AND NOT applied AND session_id IS NULL
               AND job_id IS NOT NULL"""
    return frozenset(row["job_id"] for row in connection.execute(query))


def of_question(connection: sqlite3.Connection, session_id: str, question_id: str) -> Decision | None:
    """The decision a Minion's question became."""
    query = "SELECT * FROM decisions WHERE session_id = ? AND question_id = ?"
    return next(iter(select(connection, Decision, query, session_id, question_id)), None)


def asked_by(connection: sqlite3.Connection, session_id: str) -> int:
    """How many questions a session has asked."""
    query = "SELECT count(*) FROM decisions WHERE session_id = ? AND question_id IS NOT NULL"
    return int(connection.execute(query, (session_id,)).fetchone()[0])


def answers_for_brief(connection: sqlite3.Connection, job_id: int) -> tuple[Answer, ...]:
    """What people have told this job so far, for its next session."""
    return tuple(
        Answer(
            question=item.title,
            answer=item.answer,
            by=item.answered_by,
            at=f"{item.answered_at:%Y-%m-%d %H:%M} UTC" if item.answered_at else "",
        )
        for item in answered(connection, job_id)
    )


def of_job(connection: sqlite3.Connection, job_id: int) -> list[Decision]:
    """Every decision of a job, whatever became of it, oldest first."""
    return select(connection, Decision, "SELECT * FROM decisions WHERE job_id = ? ORDER BY id", job_id)


def about(connection: sqlite3.Connection, what: str) -> list[Decision]:
    """Every decision about one thing of the portfolio, whatever became of it, oldest first."""
    return select(connection, Decision, "SELECT * FROM decisions WHERE about = ? ORDER BY id", what)


def answered(connection: sqlite3.Connection, job_id: int) -> list[Decision]:
    """Every decision of a job that a person answered, oldest first."""
    query = "SELECT * FROM decisions WHERE state = 'answered' AND job_id = ? ORDER BY id"
    return select(connection, Decision, query, job_id)


def newest_answered(connection: sqlite3.Connection, *, limit: int) -> list[Decision]:
    """What people answered last, the newest first."""
    query = "SELECT * FROM decisions WHERE state = 'answered' ORDER BY answered_at DESC, id DESC LIMIT ?"
    return select(connection, Decision, query, limit)


def expired(connection: sqlite3.Connection, job_id: int) -> list[Decision]:
    """Every question of a job's that nobody answered in time, oldest first."""
    query = "SELECT * FROM decisions WHERE state = 'expired' AND job_id = ? ORDER BY id"
    return select(connection, Decision, query, job_id)


def check_open(decision: Decision) -> None:
    """Raises Refused for one that takes no answer any more."""
    name = decision.ref.name
    if decision.state is DecisionState.ANSWERED:
        raise Refused(f"{name} was answered before, by {decision.answered_by}: {_said(decision)}")
    if decision.state not in _ANSWERABLE:
        raise Refused(
            f"{name} is {decision.state} and takes no answer any more",
            hint=hint(CommandRef("inbox"), " shows what waits for one"),
        )


def _said(decision: Decision) -> str:
    """The answer; a reason alone does not say which one it was given with."""
    label = label_of(decision.verb) if decision.verb in (Verb.APPROVE, Verb.REJECT) else decision.answer
    return label if label == decision.answer else f"{label}: {decision.answer}"


def answer(
    connection: sqlite3.Connection,
    decision_id: int,
    *,
    digest: str,
    verb: Verb,
    text: str,
    actor: str,
    at: datetime,
    by: Person | None = None,
) -> Decision:
    """Record a person's answer to exactly what they were shown.

    Raises NotFound; Refused when it was answered before, is stale or over, or offers no such answer.
    """
    decision = get(connection, decision_id)
    name = decision.ref.name
    check_open(decision)
    if decision.digest != digest:
        raise Refused(f"{name} has changed since it was shown; look at it again")
    if verb not in decision.verbs and decision.state is DecisionState.DRAFT:
        raise Refused(f"{name} does not wait for that now: it takes {', '.join(decision.verbs)} alone")
    if verb not in decision.verbs:
        raise Refused(f"{name} takes one of {', '.join(decision.verbs)}; not {verb}")
    if decision.audience is Audience.APPROVER and by is None:
        raise Refused(f"{name} is decided by an approver alone")
    final = replace(
        decision,
        state=DecisionState.ANSWERED,
        verb=verb,
        answer=text or label_of(verb),
        answered_by=actor,
        answered_at=at,
    )
    names = ("state", "verb", "answer", "answered_by", "answered_at")
    update(connection, "decisions", decision_id, {name: getattr(final, name) for name in names})
    data: dict[str, Json] = {
        "decision": decision_id,
        "verb": verb,
        "answer": final.answer,
        "digest": digest,
        **_gate(decision),
    }
    _append_decision_event(connection, EventName.DECISION_ANSWERED, final, at=at, actor=actor, data=data)
    return final


def _gate(decision: Decision) -> dict[str, Json]:
    """The contract's gate that a decision is about, for the ledger."""
    return {"gate": decision.options[1]} if decision.subject is Subject.GATE else {}


def redraft(connection: sqlite3.Connection, decision: Decision, *, bound_to: str) -> None:
    """What it is about is made anew, by a fact in the same transaction: nobody is asked until `open_again`."""
    changes = {"state": DecisionState.DRAFT, "verbs": (Verb.REJECT,), "bound_to": bound_to}
    update(connection, "decisions", decision.id, changes)


def open_again(
    connection: sqlite3.Connection,
    decision: Decision,
    *,
    title: str,
    verbs: tuple[Verb, ...],
    bound_to: str,
    at: datetime,
) -> None:
    """What it is about is made: people are asked, and what they say is bound to this."""
    changes = {"state": DecisionState.OPEN, "title": title, "verbs": verbs, "bound_to": bound_to}
    update(connection, "decisions", decision.id, changes)
    data: dict[str, Json] = {"decision": decision.id, "title": title, "digest": bound_to}
    _append_decision_event(connection, EventName.DECISION_OPENED, decision, at=at, data=data)


def mark_applied(connection: sqlite3.Connection, decision: Decision) -> None:
    """The tick has carried the answer out, in the same transaction as what it did."""
    update(connection, "decisions", decision.id, {"applied": True})


def close_waiting(
    connection: sqlite3.Connection,
    job_id: int,
    state: DecisionState,
    *,
    at: datetime,
    session_id: str | None = None,
) -> None:
    """Close what nobody needs to answer any more: the job moved on, or the session that asked is over."""
    for decision in waiting(connection, job_id):
        if session_id is None or decision.session_id == session_id:
            _close(connection, decision, state, at=at)


def supersede(connection: sqlite3.Connection, decision: Decision, *, at: datetime) -> None:
    """Close one that needs no answer any more; one that has one stays as it is."""
    if decision.state in _ANSWERABLE:
        _close(connection, decision, DecisionState.SUPERSEDED, at=at)


def close_of_space(connection: sqlite3.Connection, space: str, state: DecisionState, *, at: datetime) -> None:
    """The same for what was asked about a space as a whole."""
    for decision in waiting(connection):
        if decision.job_id is None and decision.space == space and not decision.about:
            _close(connection, decision, state, at=at)


def timed(connection: sqlite3.Connection) -> list[Decision]:
    """Open decisions that are not waited for without end. They are open until `expire`, whatever the time is."""
    query = "SELECT * FROM decisions WHERE state = 'open' AND expires_at IS NOT NULL"
    return select(connection, Decision, query)


def expire(connection: sqlite3.Connection, overdue: Iterable[Decision], *, at: datetime) -> None:
    """Close those of these decisions that are still open: their time is over."""
    for decision in overdue:
        if get(connection, decision.id).state is DecisionState.OPEN:
            _close(connection, decision, DecisionState.EXPIRED, at=at)


def _close(connection: sqlite3.Connection, decision: Decision, state: DecisionState, *, at: datetime) -> None:
    event = EventName.DECISION_EXPIRED if state is DecisionState.EXPIRED else EventName.DECISION_SUPERSEDED
    update(connection, "decisions", decision.id, {"state": state})
    _append_decision_event(connection, event, decision, at=at, data={"decision": decision.id})


def _append_decision_event(
    connection: sqlite3.Connection,
    name: EventName,
    decision: Decision,
    *,
    at: datetime,
    data: dict[str, Json],
    actor: str = OVERLORD,
) -> None:
    if decision.ref.kind is not ApprovalKind.DECISION:
        data = {**data, "about": decision.ref.name}
    ledger.append(connection, LedgerEvent(name=name, at=at, actor=actor, job_id=decision.job_id, data=data))
