"""EVALUATING → DELIVERING, QUEUED or WAITING: scope on our own diff, then the repository's tests in a check session."""

import sqlite3

from minion.protocol import CheckReport, CheckStep, SessionKind
from overlord.domain.contract import Contract
from overlord.domain.decision import Subject, ask
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore, Verdict, describe, ordered, overall
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.scope import check_scope
from overlord.domain.session import MAX_LOSSES, Ending, EndKind, Session, SessionState
from overlord.domain.testing import TESTS_STEP, judge_tests, unclear
from overlord.domain.text import code_block
from overlord.engine import deliver, dispatch
from overlord.engine import ending as endings
from overlord.engine.parts import Parts
from overlord.errors import RunnerRefused
from overlord.ports import RepositoryName, Sha
from overlord.store import decisions, evaluations, jobs, sessions
from overlord.store.evaluations import EvaluationRow


async def step(parts: Parts, job: Job) -> bool:
    """Make the next check that is missing, or conclude when none is."""
    row = await parts.database.write(lambda c: evaluations.current(c, job, at=parts.clock.now()))
    if not row.made(CheckName.SCOPE):
        await _check_scope(parts, job, row)
        return True
    if stands_in_the_way(row.checks):
        return await _conclude(parts, job, row)
    await deliver.push_draft(parts, job)
    if not row.made(CheckName.TESTS):
        return await _check_tests(parts, job, row)
    return await _conclude(parts, job, row)


def stands_in_the_way(checks: tuple[CheckResult, ...]) -> bool:
    """Whether a check that came first makes the later ones pointless: nothing out of scope is pushed or run."""
    return any(check.score is not CheckScore.PASS for check in checks if check.name is CheckName.SCOPE)


async def _check_scope(parts: Parts, job: Job, row: EvaluationRow) -> None:
    scope = await dispatch.scope_of(parts, job)
    base, head = Sha(job.base_sha or ""), Sha(row.head_sha)
    changes = await parts.git.changes(RepositoryName(job.space), base, head)
    last = await parts.database.read(lambda c: sessions.last_of(c, job.id, SessionKind.WORK))
    result = check_scope(scope, changes, last.dropped if last is not None else ())
    await parts.database.write(lambda c: evaluations.add_check(c, row, result, at=parts.clock.now()))


async def _check_tests(parts: Parts, job: Job, row: EvaluationRow) -> bool:
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    if session is None:
        wanted = CheckStep(name=TESTS_STEP, timeout_s=parts.settings.checks.tests_s)
        return await dispatch.check_session(parts, job, (wanted,))
    if session.state is SessionState.PREPARED:
        return await _start(parts, job, row, session)
    over = await endings.over(parts, session)
    if over is None:
        return False
    if await _to_be_repeated(parts, job, row, over):
        await parts.database.write(lambda c: _lose(c, parts, job, over))
        await endings.clear(parts, over.session)
        return True
    report = over.session.report if isinstance(over.session.report, CheckReport) else None
    await _finish(parts, row, judge_tests(report, over.ending), over)
    return True


async def _to_be_repeated(parts: Parts, job: Job, row: EvaluationRow, over: endings.Over) -> bool:
    """Whether a check session was lost to infrastructure and is worth another try; it spends no attempt."""
    by_itself = over.ending.kind in (EndKind.EXITED, EndKind.KILLED, EndKind.LOST)
    if over.session.report is not None or over.session.stop_reason is not None or not by_itself:
        return False
    tried = await parts.database.read(lambda c: sessions.count_since(c, job.id, SessionKind.CHECK, row.at))
    return tried <= MAX_LOSSES


def _lose(connection: sqlite3.Connection, parts: Parts, job: Job, over: endings.Over) -> None:
    endings.close(connection, parts, over)
    data: dict[str, Json] = {"session": over.session.id, "ending": over.ending.kind}
    jobs.note(connection, job.id, EventName.CHECK_LOST, at=parts.clock.now(), data=data)


async def _start(parts: Parts, job: Job, row: EvaluationRow, session: Session) -> bool:
    if session.door_opened_at is None:
        return False
    try:
        await dispatch.launch(parts, job, session)
    except RunnerRefused as error:
        refused = endings.Over(session=session, ending=Ending(kind=EndKind.LOST, detail=str(error)))
        await _finish(parts, row, unclear(f"the check session was refused: {error}"), refused)
        return True

    def started(connection: sqlite3.Connection) -> None:
        at = parts.clock.now()
        sessions.start(connection, session, at=at)
        jobs.note(connection, job.id, EventName.CHECK_STARTED, at=at, data={"session": session.id})

    await parts.database.write(started)
    return True


async def _finish(parts: Parts, row: EvaluationRow, result: CheckResult, over: endings.Over) -> None:
    def finished(connection: sqlite3.Connection) -> None:
        endings.close(connection, parts, over)
        evaluations.add_check(connection, row, result, at=parts.clock.now())

    await parts.database.write(finished)
    await endings.clear(parts, over.session)


async def _conclude(parts: Parts, job: Job, row: EvaluationRow) -> bool:
    contract = parts.contract(job.space)
    await parts.database.write(lambda c: _write_verdict(c, parts, job, row, contract))
    return True


def _write_verdict(
    connection: sqlite3.Connection, parts: Parts, job: Job, row: EvaluationRow, contract: Contract
) -> None:
    evaluations.close(connection, row)
    event = verdict_event(overall(row.checks), job, contract)
    at, reason = parts.clock.now(), "; ".join(f"{check.name}: {check.summary}" for check in row.checks)
    data: dict[str, Json] = {"head": row.head_sha, "revision": job.revision, "checks": reason}
    if event is EventName.REVISION_ORDERED:
        jobs.move(connection, job.id, event, at=at, data=data, revision=job.revision + 1, reason=reason)
        return
    jobs.move(connection, job.id, event, at=at, data=data, reason=reason)
    if event is EventName.PASSED:
        return
    patterns = tuple(finding.file or "" for finding in ordered(f for c in row.checks for f in c.findings))
    subject = subject_of(event, row.checks)
    decision = ask(
        job,
        subject,
        explain(row.checks),
        at=at,
        patterns=tuple(dict.fromkeys(filter(None, patterns))) if subject is Subject.SCOPE else (),
    )
    decisions.raise_decision(connection, decision)


def verdict_event(verdict: Verdict, job: Job, contract: Contract) -> EventName:
    """What an evaluation's verdict means for its job, by the contract's count of attempts."""
    if verdict is Verdict.PASS:
        return EventName.PASSED
    if verdict is Verdict.FAIL:
        return EventName.FAILED
    if verdict is Verdict.UNAVAILABLE:
        return EventName.CHECKS_UNAVAILABLE
    spent = job.revision + 1 >= contract.phase(job.phase).attempts
    return EventName.ATTEMPTS_SPENT if spent else EventName.REVISION_ORDERED


def subject_of(event: EventName, checks: tuple[CheckResult, ...]) -> Subject:
    """What the decision is about that a job now waits for."""
    if event is EventName.ATTEMPTS_SPENT:
        return Subject.ESCALATION
    named = [check.subject for check in checks if check.subject and check.score is not CheckScore.PASS]
    if named:
        return Subject(named[0])
    return Subject.FAILED if event is EventName.FAILED else Subject.CHECKS_UNAVAILABLE


def explain(checks: tuple[CheckResult, ...]) -> str:
    """The evaluation for people: each check in a line, then the findings."""
    lines = [f"- {check.name}: {check.score or 'not made'}: {check.summary}" for check in checks]
    found = ordered(finding for check in checks for finding in check.findings)
    if not found:
        return "\n".join(lines)
    return "\n".join(lines) + "\n\n" + code_block("\n".join(describe(finding) for finding in found))
