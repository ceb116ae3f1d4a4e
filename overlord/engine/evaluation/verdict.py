"""EVALUATING → on its way, back to the queue, or to people: what the checks of an evaluation mean together."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace

from minion.protocol import Finding
from overlord.domain.checks.integrity import hunks_first
from overlord.domain.checks.testruns.red import FAILING_BEFORE
from overlord.domain.contracts.turn import Turn
from overlord.domain.convergence import Standstill, previous, standstill
from overlord.domain.decision import Subject
from overlord.domain.evaluation import (
    ABOUT_TESTS,
    SHOWN_LAST,
    CheckName,
    CheckResult,
    CheckScore,
    RevisionRequest,
    Verdict,
    describe,
    ordered,
    overall,
)
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job, JobChanges
from overlord.domain.question import ask, never_granted
from overlord.domain.scope.check import OUTSIDE
from overlord.domain.skills.file import touches_skills
from overlord.domain.text.plain import code_block, defused_line
from overlord.engine.bootstrap import init_job
from overlord.engine.contracts import carry_on, escalate
from overlord.engine.contracts.carry_on import Way
from overlord.engine.contracts.escalate import Target
from overlord.engine.contracts.judge import Wanted
from overlord.engine.contracts.move import Move
from overlord.engine.delivery import deliver
from overlord.engine.evaluation import diagnose
from overlord.engine.evaluation.required import required
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions.evaluation_input import EvaluationInput, evaluation_input_of
from overlord.failpoints import Failpoint
from overlord.store import decisions
from overlord.store.checks import evaluations
from overlord.store.checks.evaluations import EvaluationRow
from overlord.store.evidence import EvidenceFile, record
from overlord.store.portfolio import facts

_SHOWN = (Subject.PROTECTED_CHANGE, Subject.CHANGED_TESTS, Subject.UNPROVEN)
"""Decisions about a change that is delivered as it is, which has to be seen for that."""
SHOWN_CHARS = 3_000
"""Of findings in a decision; all of them are in the evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Concluded:
    """What is known when an evaluation is over."""

    row: EvaluationRow
    wanted: Wanted
    verdict: Verdict
    evaluation_input: EvaluationInput
    way: Way | None
    """Where the job goes when it passed."""
    told: EvidenceFile | None = None
    """What a model said of what failed, where that is among the findings."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return ordered(finding for check in self.row.checks for finding in check.findings)

    @property
    def checks(self) -> str:
        """Each check in a few words."""
        return "; ".join(f"{check.name}: {check.summary}" for check in self.row.checks)


async def conclude(parts: Parts, job: Job, row: EvaluationRow, wanted: Wanted) -> Progress:
    """Write the verdict down, with what follows."""
    verdict = overall(row.checks, required(parts, job.space, row, wanted))
    if verdict is not Verdict.PASS and job.pushed_sha == row.head_sha:
        await deliver.set_status(
            parts, job, state="failure", description=f"evaluation: {verdict.replace('_', ' ')}"
        )
    evaluation_input = await evaluation_input_of(parts, job, row.head_sha)
    event = await parts.database.read(lambda c: _event(c, row, verdict, job, wanted.turn)[0])
    told = None
    if event is EventName.REVISION_ORDERED:
        row, told = await diagnose.diagnosed(parts, job, row, evaluation_input.diff)
    concluded = _Concluded(
        row=row,
        wanted=wanted,
        verdict=verdict,
        evaluation_input=evaluation_input,
        told=told,
        way=await carry_on.prepare(parts, job, wanted.outcome) if verdict is Verdict.PASS else None,
    )
    await parts.database.write(Failpoint.VERDICT_WRITTEN, lambda c: _write_verdict(c, parts, job, concluded))
    return Progress.MOVED


def _write_verdict(connection: sqlite3.Connection, parts: Parts, job: Job, made: _Concluded) -> None:
    row, turn = made.row, made.wanted.turn
    if made.told is not None:
        record(connection, made.told)
        evaluations.explain(connection, row)
    evaluations.close(connection, row, made.verdict)
    _note_base(connection, job, row)
    event, stuck = _event(connection, row, made.verdict, job, turn)
    data: dict[str, Json] = {"head": row.head_sha, "revision": job.revision, "checks": made.checks}
    if stuck is not None and event is EventName.ATTEMPTS_SPENT:
        data["standstill"] = stuck.reason()
    move = Move(connection=connection, parts=parts, job=job, turn=turn, data=data)
    if event is EventName.PASSED:
        assert made.way is not None
        carry_on.go(move, made.way)
    elif event is EventName.REVISION_ORDERED:
        _send_back(move, made)
    elif not _handed_up(move, made, event, stuck):
        _ask(move, made, event, stuck)


def _event(
    connection: sqlite3.Connection, row: EvaluationRow, verdict: Verdict, job: Job, turn: Turn
) -> tuple[EventName, Standstill | None]:
    """What a verdict means for its job, and whether its revisions bring nothing more."""
    past = evaluations.history(connection, job)
    before = previous(past)
    stuck = standstill(before, past[-1]) if before is not None else None
    return verdict_event(verdict, row.checks, job, turn, stuck=stuck is not None), stuck


def _note_base(connection: sqlite3.Connection, job: Job, row: EvaluationRow) -> None:
    """Which tests fail at base and with the change, and are not what the job is about: they are for an initiative of their own."""
    tests = next((check for check in row.checks if check.name is CheckName.TESTS and check.score), None)
    if tests is not None:
        before = [finding for finding in tests.findings if finding.rule == FAILING_BEFORE]
        facts.note_base(connection, job.id, (f"{item.file or ''} {item.message}".strip() for item in before))


def _send_back(move: Move, made: _Concluded) -> None:
    """Another session of the same role. Under a contract of version 2 it begins where this one began."""
    job, keeps = move.job, move.turn.contract.keeps_misses
    order = RevisionRequest(job_id=job.id, revision_number=job.revision + 1, findings=made.findings)
    move = move.saying(findings=[describe(finding) for finding in order.findings])
    changes: JobChanges = {"revision": order.revision_number, "reason": made.checks}
    if keeps:
        move.to(EventName.REVISION_ORDERED, **changes)
        return
    before, role = escalate.before_turn(job), move.turn.role_name
    changes["head_sha"] = before
    move.saying(role=role).to(EventName.REVISION_ORDERED, **changes)
    if before != job.head_sha:
        reverted: dict[str, Json] = {"role": role, "from": job.head_sha, "to": before}
        replace(move, data=reverted).note(EventName.WORK_REVERTED)


def _handed_up(move: Move, made: _Concluded, event: EventName, stuck: Standstill | None) -> bool:
    """Whether the contract says who goes on where the work did not pass; then it is done."""
    subject, target = subject_of(event, made.row.checks), Target.PERSON
    if move.turn.contract.keeps_misses:
        return False
    if event is EventName.ATTEMPTS_SPENT and subject is Subject.ESCALATION:
        target = escalate.when_exhausted(move.connection, move.turn, move.job)
    elif event is EventName.FAILED and subject is Subject.SCOPE:
        target = escalate.by_chain(move.connection, move.turn, move.job)
    return escalate.to(move, target, _account(made, event, stuck), event)


def _ask(move: Move, made: _Concluded, event: EventName, stuck: Standstill | None) -> None:
    """A person is asked."""
    evaluation_input, findings = made.evaluation_input, made.findings
    moved = move.to(event, reason=made.checks)
    subject = subject_of(event, made.row.checks)
    is_init = init_job.read(move.connection, move.job) is not None
    if subject is Subject.ESCALATION and is_init and made.wanted.turn.phase_name == init_job.PROPOSE:
        subject = Subject.CONTRACT_INVALID
    body = _account(made, event, stuck)
    touched = tuple(path for change in evaluation_input.changes for path in change.paths)
    body += "".join(f"\n\n{note}" for note in unchangeable(touched))
    if subject in _SHOWN or any(map(touches_skills, touched)):
        shown = hunks_first(evaluation_input.changes, evaluation_input.diff, findings, limit_chars=16_000)
        body += "\n\n" + code_block(move.parts.current.redactor.redact(shown), limit=20_000)
    patterns = _grantable(subject, findings)
    decisions.raise_decision(move.connection, ask(moved, subject, body, at=move.at, patterns=patterns))


def _account(made: _Concluded, event: EventName, stuck: Standstill | None) -> str:
    """The evaluation for whoever is asked, with why there was no other revision."""
    text = explain(made.row.checks, made.findings)
    if stuck is None or event is not EventName.ATTEMPTS_SPENT:
        return text
    reason = defused_line(stuck.reason())
    return f"{reason[:1].upper()}{reason[1:]}. Another revision would bring no more.\n\n{text}"


def _grantable(subject: Subject, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """The paths that a grant could settle: of a change that goes outside; of the last revision, what it was not to write."""
    if subject not in (Subject.SCOPE, Subject.ESCALATION):
        return ()
    is_outside = subject is Subject.SCOPE
    found = (item.file for item in findings if item.file and (is_outside or item.rule == OUTSIDE))
    return tuple(dict.fromkeys(found))


def unchangeable(paths: tuple[str, ...]) -> Iterator[str]:
    """What no answer to a decision changes, in sentences: better said than tried."""
    if closed := never_granted(paths):
        text = f"{defused_line(closed[0])}{f' and {len(closed) - 1} more' if len(closed) > 1 else ''}"
        yield f"No grant opens {text} to a session: take the work over and make that change yourself, or have it done without."
    if skills := sorted({path for path in paths if touches_skills(path)}):
        yield (
            f"{defused_line(', '.join(skills[:5]))}: a skill tells every later session what to do. "
            "Read each line that is named before you take it over; what `overlord skills validate` rejects is given to none."
        )


def verdict_event(
    verdict: Verdict,
    checks: tuple[CheckResult, ...],
    job: Job,
    turn: Turn,
    *,
    stuck: bool,
) -> EventName:
    """What an evaluation's verdict means for its job, by the role's count of sessions; `passed` for what goes on.

    `stuck`: the findings are no fewer than those of the attempt before, so another would bring nothing.
    """
    if verdict is Verdict.PASS:
        if any(made.subject for made in checks):
            return EventName.GATE_REACHED
        return EventName.PASSED
    if verdict is Verdict.FAIL:
        return EventName.FAILED
    if verdict is Verdict.UNAVAILABLE:
        return EventName.CHECKS_UNAVAILABLE
    spent = job.revision + 1 >= turn.iterations
    return EventName.ATTEMPTS_SPENT if spent or stuck else EventName.REVISION_ORDERED


def subject_of(event: EventName, checks: tuple[CheckResult, ...]) -> Subject:
    """What the decision is about that a job now waits for."""
    sound = (CheckScore.PASS, CheckScore.NOT_JUDGED)
    if event is EventName.ATTEMPTS_SPENT:
        against = [made for made in checks if made.score not in sound]
        return Subject.CHANGED_TESTS if against and all(map(_is_about_tests, against)) else Subject.ESCALATION
    decisive = [made for made in checks if made.score not in sound] or list(checks)
    named = [made.subject for made in decisive if made.subject]
    if named:
        return Subject(named[0])
    return Subject.FAILED if event is EventName.FAILED else Subject.CHECKS_UNAVAILABLE


def _is_about_tests(made: CheckResult) -> bool:
    """Whether all that a check holds against a change is what it made of tests, which a person may find right."""
    rules = {found.rule for found in made.findings} - SHOWN_LAST
    return bool(rules) and rules <= ABOUT_TESTS


def explain(checks: tuple[CheckResult, ...], findings: tuple[Finding, ...]) -> str:
    """The evaluation for people: each check in a line, then the findings."""
    lines = [f"- {made.name}: {made.score or 'not made'}: {defused_line(made.summary)}" for made in checks]
    if not findings:
        return "\n".join(lines)
    return "\n".join(lines) + "\n\n" + code_block(_findings_text(findings))


def _findings_text(findings: tuple[Finding, ...]) -> str:
    """The gravest come first, and stay where they are too many to be shown."""
    lines = list[str]()
    for finding in findings:
        lines.append(describe(finding))
        if sum(map(len, lines)) > SHOWN_CHARS:
            break
    more = len(findings) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more"] if more else [])])
