"""EVALUATING → DELIVERING, QUEUED or WAITING: each check in turn on Overlord's own diff, then the verdict.

Scope and integrity need no session. Tests and lint run in one check session. The review comes last and only when
everything else passed: it can lower a verdict, never raise one.
"""

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping

from minion.protocol import Finding, SessionKind
from overlord.domain.checks.file import ChecksFileError
from overlord.domain.checks.integrity import IntegrityLimits, check_integrity, hunks_first
from overlord.domain.contracts.contract import DONE
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import Subject
from overlord.domain.evaluation import (
    ABOUT_TESTS,
    REQUIRED,
    SHOWN_LAST,
    CheckName,
    CheckResult,
    CheckScore,
    RevisionRequest,
    Verdict,
    describe,
    ordered,
    overall,
    same_findings,
)
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.question import ask, never_granted
from overlord.domain.scope.check import OUTSIDE, SYMLINK_MODE, check_scope
from overlord.domain.skills.file import touches_skills
from overlord.domain.text.plain import code_block, defused_line
from overlord.engine.delivery import deliver
from overlord.engine.evaluation import check, review
from overlord.engine.evaluation.change_context import compared_tests
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.scope.allow import scope_of, settled
from overlord.engine.sessions import dependencies
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.engine.sessions.evaluation_input import (
    EvaluationInput,
    checks_of,
    evaluation_input_of,
    kept_in_lfs,
)
from overlord.engine.skills import select_skills, skill_job
from overlord.failpoints import Failpoint
from overlord.store import decisions, jobs, sessions
from overlord.store.checks import evaluations
from overlord.store.checks.evaluations import EvaluationRow

_SHOWN = (Subject.PROTECTED_CHANGE, Subject.CHANGED_TESTS, Subject.UNPROVEN)
"""Decisions about a change that is delivered as it is, which has to be seen for that."""
SHOWN_CHARS = 3_000
"""Of findings in a decision; all of them are in the evaluation."""
READ_AT_ONCE = 8
"""Binary files that are held at a time while they are looked through."""


async def step(parts: Parts, job: Job) -> Progress:
    """Make the next check that is missing, or conclude when none is."""
    row = await parts.database.write(
        Failpoint.EVALUATION_BEGUN, lambda c: evaluations.current(c, job, at=parts.clock.now())
    )
    if not row.made(CheckName.INTEGRITY):
        row = await _judge_diff(parts, job, row)
    if stands_in_the_way(row.checks):
        return await _conclude(parts, job, row)
    if not row.made(CheckName.LINT):
        # What runs is started first; then there is time to show the work.
        return await check.step(parts, job, row) or await _push_draft(parts, job, row)
    wanted = required(parts, job.space, row)
    if not row.made(CheckName.REVIEW) and CheckName.REVIEW in wanted and overall(row.checks) is Verdict.PASS:
        await _push_draft(parts, job, row)
        return await review.step(parts, job, row)
    return await _conclude(parts, job, row)


def required(parts: Parts, space: str, row: EvaluationRow) -> tuple[CheckName, ...]:
    """The checks a pass needs here."""
    return (*REQUIRED, CheckName.REVIEW) if check.is_reviewed(parts, space, row) else REQUIRED


def stands_in_the_way(checks: tuple[CheckResult, ...]) -> bool:
    """Whether what came first makes running anything pointless: a hard fail, or nothing that could be judged."""
    return any(made.score is CheckScore.FAIL for made in checks) or any(
        finding.rule == "empty-change" for made in checks for finding in made.findings
    )


async def _push_draft(parts: Parts, job: Job, row: EvaluationRow) -> Progress:
    """Let people watch: what passed scope and integrity becomes a draft while it is checked."""
    if all(made.score is CheckScore.PASS for made in row.checks):
        return await deliver.push_draft(parts, job)
    return Progress.IDLE


async def _judge_diff(parts: Parts, job: Job, row: EvaluationRow) -> EvaluationRow:
    """Scope and integrity, on our own diff."""
    scope = await scope_of(parts, job)
    evaluation_input = await evaluation_input_of(parts, job, row.head_sha)
    last = await parts.database.read(lambda c: sessions.last_of(c, job.id, SessionKind.WORK))
    own = evaluation_input.changes  # of this phase alone, where an earlier one has its commits below
    if job.phase_base != evaluation_input.base:
        own = await parts.git.changes(job.space, job.phase_base, evaluation_input.head)
    dropped = last.dropped if last is not None else ()
    accepted = (await settled(parts, job, evaluation_input.head, own)).accepted
    scoped = check_scope(scope, own, dropped, large=await kept_in_lfs(parts, job, dropped), accepted=accepted)
    skills = await select_skills.changed_skills(parts, job, evaluation_input.head, evaluation_input.changes)
    special, results = await skill_job.of(parts, job), [scoped]
    if special is not None:
        results.append(
            await special.check(parts, job, evaluation_input.head, evaluation_input.changes, skills)
        )
        skills = special.with_approved_noted(skills)
    sizes = await _sizes(parts, job, evaluation_input)
    sound = await asyncio.to_thread(  # a large diff takes most of a second
        check_integrity,
        evaluation_input.changes,
        evaluation_input.diff,
        await _link_targets(parts, job, evaluation_input),
        sizes,
        IntegrityLimits(),
        approved=await dependencies.approved(parts, job, evaluation_input.base),
        skills=skills,
        approved_skill=special.draft.path if special and results[-1].score is CheckScore.PASS else "",
        known=parts.current.redactor,
        binaries=await _in_binaries(parts, job, evaluation_input, sizes),
        compared=await compared_tests(
            parts, job, evaluation_input, deletions=await _by_exit_code(parts, job)
        ),
    )

    def made(connection: sqlite3.Connection) -> EvaluationRow:
        for result in (*results, sound):
            evaluations.add_check(connection, row, result, at=parts.clock.now())
        return evaluations.current(connection, job, at=parts.clock.now())

    return await parts.database.write(Failpoint.DIFF_JUDGED, made)


async def _by_exit_code(parts: Parts, job: Job) -> bool:
    """Whether no run tells which tests there are, so that one that is gone has to be seen in the diff."""
    try:
        checks = await checks_of(parts, job)
    except (ChecksFileError, EnvironmentFailed):
        return True
    return checks is not None and checks.tests is not None and checks.tests.by_exit_code


async def _link_targets(parts: Parts, job: Job, evaluation_input: EvaluationInput) -> dict[str, str]:
    targets = {}
    for change in evaluation_input.changes:
        if change.new_mode == SYMLINK_MODE:
            content = await parts.git.read_file(job.space, evaluation_input.head, change.path)
            if content is not None:
                targets[change.path] = content.decode(errors="backslashreplace")
    return targets


async def _in_binaries(
    parts: Parts, job: Job, evaluation_input: EvaluationInput, sizes: Mapping[str, int]
) -> dict[str, str]:
    """How a secret of Overlord's is written in each binary file of a change; what is too large is left out."""
    name, search, limit = job.space, parts.current.redactor.search, IntegrityLimits().file_bytes
    paths = [
        item.path
        for item in evaluation_input.changes
        if item.binary and sizes.get(item.path, limit + 1) <= limit
    ]
    found: dict[str, str] = {}
    for start in range(0, len(paths), READ_AT_ONCE):
        some = paths[start : start + READ_AT_ONCE]
        for path, content in (
            await parts.git.read_files(name, evaluation_input.head, some, limit_bytes=limit)
        ).items():
            found[path] = await asyncio.to_thread(search.written_in, content.decode(errors="replace"))
    return found


async def _sizes(parts: Parts, job: Job, evaluation_input: EvaluationInput) -> dict[str, int]:
    changed = {change.path for change in evaluation_input.changes}
    known = await parts.git.sizes(job.space, evaluation_input.head)
    return {path: size for path, size in known.items() if path in changed}


async def _conclude(parts: Parts, job: Job, row: EvaluationRow) -> Progress:
    turn = await parts.turn_of(job)
    verdict = overall(row.checks, required(parts, job.space, row))
    if verdict is not Verdict.PASS and job.pushed_sha == row.head_sha:
        await deliver.set_status(
            parts, job, state="failure", description=f"evaluation: {verdict.replace('_', ' ')}"
        )
    evaluation_input = await evaluation_input_of(parts, job, row.head_sha)
    await parts.database.write(
        Failpoint.VERDICT_WRITTEN, lambda c: _write_verdict(c, parts, job, row, turn, evaluation_input)
    )
    return Progress.MOVED


def _write_verdict(  # noqa: PLR0917
    connection: sqlite3.Connection,
    parts: Parts,
    job: Job,
    row: EvaluationRow,
    turn: Turn,
    evaluation_input: EvaluationInput,
) -> None:
    evaluations.close(connection, row)
    past = evaluations.history(connection, job)
    repeated = job.revision > 0 and len(past) > 1 and same_findings(past[-1], past[-2])
    event = verdict_event(
        overall(row.checks, required(parts, job.space, row)), row.checks, job, turn, repeated=repeated
    )
    at, reason = parts.clock.now(), "; ".join(f"{made.name}: {made.summary}" for made in row.checks)
    data: dict[str, Json] = {"head": row.head_sha, "revision": job.revision, "checks": reason}
    findings = ordered(finding for made in row.checks for finding in made.findings)
    if event is EventName.REVISION_ORDERED:
        order = RevisionRequest(job_id=job.id, revision_number=job.revision + 1, findings=findings)
        data["findings"] = [describe(finding) for finding in order.findings]
        jobs.move(connection, job.id, event, at=at, data=data, revision=order.revision_number, reason=reason)
        return
    following = turn.phase.next.get(DONE)
    if event is EventName.PHASE_COMPLETED and following is not None:
        jobs.move(
            connection, job.id, event, at=at, data=data, phase=following, phase_sha=row.head_sha, revision=0
        )
        return
    jobs.move(connection, job.id, event, at=at, data=data, reason=reason)
    if event is EventName.PASSED:
        return
    subject = subject_of(event, row.checks)
    body = explain(row.checks, findings)
    if repeated:
        body = f"The revision brought the very same findings as before.\n\n{body}"
    touched = tuple(path for change in evaluation_input.changes for path in change.paths)
    body += "".join(f"\n\n{note}" for note in unchangeable(touched))
    if subject in _SHOWN or any(map(touches_skills, touched)):
        shown = hunks_first(evaluation_input.changes, evaluation_input.diff, findings, limit_chars=16_000)
        body += "\n\n" + code_block(parts.current.redactor.redact(shown), limit=20_000)
    decisions.raise_decision(
        connection, ask(job, subject, body, at=at, patterns=_grantable(subject, findings))
    )


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
    repeated: bool,
) -> EventName:
    """What an evaluation's verdict means for its job, by the contract's count of attempts.

    `repeated`: the findings are the very same as those of the attempt before, so another would bring nothing.
    """
    if verdict is Verdict.PASS:
        if any(made.subject for made in checks):
            return EventName.GATE_REACHED
        return EventName.PHASE_COMPLETED if turn.phase.next else EventName.PASSED
    if verdict is Verdict.FAIL:
        return EventName.FAILED
    if verdict is Verdict.UNAVAILABLE:
        return EventName.CHECKS_UNAVAILABLE
    spent = job.revision + 1 >= turn.iterations
    return EventName.ATTEMPTS_SPENT if spent or repeated else EventName.REVISION_ORDERED


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
