"""EVALUATING → DELIVERING, QUEUED or WAITING: each check in turn on Overlord's own diff, then the verdict.

Scope and integrity need no session. Tests and lint run in one check session. The review comes last and only when
everything else passed: it can lower a verdict, never raise one.
"""

import asyncio
import sqlite3
from collections.abc import Mapping
from dataclasses import replace

from minion.protocol import SessionKind
from overlord.domain.checks.file import ChecksFileError
from overlord.domain.checks.integrity import IntegrityLimits, check_integrity
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore, Verdict, overall
from overlord.domain.job import Job
from overlord.domain.scope.check import OUTSIDE, SYMLINK_MODE, check_scope
from overlord.domain.text.plain import defused_line
from overlord.engine.contracts import confirmed, judge
from overlord.engine.contracts.judge import Wanted
from overlord.engine.delivery import deliver
from overlord.engine.evaluation import check, review
from overlord.engine.evaluation.change_context import compared_tests
from overlord.engine.evaluation.required import required
from overlord.engine.evaluation.verdict import conclude
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
from overlord.store import sessions
from overlord.store.checks import evaluations
from overlord.store.checks.evaluations import EvaluationRow

READ_AT_ONCE = 8
"""Binary files that are held at a time while they are looked through."""


async def step(parts: Parts, job: Job) -> Progress:
    """Make the next check that is missing, or conclude when none is."""
    row = await parts.database.write(
        Failpoint.EVALUATION_BEGUN, lambda c: evaluations.current(c, job, at=parts.clock.now())
    )
    wanted = await judge.wanted(parts, job)
    if not row.made(CheckName.INTEGRITY):
        row = await _judge_diff(parts, job, row, wanted)
    if stands_in_the_way(row.checks):
        return await conclude(parts, job, row, wanted)
    needed = required(parts, job.space, row, wanted)
    if not all(row.made(name) for name in needed if name is not CheckName.REVIEW):
        # What runs is started first; then there is time to show the work.
        return await check.step(parts, job, row, wanted) or await _push_draft(parts, job, row, wanted)
    is_good = overall(row.checks, [name for name in needed if name is not CheckName.REVIEW]) is Verdict.PASS
    if not row.made(CheckName.REVIEW) and CheckName.REVIEW in needed and is_good:
        await _push_draft(parts, job, row, wanted)
        return await review.step(parts, job, row)
    return await conclude(parts, job, row, wanted)


def stands_in_the_way(checks: tuple[CheckResult, ...]) -> bool:
    """Whether what came first makes running anything pointless: a hard fail, or nothing that could be judged."""
    return any(made.score is CheckScore.FAIL for made in checks) or any(
        finding.rule == "empty-change" for made in checks for finding in made.findings
    )


async def _push_draft(parts: Parts, job: Job, row: EvaluationRow, wanted: Wanted) -> Progress:
    """Let people watch: what passed scope and integrity becomes a draft while it is checked, once all of it is."""
    if wanted.evaluation and all(made.score is CheckScore.PASS for made in row.checks):
        return await deliver.push_draft(parts, job)
    return Progress.IDLE


async def _judge_diff(parts: Parts, job: Job, row: EvaluationRow, wanted: Wanted) -> EvaluationRow:
    """Scope and integrity, on our own diff."""
    evaluation_input = await evaluation_input_of(parts, job, row.head_sha)
    scoped = await _judge_scope(parts, job, evaluation_input, wanted)
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
        approved_file=special.draft.path
        if special and results[-1].score is CheckScore.PASS
        else await confirmed.asked_path(parts, job),
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


async def _judge_scope(
    parts: Parts, job: Job, evaluation_input: EvaluationInput, wanted: Wanted
) -> CheckResult:
    """What whose turn it was changed, against what it may write; earlier roles have their commits below."""
    scope, own = await scope_of(parts, job), evaluation_input.changes
    last = await parts.database.read(lambda c: sessions.last_of(c, job.id, SessionKind.WORK))
    if job.role_base != evaluation_input.base:
        own = await parts.git.changes(job.space, job.role_base, evaluation_input.head)
    dropped = last.dropped if last is not None else ()
    scoped = check_scope(
        scope,
        own,
        dropped,
        large=await kept_in_lfs(parts, job, dropped),
        accepted=(await settled(parts, job, evaluation_input.head, own)).accepted,
        may_be_empty=wanted.has_terms and _has_work(wanted, evaluation_input),
    )
    return structural(wanted, scoped) if wanted.has_terms else scoped


def _has_work(wanted: Wanted, evaluation_input: EvaluationInput) -> bool:
    """Whether a role that changed nothing may pass: another one did, or nothing of the repository is asked for yet."""
    return wanted.may_be_empty or bool(evaluation_input.changes)


def structural(wanted: Wanted, scoped: CheckResult) -> CheckResult:
    """The check of the scope, failed where a role wrote what another role declares as its own: no feedback mends that."""
    paths = [item.file for item in scoped.findings if item.file and item.rule == OUTSIDE]
    if not (foreign := judge.belongs_to_others(wanted.turn, paths)):
        return scoped
    summary = f"{defused_line(foreign[0])} belongs to another role"
    return replace(scoped, score=CheckScore.FAIL, summary=summary, subject=Subject.SCOPE)


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
