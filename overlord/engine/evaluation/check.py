"""Tests and lint: one check session runs every command of the judge, and what it reports becomes two checks."""

import asyncio
import sqlite3
from dataclasses import dataclass, replace

from minion.protocol import Brief, CheckReport, CheckStep, Scope, SessionKind, StepResult, Terms
from overlord.domain.changes.diff import parse_diff
from overlord.domain.checks.file import ChecksFile, ChecksFileError
from overlord.domain.checks.lint import judge_lint, plan_lint
from overlord.domain.checks.testruns.judge import (
    BASELINE_STEP,
    baseline_of,
    changed_lines,
    judge_tests,
    plan_tests,
)
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult
from overlord.domain.event import EventName, Json
from overlord.domain.job import Job
from overlord.domain.session import MAX_LOSSES, Ending, EndKind, Session, SessionState, prepared
from overlord.engine.contracts.judge import Wanted
from overlord.engine.evaluation import criteria
from overlord.engine.evaluation.change_context import context_of
from overlord.engine.evaluation.criteria import CriteriaJudged
from overlord.engine.evaluation.required import is_reviewed
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress
from overlord.engine.sessions import capacity, dependencies, environment, launcher, setup, untested
from overlord.engine.sessions import ending as endings
from overlord.engine.sessions.environment import EnvironmentFailed
from overlord.engine.sessions.evaluation_input import (
    EvaluationInput,
    checks_of,
    evaluation_input_of,
    lint_configuration_at_base,
)
from overlord.errors import RunnerRefused
from overlord.failpoints import Failpoint
from overlord.store import jobs, sessions
from overlord.store.checks import baselines, evaluations
from overlord.store.checks.evaluations import EvaluationRow
from overlord.store.rows import adapter


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is run, and what is known already of the base."""

    evaluation_input: EvaluationInput
    checks: ChecksFile | None
    is_own: bool
    """Whether the tests' command is the change's own: base has none."""
    baseline_key: str
    baseline: StepResult | None
    lint: tuple[CheckStep, ...]
    steps: tuple[CheckStep, ...]
    """Of tests and lint; none where the contract does not want them of this work."""
    criteria: tuple[CheckStep, ...]

    @property
    def all_steps(self) -> tuple[CheckStep, ...]:
        return (*self.criteria, *self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What a report says, and the baseline it brought."""

    tests: CheckResult | None
    lint: CheckResult | None
    measured: StepResult | None = None
    criteria: CriteriaJudged | None = None

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The checks that were made, in their order."""
        criteria = self.criteria.result if self.criteria is not None else None
        return tuple(made for made in (criteria, self.tests, self.lint) if made is not None)


async def step(parts: Parts, job: Job, row: EvaluationRow, wanted: Wanted) -> Progress:
    """Start the check session, or take in its report."""
    session = await parts.database.read(lambda c: sessions.live_of(c, job.id))
    if session is None or session.kind is SessionKind.SETUP:
        return await _begin(parts, job, row, session, wanted)
    if session.state is SessionState.PREPARED:
        return await _start(parts, job, row, session, wanted)
    over = await endings.over(parts, session)
    if over is None:
        return Progress.IDLE
    if await _to_be_repeated(parts, job, row, over):
        await parts.database.write(Failpoint.CHECK_LOST, lambda c: _lose(c, parts, job, over))
        return Progress.MOVED
    plan = await _plan(parts, job, row, session.layer, wanted)
    judged = await _judge(parts, job, row, plan, over, wanted)

    def written(connection: sqlite3.Connection) -> None:
        made = _settled(connection, parts, job, plan, judged)
        if made.criteria is not None:
            made.criteria.keep(connection)
        _close(connection, parts, row, over, *made.results)

    await parts.database.write(Failpoint.CHECK_JUDGED, written)
    return Progress.MOVED


async def _judge(  # noqa: PLR0917
    parts: Parts, job: Job, row: EvaluationRow, plan: _Plan, over: endings.Over, wanted: Wanted
) -> _Judged:
    """What the session's report says of the change. A large one takes seconds, in which nothing else waits for it."""
    report = over.session.report if isinstance(over.session.report, CheckReport) else None
    of_criteria = await criteria.judged(parts, job, wanted, report) if wanted.has_terms else None
    if not wanted.evaluation:
        return _Judged(tests=None, lint=None, criteria=of_criteria)
    if report is not None:
        mine = {item.name for item in plan.criteria}
        report = replace(report, steps=tuple(item for item in report.steps if item.name not in mine))
    context = await context_of(
        parts,
        job,
        plan.evaluation_input,
        report=report,
        baseline=plan.baseline,
        is_reviewed=is_reviewed(parts, job.space, row),
    )
    changes = plan.evaluation_input.changes
    tests = await asyncio.to_thread(
        judge_tests,
        plan.baseline,
        report,
        over.ending,
        changes,
        plan.checks,
        is_own=plan.is_own,
        context=context,
    )
    lint = await asyncio.to_thread(
        judge_lint,
        report,
        over.ending,
        plan.lint,
        changes=changes,
        diff=plan.evaluation_input.diff,
        checks=plan.checks,
    )
    measured = baseline_of(report) if plan.baseline is None else None
    return _Judged(tests=tests, lint=lint, measured=measured, criteria=of_criteria)


def _settled(connection: sqlite3.Connection, parts: Parts, job: Job, plan: _Plan, judged: _Judged) -> _Judged:
    """The same with a person's word about this repository, and the baseline kept that was measured."""
    if judged.tests is None:
        return judged
    if judged.measured is not None:
        at = parts.clock.now()
        baselines.put(
            connection, job.space, plan.evaluation_input.base, plan.baseline_key, judged.measured, at=at
        )
    changes = plan.evaluation_input.changes
    tests = untested.by_policy(connection, job.space, judged.tests, changes, own=plan.is_own)
    return replace(judged, tests=tests)


async def _begin(
    parts: Parts, job: Job, row: EvaluationRow, running: Session | None, wanted: Wanted
) -> Progress:
    """Prepare the check session, once what it runs in is there."""
    try:
        if running is None and not wanted.evaluation and not await criteria.steps(parts, job, wanted):
            return await _judge_without_session(parts, job, row, wanted)
        if running is not None:
            return await setup.advance(parts, job, running)
        if wanted.evaluation and await dependencies.ask_first(parts, job, row):
            return Progress.MOVED
        if not await parts.database.read(lambda c: capacity.is_left(c, parts, job.space)):
            return Progress.IDLE
        need = await environment.allowed(parts, job, job.base)
        layer = await setup.ensure(parts, job, need)
        if layer is None:
            return Progress.IDLE
        plan = await _plan(parts, job, row, layer, wanted)
        if (known := await _known(parts, job, row, plan, layer)) is not None:
            return await _judge_again(parts, job, row, plan, known, wanted)
    except (ChecksFileError, EnvironmentFailed) as error:
        results = _unavailable(str(error), wanted)
        await parts.database.write(Failpoint.CHECK_UNAVAILABLE, lambda c: _add(c, parts, row, *results))
        return Progress.MOVED
    told = await criteria.terms(parts, job, wanted)
    return Progress.of(await prepare(parts, job, plan.all_steps, layer, told))


async def _judge_without_session(parts: Parts, job: Job, row: EvaluationRow, wanted: Wanted) -> Progress:
    """Criteria that need no session are judged at once."""
    made = await criteria.judged(parts, job, wanted, None)

    def written(connection: sqlite3.Connection) -> None:
        made.keep(connection)
        evaluations.add_check(connection, row, made.result, at=parts.clock.now())

    await parts.database.write(Failpoint.CHECK_JUDGED, written)
    return Progress.MOVED


async def _known(parts: Parts, job: Job, row: EvaluationRow, plan: _Plan, layer: str) -> Session | None:
    """The session that ran these very commands on this very commit, if its tests and lint could be judged: nobody runs them again."""

    def look(connection: sqlite3.Connection) -> tuple[Session | None, bool]:
        past = [made for made in evaluations.closed(connection, job.id) if made.head_sha == row.head_sha]
        checks = past[-1].checks if past else ()
        is_judged = {made.name for made in checks if made.score is not None} >= {
            CheckName.TESTS,
            CheckName.LINT,
        }
        return sessions.last_of(connection, job.id, SessionKind.CHECK), is_judged

    last, is_judged = await parts.database.read(look)
    if (
        not plan.steps
        or last is None
        or not is_judged
        or not isinstance(last.report, CheckReport)
        or last.layer != layer
    ):
        return None
    brief: Brief = adapter(Brief).validate_json(last.brief)
    steps = tuple(step for step in brief.steps if step.name != BASELINE_STEP)
    asked = tuple(step for step in plan.all_steps if step.name != BASELINE_STEP)
    is_same = (brief.head_sha, brief.base_sha, steps) == (row.head_sha, job.base_sha, asked)
    has_baseline = plan.baseline is not None or baseline_of(last.report) is not None
    return last if is_same and has_baseline else None


async def _judge_again(  # noqa: PLR0917
    parts: Parts, job: Job, row: EvaluationRow, plan: _Plan, known: Session, wanted: Wanted
) -> Progress:
    """Judge what was reported once more: what was said of the work since may count."""
    over = endings.Over(session=known, ending=Ending(kind=EndKind.EXITED))
    judged = await _judge(parts, job, row, plan, over, wanted)

    def written(connection: sqlite3.Connection) -> None:
        made = _settled(connection, parts, job, plan, judged)
        if made.criteria is not None:
            made.criteria.keep(connection)
        _add(connection, parts, row, *made.results)

    await parts.database.write(Failpoint.CHECK_JUDGED, written)
    return Progress.MOVED


async def _plan(parts: Parts, job: Job, row: EvaluationRow, layer: str, wanted: Wanted) -> _Plan:
    evaluation_input, checks = (
        await evaluation_input_of(parts, job, row.head_sha),
        await checks_of(parts, job),
    )
    own = await untested.own_tests(parts, job, evaluation_input.head, checks)
    checks = own or checks
    limits = parts.settings.space(job.space).checks
    watched = changed_lines(parse_diff(evaluation_input.changes, evaluation_input.diff) or ())
    full = plan_tests(evaluation_input.changes, checks, limits.tests_s, with_baseline=True, watched=watched)
    key = baselines.plan_of(next(item for item in full if item.name == BASELINE_STEP), layer)
    known = await parts.database.read(lambda c: baselines.get(c, job.space, evaluation_input.base, key))
    tests = tuple(item for item in full if known is None or item.name != BASELINE_STEP)
    lint = plan_lint(
        evaluation_input.changes, await lint_configuration_at_base(parts, job), checks, limits.lint_s
    )
    return _Plan(
        evaluation_input=evaluation_input,
        checks=checks,
        is_own=own is not None,
        baseline_key=key,
        baseline=known,
        lint=lint,
        steps=(*tests, *lint) if wanted.evaluation else (),
        criteria=await criteria.steps(parts, job, wanted) if wanted.has_terms else (),
    )


async def _start(parts: Parts, job: Job, row: EvaluationRow, session: Session, wanted: Wanted) -> Progress:
    try:
        return Progress.of(await start(parts, job, session))
    except (RunnerRefused, EnvironmentFailed) as error:
        refused = endings.Over(session=session, ending=endings.never_started(str(error)))
        results = _unavailable(f"the check session was refused: {error}", wanted)
        await parts.database.write(
            Failpoint.CHECK_REFUSED, lambda c: _close(c, parts, row, refused, *results)
        )
        return Progress.MOVED


async def prepare(
    parts: Parts, job: Job, steps: tuple[CheckStep, ...], layer: str, told: Terms | None = None
) -> bool:
    """Prepare the session that runs the judge's commands on the job's head; whether there is room for it now."""
    ordinal = await parts.database.read(lambda c: sessions.count(c, job.id, SessionKind.CHECK)) + 1
    time_limit_s = sum(item.timeout_s for item in steps) + parts.settings.space(job.space).checks.setup_s
    brief = replace(
        launcher.described(
            job,
            SessionKind.CHECK,
            ordinal,
            role="check",
            base=job.base,
            head=job.head,
            scope=Scope.unrestricted(),
            limits=capacity.limits_of(parts, job.space, time_s=time_limit_s),
        ),
        steps=steps,
        terms=told,
    )
    session = prepared(brief, job.id, at=parts.clock.now(), layer=layer, time_limit_s=time_limit_s)
    return await launcher.prepare(
        parts,
        job,
        session,
        Failpoint.CHECK_PREPARED,
        may=lambda c: capacity.is_left(c, parts, job.space),
    )


async def start(parts: Parts, job: Job, session: Session) -> bool:
    """Start a check session once its session API is open; whether it runs now. Raises RunnerRefused or EnvironmentFailed."""

    def note(connection: sqlite3.Connection) -> None:
        data: dict[str, Json] = {"session": session.id}
        jobs.note(connection, job.id, EventName.CHECK_STARTED, at=parts.clock.now(), data=data)

    return await launcher.start(parts, job, session, Failpoint.CHECK_STARTED, note=note)


async def _to_be_repeated(parts: Parts, job: Job, row: EvaluationRow, over: endings.Over) -> bool:
    """Whether a check session was lost to infrastructure and is worth another try; it spends no attempt."""
    by_itself = over.ending.kind in (EndKind.EXITED, EndKind.KILLED, EndKind.LOST)
    # What was reported counts only with the end of what reported it.
    has_report = over.session.report is not None and over.ending.kind is not EndKind.LOST
    if has_report or over.session.stop_reason is not None or not by_itself:
        return False
    tried = await parts.database.read(lambda c: sessions.count_since(c, job.id, SessionKind.CHECK, row.at))
    return tried <= MAX_LOSSES


def _lose(connection: sqlite3.Connection, parts: Parts, job: Job, over: endings.Over) -> None:
    endings.close(connection, parts, over)
    data: dict[str, Json] = {"session": over.session.id, "ending": over.ending.kind}
    jobs.note(connection, job.id, EventName.CHECK_LOST, at=parts.clock.now(), data=data)


def _close(
    connection: sqlite3.Connection,
    parts: Parts,
    row: EvaluationRow,
    over: endings.Over,
    *results: CheckResult,
) -> None:
    endings.close(connection, parts, over)
    _add(connection, parts, row, *results, evidence=tuple(item.sha256 for item in over.exhibits))


def _add(
    connection: sqlite3.Connection,
    parts: Parts,
    row: EvaluationRow,
    *results: CheckResult,
    evidence: tuple[str, ...] = (),
) -> None:
    for result in results:
        kept = replace(result, evidence=(*evidence, *result.evidence))
        evaluations.add_check(connection, row, kept, at=parts.clock.now())


def _unavailable(why: str, wanted: Wanted) -> tuple[CheckResult, ...]:
    """Nothing that runs could be made."""
    criteria = (CheckName.CRITERIA,) if wanted.has_terms else ()
    tests = (CheckName.TESTS, CheckName.LINT) if wanted.evaluation else ()
    subject = Subject.CHECKS_UNAVAILABLE
    return tuple(
        CheckResult(name=name, score=None, summary=why, subject=subject) for name in (*criteria, *tests)
    )
