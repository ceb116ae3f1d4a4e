"""What the tests' judge is told of a change beside its runs: its tests and code as syntax, its issue, what was said of it before."""

import asyncio
from collections.abc import Callable, Sequence

from minion.protocol import Brief, CheckReport, Report, SessionKind, StepResult
from overlord.domain.checks.behaviour import exemption, is_code
from overlord.domain.checks.change_context import ChangeContext
from overlord.domain.checks.testcode.compare import Compared, Source
from overlord.domain.checks.testcode.syntax import LARGEST_SOURCE, language_of
from overlord.domain.checks.testruns.imports import imports_changed
from overlord.domain.checks.testruns.judge import BASE_TESTS_STEP, BASELINE_STEP, TESTS_STEP
from overlord.domain.checks.testruns.proof import UNPROVEN
from overlord.domain.checks.testruns.run import read_run
from overlord.domain.checks.weakening import holds_tests
from overlord.domain.job import Job
from overlord.domain.session import Session
from overlord.engine.runtime.parts import Parts
from overlord.engine.sessions.evaluation_input import EvaluationInput
from overlord.store import sessions
from overlord.store.checks import evaluations
from overlord.store.rows import adapter

MOST_FILES = 200
"""Changed files that are read; a change with more is too large anyway."""
MOST_RED_FILES = 50


async def compared_tests(
    parts: Parts, job: Job, evaluation_input: EvaluationInput, *, deletions: bool
) -> Compared:
    """The changed test files whose language is known, parsed as they were and as they are."""
    sources = await _sources(parts, job, evaluation_input, holds_tests)
    return await asyncio.to_thread(Compared, sources, deletions=deletions)


async def context_of(
    parts: Parts,
    job: Job,
    evaluation_input: EvaluationInput,
    *,
    report: CheckReport | None,
    baseline: StepResult | None,
    is_reviewed: bool,
) -> ChangeContext:
    """Everything, for the judgement of this report."""
    past = await parts.database.read(lambda c: evaluations.closed(c, job.id))
    before = [found for made in past for check in made.checks for found in check.findings]
    code = await _sources(parts, job, evaluation_input, lambda path: not holds_tests(path))
    return ChangeContext(
        proof=parts.settings.space(job.space).checks.proof,
        exempt=await asyncio.to_thread(exemption, evaluation_input.changes, code, job.issue.title),
        compared=await compared_tests(parts, job, evaluation_input, deletions=False),
        was_asked=any(found.rule == UNPROVEN for found in before),
        is_reviewed=is_reviewed,
        issue=f"{job.issue.title}\n{job.issue.body}",
        imports=await _importing(parts, job, evaluation_input, report, baseline),
        summary=_minions_words(
            await parts.database.read(lambda c: sessions.last_of(c, job.id, SessionKind.WORK))
        ),
    )


async def _sources(
    parts: Parts, job: Job, evaluation_input: EvaluationInput, wanted: Callable[[str], bool]
) -> Sequence[Source]:
    changes = [
        change
        for change in evaluation_input.changes
        if not change.binary and language_of(change.path) and any(map(wanted, change.paths))
    ][:MOST_FILES]
    name = job.space
    old = [change.old_path or change.path for change in changes if change.status != "A"]
    new = [change.path for change in changes if change.status != "D"]
    before, after = await asyncio.gather(
        parts.git.read_files(name, evaluation_input.base, old, limit_bytes=LARGEST_SOURCE),
        parts.git.read_files(name, evaluation_input.head, new, limit_bytes=LARGEST_SOURCE),
    )
    return [
        Source(
            path=change.path,
            old_path=change.old_path or "",
            before=before.get(change.old_path or change.path),
            after=after.get(change.path) if change.status != "D" else None,
        )
        for change in changes
    ]


async def _importing(
    parts: Parts,
    job: Job,
    evaluation_input: EvaluationInput,
    report: CheckReport | None,
    baseline: StepResult | None,
) -> frozenset[str]:
    """The files of tests that are red before and after which import what was changed."""
    steps = {step.name: step for step in (report.steps if report else ())}
    base = baseline or steps.get(BASELINE_STEP)
    made = [steps[name] for name in (TESTS_STEP, BASE_TESTS_STEP) if name in steps]
    known = await asyncio.to_thread(read_run, base) if base is not None else None
    if known is None:
        return frozenset()
    runs = [run for step in made if (run := await asyncio.to_thread(read_run, step)) is not None]
    failed = (case for run in runs for case in run.failed)
    files = sorted({case.file for case in failed if case.file and known.fails(case.id)})
    code = [path for change in evaluation_input.changes if is_code(change) for path in change.paths]
    found = await parts.git.read_files(job.space, evaluation_input.head, files[:MOST_RED_FILES])
    return frozenset(path for path, source in found.items() if imports_changed(path, source, code))


def _minions_words(session: Session | None) -> str:
    """What the Minion wrote of its work: its summary, and its replies, each beside what it replies to."""
    if session is None or not isinstance(session.report, Report):
        return ""
    brief: Brief = adapter(Brief).validate_json(session.brief)
    lines = [session.report.summary]
    for reply in session.report.replies:
        number, _, words = reply.partition(":")
        if number.strip().isdigit() and 0 < int(number) <= len(brief.findings):
            lines.append(f"{brief.findings[int(number) - 1].message} {words}")
    return "\n".join(lines)
