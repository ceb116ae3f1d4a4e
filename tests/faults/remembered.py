"""What must hold of a database whatever happened to the daemon that wrote it: read from its rows and its ledger.

Each function gives one sentence for each violation, and none when all is well.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from minion.protocol import SessionKind
from overlord.domain.decision import Decision, DecisionState, Subject, Verb
from overlord.domain.evaluation import CheckName, CheckResult, EvaluationResult, Verdict
from overlord.domain.event import EventName as E
from overlord.domain.job import TRANSITIONS, Job, JobState
from overlord.domain.session import MAX_LOSSES, Session, SessionState
from overlord.engine.sessions.apply_answers import MOVES
from overlord.errors import StoreError
from overlord.store import evidence, jobs, ledger, sessions
from overlord.store.checks import evaluations
from overlord.store.evidence import EvidenceStore
from overlord.store.rows import select

MOVING = {event for _, event in TRANSITIONS}
VERDICTS = {
    *(E.PASSED, E.PHASE_COMPLETED, E.REVISION_ORDERED, E.GATE_REACHED, E.ROLE_COMPLETED, E.ESCALATED),
    *(E.FAILED, E.ATTEMPTS_SPENT, E.CHECKS_UNAVAILABLE, E.TERMINATED, E.QUESTIONS_ASKED),
}
"""Where an evaluation can lead to."""
CLAIMS = {E.CLAIMED, E.CALL_REQUESTED}
"""A job's first fact: of an issue's, and of a call's."""
NEW_TURN = {E.PHASE_COMPLETED, E.ROLE_COMPLETED, E.GATE_REJECTED, E.ESCALATION_RESOLVED}
"""After which a role has all its sessions before it."""
NEW_ROUND = {
    *NEW_TURN,
    E.CHANGES_REQUESTED,
    E.CI_FAILED,
    E.CONFLICT_FOUND,
    E.ROUNDS_SPENT,
    E.REBASED,
    E.FOREIGN_PUSH_FOUND,
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A ledger entry with its data read."""

    name: E
    data: dict[str, Any]


def facts(connection: sqlite3.Connection, job_id: int | None = None) -> list[Fact]:
    """What the ledger holds, of one job or of all."""
    found = ledger.entries(connection, job_id=job_id)
    return [Fact(E(entry.name), json.loads(entry.data)) for entry in found]


def of_database(connection: sqlite3.Connection, store: EvidenceStore) -> Iterator[str]:
    """Everything that can be seen from the database and the evidence beside it."""
    yield from (f"ledger: {problem}" for problem in ledger.problems(connection))
    yield from (
        f"database: {row[0]}" for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"
    )
    yield from (
        f"database: {tuple(row)} points nowhere" for row in connection.execute("PRAGMA foreign_key_check")
    )
    yield from _triggers(connection)
    yield from _spending(connection)
    yield from _exhibits(connection, store)
    for job in jobs.all_jobs(connection, limit=1_000_000):
        told = facts(connection, job.id)
        for violation in (
            *_moves(job, told),
            *_sessions(connection, job, told),
            *_decisions(connection, job, told),
            *_evaluations(connection, job, told),
        ):
            yield f"job {job.id}: {violation}"


def _triggers(connection: sqlite3.Connection) -> Iterator[str]:
    """Each accepted trigger is one job: claimed once, one live job for an issue, whatever `is_open` says."""
    rows = jobs.all_jobs(connection, limit=1_000_000)
    for issue, count in Counter(job.issue_ref for job in rows if job.is_open).items():
        if count > 1:
            yield f"{issue} has {count} live jobs"
    claims = Counter(entry.job_id for entry in ledger.entries(connection) if entry.name in CLAIMS)
    for number in {job.id for job in rows} | set(claims):
        if claims[number] != 1 or not any(job.id == number for job in rows):
            yield f"job {number} was claimed {claims[number]} times and has {sum(j.id == number for j in rows)} rows"
    for row in connection.execute("SELECT id, state, is_open FROM jobs"):
        job = next(job for job in rows if job.id == row["id"])
        if bool(row["is_open"]) != job.is_open:
            yield f"job {job.id} is {job.state}, and its row says is_open={row['is_open']}"


def _moves(job: Job, told: Sequence[Fact]) -> Iterator[str]:
    """The row is where the ledger's facts lead, and what was spent never fell on the way."""
    state: JobState | None = None
    revision = losses = 0
    of_more = {fact.data["decision"] for fact in told if fact.data.get("subject") in AS_MUCH_AGAIN}
    for fact in told:
        if fact.name in CLAIMS:
            state = JobState.QUEUED
        elif state is not None and (state, fact.name) in TRANSITIONS:
            state = TRANSITIONS[state, fact.name]
        elif fact.name in MOVING:
            yield f"{fact.name} happened to a job that was {state}"
        if fact.name is E.REVISION_ORDERED:
            if fact.data["revision"] != revision:
                yield f"a revision was ordered after revision {fact.data['revision']}; it was {revision}"
            revision += 1
        if fact.name in NEW_ROUND or _begins_anew(fact, of_more):
            revision = 0
        losses = _losses_after(fact, losses)
    if job.state is not state:
        yield f"is {job.state}; its facts lead to {state}"
    if (job.revision, job.losses) != (revision, losses):
        yield f"has revision {job.revision} and {job.losses} losses; its facts say {revision} and {losses}"
    if losses > MAX_LOSSES:
        yield f"went on after {losses} losses"


def _in_states(told: Sequence[Fact]) -> Iterator[tuple[JobState | None, Fact]]:
    """Each fact with the state that it met."""
    state: JobState | None = None
    for fact in told:
        yield state, fact
        if fact.name in CLAIMS:
            state = JobState.QUEUED
        elif state is not None:
            state = TRANSITIONS.get((state, fact.name), state)


AS_MUCH_AGAIN = (Subject.EXHAUSTED, Subject.SCOPE_EXPANSION)
"""Decisions after which a role has its sessions once more."""


def _begins_anew(fact: Fact, of_more: set[int]) -> bool:
    """Whether a count of sessions begins again: a phase was ended, or as much again was allowed, or asked for."""
    if fact.name is E.GATE_REACHED:
        return fact.data.get("choice") == "expand_scope"
    accepted = fact.data.get("verb") == Verb.ACCEPT
    return fact.name is E.WORK_RESUMED and (accepted or fact.data.get("decision") in of_more)


def _losses_after(fact: Fact, losses: int) -> int:
    if fact.name is E.SESSION_LOST:
        return losses + 1
    begun_anew = fact.name is E.WORK_RESUMED and "verb" not in fact.data
    begun_anew = begun_anew or fact.name in NEW_TURN or (fact.name is E.ESCALATED and "role" in fact.data)
    return 0 if begun_anew or fact.name in (E.WORK_SUBMITTED, E.SESSION_STOPPED_SHORT) else losses


def _sessions(connection: sqlite3.Connection, job: Job, told: Sequence[Fact]) -> Iterator[str]:
    """One live session at most; each prepared once, started once, ended once, and a settled job has none left."""
    rows = sessions.of_job(connection, job.id)
    live = [session.id for session in rows if session.state is not SessionState.ENDED]
    if len(live) > 1:
        yield f"has {len(live)} live sessions: {', '.join(live)}"
    if not job.is_open and live:
        yield f"is {job.state} and has a live session, {live[0]}"
    if job.state is JobState.RUNNING and not live:
        yield "is running without a live session"
    known = {session.id for session in rows}
    counted = Counter((fact.name, str(fact.data.get("session"))) for fact in told)
    for (name, session), count in counted.items():
        if name in _ONCE_A_SESSION and (count > 1 or session not in known):
            yield f"{name} {count} times for {session}"
    for row in rows:
        yield from _session(row, counted)


_ONCE_A_SESSION = {
    *(E.SESSION_PREPARED, E.SESSION_STARTED, E.SESSION_ENDED, E.CHECK_STARTED, E.SETUP_STARTED),
    *(E.WORK_SUBMITTED, E.SESSION_LOST, E.SESSION_STOPPED_SHORT, E.CHECK_LOST, E.SETUP_LOST),
}


def _session(row: Session, counted: Counter[tuple[E, str]]) -> Iterator[str]:
    if row.kind in {SessionKind.REVIEW, SessionKind.DRAFT}:
        return  # no program runs: it is the account that calls of a review, or for a draft, go on
    if not counted[E.SESSION_PREPARED, row.id]:
        yield f"{row.id} was never prepared, says the ledger"
    has_ended, is_told = row.state is SessionState.ENDED, counted[E.SESSION_ENDED, row.id] == 1
    if has_ended != is_told:
        yield f"{row.id} is {row.state}, and its end is in the ledger {counted[E.SESSION_ENDED, row.id]} times"
    if has_ended and not row.cleared:
        yield f"{row.id} ended and what it held was not freed"


def _decisions(connection: sqlite3.Connection, job: Job, told: Sequence[Fact]) -> Iterator[str]:
    """What people were shown is what is stored; their answers are stored once and carried out once."""
    query = "SELECT * FROM decisions WHERE job_id = ? ORDER BY id"
    rows = select(connection, Decision, query, job.id)
    raised = {fact.data["decision"]: fact for fact in told if fact.name is E.DECISION_RAISED}
    answers = Counter(fact.data["decision"] for fact in told if fact.name is E.DECISION_ANSWERED)
    carried = Counter(
        fact.data["decision"]
        for fact in told
        if fact.name in MOVING and "decision" in fact.data and fact.name is not E.CONTRACT_EDITED
    )
    for number in set(raised) | set(answers) | set(carried):
        if not any(row.id == number for row in rows):
            yield f"decision {number} is in the ledger and in no row"
    for row in rows:
        number = row.id
        if number not in raised or raised[number].data["digest"] != row.digest:
            yield f"decision {number} is not what was raised"
        if answers[number] != (row.state is DecisionState.ANSWERED):
            yield f"decision {number} is {row.state} and was answered {answers[number]} times"
        if carried[number] != row.applied:
            yield f"decision {number} has applied={row.applied} and was carried out {carried[number]} times"
        if row.state is DecisionState.ANSWERED and not row.applied and row.session_id is None and job.is_open:
            yield from [f"the answer to decision {number} was never carried out"] * (row.verb in MOVES)
        if row.state is DecisionState.OPEN and not job.is_open:
            yield f"is {job.state} and decision {number} still asks people"
    if job.state is JobState.WAITING and not any(row.state is DecisionState.OPEN for row in rows):
        yield "waits for nothing that people could answer"
    if (
        len(waiting := [row.id for row in rows if row.state is DecisionState.OPEN and row.session_id is None])
        > 1
    ):
        yield f"waits for {len(waiting)} decisions at once: {waiting}"


def _evaluations(connection: sqlite3.Connection, job: Job, told: Sequence[Fact]) -> Iterator[str]:
    """Each verdict is one closed evaluation; a pass was made of checks that left a report, stored and hashed."""
    rows = connection.execute("SELECT closed FROM evaluations WHERE job_id = ?", (job.id,)).fetchall()
    past = evaluations.history(connection, job)
    if job.call_number is not None:
        return  # what code finds of a call is in its result
    verdicts = sum(state is JobState.EVALUATING and fact.name in VERDICTS for state, fact in _in_states(told))
    if verdicts != sum(row["closed"] for row in rows):
        yield f"has {verdicts} verdicts and {sum(row['closed'] for row in rows)} closed evaluations"
    made = sum(fact.name is E.CHECK_COMPLETED for fact in told)
    if made != sum(len(evaluation.checks) for evaluation in past):
        yield f"has {made} completed checks in the ledger, and another number of them in its evaluations"
    passed = [evaluation for evaluation in past if evaluation.overall is Verdict.PASS]
    for fact in told:
        if fact.name is E.PASSED and not any(item.head_sha == fact.data["head"] for item in passed):
            yield f"passed at {fact.data['head']} without an evaluation that says so"
    reports = {
        evidence_file.sha256
        for evidence_file in evidence.exhibits(connection, job.id)
        if evidence_file.kind == "report" and f"-{SessionKind.CHECK}-" in (evidence_file.session_id or "")
    }
    for evaluation in passed:
        yield from _unproved(evaluation, reports)
    if job.state in (JobState.DELIVERING, JobState.IN_REVIEW) and not any(
        evaluation.head_sha == job.head_sha for evaluation in passed
    ):
        yield f"is {job.state} with a head that passed no evaluation"


def _unproved(evaluation: EvaluationResult, reports: Iterable[str]) -> Iterator[str]:
    proved = set(reports)
    for check in evaluation.checks:
        if check.name in (CheckName.TESTS, CheckName.LINT) and not _is_proved(check, proved):
            yield f"{check.name} of {evaluation.head_sha[:12]} passed without a report as evidence"


def _is_proved(check: CheckResult, reports: set[str]) -> bool:
    return bool(reports & set(check.evidence))


def _exhibits(connection: sqlite3.Connection, store: EvidenceStore) -> Iterator[str]:
    """Every piece of evidence that is named is there, and is what its name says."""
    rows = evidence.exhibits(connection)
    named = {evidence_file.sha256 for evidence_file in rows}
    removed = named - {evidence_file.sha256 for evidence_file in rows if evidence_file.removed_at is None}
    cited = {
        digest
        for fact in facts(connection)
        if fact.name is E.CHECK_COMPLETED
        for digest in fact.data["evidence"]
    }
    yield from (f"evidence {digest[:12]} is cited and has no row" for digest in cited - named)
    for digest in (named | cited) - removed:
        try:
            store.get(digest)
        except StoreError as error:
            yield str(error)


def _spending(connection: sqlite3.Connection) -> Iterator[str]:
    """What a budget was said to have spent never falls, and no exchange gives anything back."""
    spent: dict[str, int] = {}
    for entry in ledger.entries(connection):
        if entry.name not in (E.BUDGET_WARNED, E.BUDGET_SPENT):
            continue
        data = json.loads(entry.data)
        whose = f"{data['budget']} of job {entry.job_id} on {entry.at[:10]}"
        if data["session"] and "session" in data["budget"]:
            whose += f" {data['session']}"
        if data["spent"] < spent.get(whose, 0):
            yield f"{whose} had spent {spent[whose]}, and then {data['spent']}"
        spent[whose] = data["spent"]
    query = """SELECT id FROM exchanges WHERE prompt < 0 OR completion < 0 OR coalesce(cost_nusd, 0) < 0
               OR settled AND status IS NULL"""
    yield from (f"exchange {row['id']} gives something back" for row in connection.execute(query))
