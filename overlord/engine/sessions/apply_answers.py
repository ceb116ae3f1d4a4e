"""WAITING: a person's answer is carried out once, in the transaction that marks it applied."""

import sqlite3
from collections.abc import Mapping

from overlord.domain.answers import label_of
from overlord.domain.budgets.budget import amount_text, parse_amount
from overlord.domain.contracts.onward import entering
from overlord.domain.contracts.turn import Turn
from overlord.domain.conversation.issue_edit import edition
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job, JobChanges
from overlord.domain.question import ask
from overlord.domain.session import Ending, EndKind
from overlord.engine.contracts import carry_on, consult, judge, questions
from overlord.engine.contracts.carry_on import Way
from overlord.engine.contracts.escalate import before_turn
from overlord.engine.contracts.move import Move
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import ending as endings
from overlord.failpoints import Failpoint
from overlord.store import decisions, environments, jobs, sessions
from overlord.store.budgets import grants
from overlord.store.budgets.grants import GrantKind

MOVES: Mapping[Verb, EventName] = {
    Verb.RETRY: EventName.WORK_RESUMED,
    Verb.ONE_MORE: EventName.WORK_RESUMED,
    Verb.REPLY: EventName.WORK_RESUMED,
    Verb.ADD_BUDGET: EventName.WORK_RESUMED,
    Verb.GRANT: EventName.SCOPE_GRANTED,
    Verb.LIMIT: EventName.WORK_RESUMED,
    Verb.UNRESTRICTED: EventName.WORK_RESUMED,
    Verb.ACCEPT: EventName.GATE_APPROVED,
    Verb.WITHOUT_TESTS: EventName.WORK_RESUMED,
    Verb.WRITE_TESTS: EventName.WORK_RESUMED,
    Verb.RECHECK: EventName.CHECKS_RESTORED,
    Verb.INSTALL: EventName.CHECKS_RESTORED,
    Verb.REDELIVER: EventName.DELIVERY_RETRIED,
    Verb.ADOPT: EventName.WORK_RESUMED,
    Verb.KEEP: EventName.WORK_RESUMED,
    Verb.TAKE_OVER: EventName.TAKEN_OVER,
    Verb.DROP: EventName.DROPPED,
    Verb.APPROVE: EventName.GATE_APPROVED,
    Verb.REJECT: EventName.GATE_REJECTED,
}


async def step(parts: Parts, job: Job) -> Progress:
    """Carry out what people answered for a waiting job."""
    answered = await parts.database.read(lambda c: decisions.unapplied(c, job.id))
    due = [decision for decision in answered if decision.verb in MOVES]
    if not due:
        return Progress.IDLE
    # They may have granted a permission that was missing, and then answered.
    parts.forge.renew_sign_in(job.space)
    way = await _way_of(parts, job, due[0])
    await parts.database.write(Failpoint.ANSWER_APPLIED, lambda c: _apply(c, parts, job, due[0], way))
    return Progress.MOVED


async def _way_of(parts: Parts, job: Job, decision: Decision) -> Way | None:
    """Where an answer that lets the work go on takes its job, with what is shown there."""
    if decision.subject is Subject.DISCOVERY and decision.verb is not Verb.DROP:
        return await carry_on.prepare(parts, job)
    if decision.verb is Verb.ACCEPT:
        return await carry_on.prepare(parts, job, (await judge.wanted(parts, job)).outcome)
    if decision.verb is Verb.APPROVE and decision.subject is Subject.GATE:
        contract = (await parts.turn_of(job)).contract
        return await carry_on.shown(parts, job, entering(contract, decision.options[3]))
    return None


def _apply(
    connection: sqlite3.Connection, parts: Parts, job: Job, decision: Decision, way: Way | None
) -> None:
    at = parts.clock.now()
    event = MOVES[decision.verb or Verb.RETRY]
    if event is EventName.SCOPE_GRANTED and decision.subject is Subject.ESCALATION:
        event = EventName.WORK_RESUMED  # what went outside was taken out: another session has to make it
    if decision.verb is Verb.WITHOUT_TESTS and decision.subject is Subject.NO_TESTS:
        event = EventName.CHECKS_RESTORED  # the work is there
    if decision.verb is Verb.ADD_BUDGET:
        amount = parse_amount(decision.answer)
        grants.add(connection, job.id, GrantKind(amount.unit), amount.value, by=decision.answered_by, at=at)
        added: dict[str, Json] = {"amount": amount_text(amount), "unit": amount.unit}
        jobs.note(connection, job.id, EventName.BUDGET_ADDED, at=at, actor=decision.answered_by, data=added)
    if decision.verb is Verb.INSTALL:
        digest = decision.options
        grants.add(connection, job.id, GrantKind.DEPENDENCIES, digest, by=decision.answered_by, at=at)
    if decision.verb in (Verb.RETRY, Verb.RECHECK):
        environments.forget_failed(connection, job.space)
    data: dict[str, Json] = {"decision": decision.id, "verb": decision.verb, "digest": decision.digest}
    decisions.mark_applied(connection, decision)
    decisions.close_waiting(connection, job.id, DecisionState.SUPERSEDED, at=at)
    now = jobs.get(connection, job.id)
    turn = Turn.of(parts.contract_of(connection, job), now)
    move = Move(connection=connection, parts=parts, job=now, turn=turn, data=data, actor=decision.answered_by)
    if decision.subject is Subject.GATE:
        move = move.saying(gate=decision.options[1], notes=_words(decision))
    if decision.subject is Subject.DISCOVERY and decision.verb is not Verb.DROP:
        questions.answered(move, decision)
    if way is not None:
        carry_on.go(move, way)
    elif decision.subject is Subject.GATE and decision.verb is Verb.REJECT:
        consult.rejected(move, decision.options[4], _words(decision))
    else:
        changes = _adopted(now, decision) | _again(now, decision)
        if (
            decision.subject in _RESUMED
            and event is not EventName.DROPPED
            and event is not EventName.TAKEN_OVER
        ):
            event = EventName.WORK_RESUMED
        jobs.move(connection, job.id, event, at=at, actor=decision.answered_by, data=data, **changes)


_RESUMED = (Subject.EXHAUSTED, Subject.SCOPE_EXPANSION)
"""What any answer but an ending lets go on with another session."""


def _words(decision: Decision) -> str:
    """What a person said beside the answer itself."""
    return "" if decision.verb is None or decision.answer == label_of(decision.verb) else decision.answer


def _again(job: Job, decision: Decision) -> JobChanges:
    """The count of a role's sessions, begun anew where a person allows as many again; its work goes back to before it."""
    if decision.subject not in _RESUMED:
        return {}
    return {"revision": 0, "head_sha": before_turn(job)}


def _adopted(job: Job, decision: Decision) -> JobChanges:
    """The text that an answer makes the one that counts: what was shown, and no other it was edited to since."""
    edited = job.edited_issue
    if (
        decision.verb is not Verb.ADOPT
        or edited is None
        or edition(job.issue, edited) not in decision.options
    ):
        return {}
    return {"issue": edited, "edited_issue": None}


async def expire(parts: Parts) -> None:
    """Close the questions whose time is over: whoever asked goes on without an answer."""
    at = parts.clock.now()
    overdue = parts.session_watchdog.overdue(
        await parts.database.read(decisions.timed), parts.clock.monotonic()
    )
    if overdue:
        await parts.database.write(Failpoint.DECISIONS_EXPIRED, lambda c: decisions.expire(c, overdue, at=at))
        parts.notify()


async def wait_for_person(
    parts: Parts, job: Job, event: EventName, subject: Subject, body: str, *, ending: str
) -> None:
    """Move a job to WAITING with the decision it waits for; a session that was prepared for it ends here."""
    at = parts.clock.now()
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))

    def wait(connection: sqlite3.Connection) -> None:
        if session is not None:
            lost = Ending(kind=EndKind.LOST, detail=ending)
            endings.close(connection, parts, endings.Over(session=session, ending=lost))
        jobs.move(
            connection,
            job.id,
            event,
            at=at,
            data={"subject": str(subject), "body": body},
            reason=body.splitlines()[0],
        )
        decisions.raise_decision(connection, ask(job, subject, body, at=at))

    await parts.database.write(Failpoint.PERSON_ASKED, wait)
