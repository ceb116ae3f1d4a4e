"""Which test runs a check session makes, and what they say together (SANDBOX: judging a branch).

Base's tests are run on the new code, then the new code's own, then the change's tests on base's code. Pass means: every run ended by
itself and left a report that fits its exit code, every test that passed at base still passes (what passes only in a changed form is a
claim for the review), no test that was red at base was made green by changing it, no other test fails that did not fail before, and
more than none passed. Everything else is named. Controls (`minion/checks/guarded_controls.py`) that base's tests had at base they must have
on the new code. What no test proves is asked for one once (`proof`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from minion.protocol import CheckReport, CheckStep, Finding, StepOutcome, StepResult, Tree
from overlord.domain.changes.diff import FileDiff
from overlord.domain.changes.paths import is_test_path, restored_paths
from overlord.domain.checks.change_context import NOTHING_KNOWN, ChangeContext
from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.checks.testcode.compare import deletion
from overlord.domain.checks.testruns.comparison import compare
from overlord.domain.checks.testruns.junit import Case
from overlord.domain.checks.testruns.proof import UNPROVEN, ProofPolicy, proving, unproven, why_unproven
from overlord.domain.checks.testruns.red import MESSAGE_CHARS, MOST_NAMED, left_of_task
from overlord.domain.checks.testruns.report import why_unread
from overlord.domain.checks.testruns.run import (
    NOTHING_RAN,
    RERUNS,
    Runs,
    aligned,
    bare_name,
    combined,
    is_controlled,
    read_run,
)
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.scope.check import GITLINK_MODE, SYMLINK_MODE, Change
from overlord.domain.session import Ending, EndKind
from overlord.domain.text.plain import visible

BASELINE_STEP = "baseline"
BASE_TESTS_STEP = "base_tests"
TESTS_STEP = "tests"
NEW_ON_BASE_STEP = "new_on_base"
MOST_ALONE = 200
"""Test files of a change that are named to the runner."""
_TEST_MODULE = re.compile(r"test_.*\.py|.*_test\.py")
MOST_WATCHED = 2_000
"""Changed lines; a larger change touches whatever its tests import."""


def plan_tests(
    changes: Sequence[Change],
    checks: ChecksFile | None,
    timeout_s: int,
    *,
    with_baseline: bool,
    watched: Sequence[str] = (),
) -> tuple[CheckStep, ...]:
    """The runs to make, in order: base as it is (unless its result is known), base's tests on the new code, the new
    code's own tests, and the changed tests on base's code, which shows whether they need the change. `watched` are changed lines
    of code (`changed_lines`): which red tests run them is seen when they are run again.
    """
    command = checks.tests if checks else None
    restore = restored_paths(changes)
    alone = files_alone(changes, checks)
    steps = [replace(_step(TESTS_STEP, command, timeout_s), watched=tuple(watched), files=alone)]
    if restore:
        on_head = _step(BASE_TESTS_STEP, command, timeout_s, restore=restore)
        steps.insert(0, replace(on_head, watched=tuple(watched) if alone else ()))
    if with_baseline:
        steps.insert(0, _step(BASELINE_STEP, command, timeout_s, tree=Tree.BASE))
    code = tuple(sorted({path for change in changes for path in change.paths if not is_test_path(path)}))
    if code and (files := _changed_tests(changes)):
        on_base = _step(NEW_ON_BASE_STEP, command, timeout_s, restore=code)
        if command is None or command.is_pytest:
            words = ("pytest", *(path for path in files if _is_pytest_file(path)))
            on_base = replace(on_base, command=words, junit="")
        if len(on_base.command) > 1 or command is not None:
            steps.append(replace(on_base, reruns=0))
    return tuple(steps)


def files_alone(changes: Sequence[Change], checks: ChecksFile | None) -> tuple[str, ...]:
    """The test files of the change that are run by themselves, for all others run as they are at base already; empty where the
    change's tests are run as a whole: by a command of the repository's own, or where what decides about other tests is changed."""
    touched = {path for change in changes for path in change.paths}
    restored = [path for path in restored_paths(changes) if path in touched]
    if (checks and checks.tests) or len(restored) < len(restored_paths(changes)):
        return ()
    if not restored or not all(_TEST_MODULE.fullmatch(path.rpartition("/")[2]) for path in restored):
        return ()
    if any(path.startswith(("-", "@")) for path in restored):  # no file to the runner, but options
        return ()
    there = (
        change.path
        for change in changes
        if change.status != "D" and change.new_mode not in {GITLINK_MODE, SYMLINK_MODE}
    )
    files = tuple(path for path in there if path in restored)
    return files if len(files) <= MOST_ALONE else ()


def changed_lines(files: Sequence[FileDiff]) -> tuple[str, ...]:
    """Where a change touches code of Python, as `calc.py:10-14`: lines of the new files; where lines are only gone, the next one."""
    found = list[str]()
    for file in files:
        path = file.change.path
        if file.change.status == "D" or is_test_path(path) or not path.endswith(".py"):
            continue
        for hunk in file.hunks:
            at: int | None = None
            for line in hunk.lines:
                if line.sign == "-":
                    at = at or 0
                elif line.sign == "+" or at == 0:
                    found.append(f"{path}:{line.number}-{line.number}")
                    at = None
                else:
                    at = None
    return tuple(found[:MOST_WATCHED])


def baseline_of(report: CheckReport | None) -> StepResult | None:
    """The baseline of a report, if it may be kept for its commit: it was measured and can be read."""
    step = _step_named(report, BASELINE_STEP)
    if step is None or step.outcome is StepOutcome.NOTHING_TO_RUN:
        return step
    return step if step.outcome is StepOutcome.RAN else None


def judge_tests(
    baseline: StepResult | None,
    report: CheckReport | None,
    ending: Ending,
    changes: Sequence[Change],
    checks: ChecksFile | None = None,
    *,
    is_own: bool = False,
    context: ChangeContext = NOTHING_KNOWN,
) -> CheckResult:
    """The tests' score from what a check session reported, how it ended, and the baseline known or just measured. `is_own`:
    the command is the change's, and base has nothing to compare with."""
    if report is None:
        text = f"{ending.kind.replace('_', ' ')} {visible(ending.detail)}".strip()
        return unclear(f"the check session ended without a report ({text})")
    if ending.kind not in (EndKind.EXITED, EndKind.STOPPED):
        return unclear(f"the check session did not end by itself ({ending.kind.replace('_', ' ')})")
    base = baseline or _step_named(report, BASELINE_STEP)
    restored, head = _step_named(report, BASE_TESTS_STEP), _step_named(report, TESTS_STEP)
    if base is None or head is None or (restored is None and restored_paths(changes)):
        return unclear("the check session did not make every test run")
    runs = [step for step in (base, restored, head) if step is not None]
    if trouble := next((found for step in runs if (found := _run_not_made(step))), None):
        return trouble
    if base.outcome is StepOutcome.TIMED_OUT:
        return unclear("the tests do not finish in time at base either")
    if all(read_run(step) == NOTHING_RAN for step in runs):
        return unclear("the repository has no tests", Subject.NO_TESTS)
    late = next((step for step in runs if step.outcome is StepOutcome.TIMED_OUT), None)
    if late is not None:
        return _late(late)
    command = checks.tests if checks else None
    if command is not None and (command.by_exit_code or (command.is_own_report and not base.junit)):
        if is_own:
            return _judge_own(head)
        made = _judge_exit_codes(base, restored, head)
        on_base = _step_named(report, NEW_ON_BASE_STEP)
        is_proven = base.exit_code != 0 or (on_base is not None and on_base.exit_code not in {0, None})
        return _with_proof(
            made, "" if is_proven else "the test command passes without this change as well.", context
        )
    read = read_runs(base, restored, head, _step_named(report, NEW_ON_BASE_STEP), changes)
    return read if isinstance(read, CheckResult) else _judge_runs(read, restored or head, head, context)


def unclear(summary: str, subject: Subject = Subject.CHECKS_UNAVAILABLE) -> CheckResult:
    """No verdict: never a pass; a person is asked."""
    return CheckResult(name=CheckName.TESTS, score=None, summary=summary, subject=subject)


def _step(
    name: str,
    command: CheckCommand | None,
    timeout_s: int,
    *,
    tree: Tree = Tree.HEAD,
    restore: tuple[str, ...] = (),
) -> CheckStep:
    return CheckStep(
        name=name,
        tree=tree,
        restore=restore,
        command=command.command if command else (),
        timeout_s=command.limit_s(timeout_s) if command else timeout_s,
        junit=command.junit if command else "",
        reruns=RERUNS,
    )


def _changed_tests(changes: Sequence[Change]) -> tuple[str, ...]:
    """Test files the change adds or modifies."""
    paths = (change.path for change in changes if change.status != "D" and not change.binary)
    return tuple(path for path in paths if is_test_path(path))


def _is_pytest_file(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name.endswith(".py") and (name.startswith("test") or name.endswith(("_test.py", "_tests.py")))


def _step_named(report: CheckReport | None, name: str) -> StepResult | None:
    steps = report.steps if report else ()
    return next((step for step in steps if step.name == name), None)


def _run_not_made(step: StepResult) -> CheckResult | None:
    """What kept a run from being made at all."""
    if step.outcome is StepOutcome.NO_TOOLCHAIN:
        return unclear(f"no toolchain: {_last_words(step)}", Subject.NO_TOOLCHAIN)
    if step.outcome is StepOutcome.BROKEN:
        return unclear(f"the tests could not be run: {_last_words(step)}")
    return None


def _last_words(step: StepResult) -> str:
    return " ".join(visible(step.output).split())[-200:]


def _late(step: StepResult) -> CheckResult:
    which = "base's tests on this change" if step.name == BASE_TESTS_STEP else "the tests"
    finding = _output_finding(step, "timeout", "The tests hang or are too slow; at base they finish in time.")
    return _tests_result(CheckScore.NEEDS_REVISION, f"{which} did not finish in time", finding)


def read_runs(
    base: StepResult,
    restored: StepResult | None,
    head: StepResult,
    on_base: StepResult | None,
    changes: Sequence[Change],
) -> Runs | CheckResult:
    """The runs, or why one of them cannot be believed."""
    known, own = read_run(base), read_run(head)
    olds = read_run(restored) if restored else None
    if known is None or not known.fits_its_exit_code:
        why = why_unread(base) or _last_words(base)
        return unclear(
            f"the tests at base left no report to compare with (exit code {base.exit_code}): {why}"
        )
    if restored is not None and (olds is None or not olds.fits_its_exit_code):
        return _forged_or_cut(restored, readable=olds is not None)
    if own is None or not own.fits_its_exit_code:
        return _forged_or_cut(head, readable=own is not None)
    changed = {path for change in changes for path in change.paths}
    tried = read_run(on_base) if on_base else None
    kept, made = aligned(known, olds, but=()) if olds else None, aligned(known, own, but=changed)
    return Runs(
        base=known,
        restored=kept,
        head=made if kept is None or not _is_alone(head, changes) else combined(kept, made, changed=changed),
        new_on_base=aligned(known, tried, but=changed) if tried else None,
        changed=changed,
        renamed={change.old_path: change.path for change in changes if change.old_path},
    )


def _is_alone(head: StepResult, changes: Sequence[Change]) -> bool:
    """Whether a run of the change's tests was one of its own test files alone."""
    files = files_alone(changes, None)
    return bool(files) and head.command[-len(files) :] == files


def _judge_runs(runs: Runs, against: StepResult, head: StepResult, context: ChangeContext) -> CheckResult:
    comparison = compare(runs)
    took_s = head.duration_s if against.name == head.name else head.duration_s + against.duration_s
    summary = f"{comparison.figures} in {took_s:.1f} s"
    left = left_of_task(comparison.left, context)
    broken = (*comparison.broken, *left.findings, *_deleted(runs, context))
    claims = (*comparison.claims, *left.claims)
    notes = (*claims[:MOST_NAMED], *comparison.notes, *left.notes)
    proven = any(proving(runs, comparison.fixed, context.compared))
    why = "" if proven else why_unproven(runs)
    if broken:
        asked = (unproven(why),) if why and _asks(context) else ()
        return _tests_result(CheckScore.NEEDS_REVISION, summary, *broken, *asked, *notes)
    if not is_controlled(runs.base, runs.restored or runs.head):
        return _uncontrolled(against)
    if not comparison.passed:
        finding = _output_finding(head, "no-test-ran", "Not one test passed.")
        return _tests_result(CheckScore.NEEDS_REVISION, f"no test passed; {summary}", finding)
    made = _tests_result(CheckScore.PASS, summary, *notes)
    if claims and (not context.is_reviewed or len(claims) > MOST_NAMED):
        made = replace(made, subject=Subject.CHANGED_TESTS)
    return _with_proof(made, why, context)


def _deleted(runs: Runs, context: ChangeContext) -> Iterator[Finding]:
    """Tests that are gone and that no run would miss, since the command does not run them."""
    known = {name for case in runs.base.cases.values() for name in _called(case)}
    for path, code in context.compared.deleted() if context.compared is not None else ():
        if not known & {code.name, code.bare_name, code.name.rpartition(" > ")[2]}:
            weak = deletion(path, code)
            yield Finding(check=CheckName.TESTS, rule=weak.rule, message=visible(weak.message), file=path)


def _called(case: Case) -> tuple[str, str]:
    name = bare_name(case)
    return name, name.rpartition(" > ")[2]


def _asks(context: ChangeContext) -> bool:
    return context.proof is not ProofPolicy.OFF and not context.exempt and not context.was_asked


def _with_proof(made: CheckResult, why: str, context: ChangeContext) -> CheckResult:
    """The same, and what becomes of a change that no test proves: asked for one first, then marked or put to a person."""
    if not why or context.proof is ProofPolicy.OFF or made.score is not CheckScore.PASS:
        return made
    if context.exempt:
        return replace(made, summary=f"{made.summary}; no proof is needed: {context.exempt}")
    marked = replace(made, summary=f"{UNPROVEN}: {made.summary}", findings=(unproven(why), *made.findings))
    if not context.was_asked:
        return replace(marked, score=CheckScore.NEEDS_REVISION)
    is_required = context.proof is ProofPolicy.REQUIRED
    return replace(marked, subject=marked.subject or Subject.UNPROVEN) if is_required else marked


def _forged_or_cut(step: StepResult, *, readable: bool) -> CheckResult:
    where = " (base's tests on this change)" if step.name == BASE_TESTS_STEP else ""
    if not readable and "too large" in step.unread:
        return unclear(f"no report{where}: {why_unread(step)}")
    if readable:
        message = f"The runner's exit code {step.exit_code} and its report contradict each other{where}."
        finding = _output_finding(step, "exit-code", message)
    else:
        cause = why_unread(step) or "it was cut short, or what reported was not the runner"
        message = f"The test run left no readable report{where}: {cause}."
        finding = _output_finding(step, "no-report", message)
    return _tests_result(
        CheckScore.NEEDS_REVISION, f"exit code {step.exit_code}, no report to trust{where}", finding
    )


def _uncontrolled(step: StepResult) -> CheckResult:
    message = (
        "At base tests failed when they had to; here none was seen to. What reported was not the runner."
    )
    summary = "tests are said to pass, and nothing shows that they can fail"
    return _tests_result(CheckScore.NEEDS_REVISION, summary, _output_finding(step, "no-controls", message))


def _judge_own(head: StepResult) -> CheckResult:
    """The first tests of a repository, by a command that says nothing but yes or no: what it says at base tells nothing."""
    text = f"the change's own tests: exit code {head.exit_code} in {head.duration_s:.1f} s"
    if head.exit_code == 0:
        return _tests_result(CheckScore.PASS, text)
    failed = _output_finding(head, "command-failed", "The test command that this change brings fails.")
    return _tests_result(CheckScore.NEEDS_REVISION, text, failed)


def _judge_exit_codes(base: StepResult, restored: StepResult | None, head: StepResult) -> CheckResult:
    """A command that says nothing but yes or no."""
    text = f"exit code {head.exit_code} in {head.duration_s:.1f} s, judged by that alone"
    if head.exit_code != 0:
        if base.exit_code != 0:
            return unclear(f"{text}; it fails at base too, so nothing tells what this change broke")
        return _tests_result(
            CheckScore.NEEDS_REVISION,
            text,
            _output_finding(head, "command-failed", "The test command fails."),
        )
    if base.exit_code != 0:
        return _tests_result(CheckScore.PASS, f"{text}; it failed at base")
    if restored is not None and restored.exit_code != 0:
        message = (
            "With its tests and configuration as at base the command fails; with the changed ones it passes."
        )
        return CheckResult(
            name=CheckName.TESTS,
            score=CheckScore.PASS,
            summary=f"{text}; not with base's own tests",
            findings=(_output_finding(restored, "changed-test", message),),
            subject=Subject.CHANGED_TESTS,
        )
    return _tests_result(CheckScore.PASS, text)


def _tests_result(score: CheckScore, summary: str, *findings: Finding) -> CheckResult:
    return CheckResult(name=CheckName.TESTS, score=score, summary=summary, findings=findings)


def _output_finding(step: StepResult, rule: str, message: str) -> Finding:
    evidence = visible(step.output)[-MESSAGE_CHARS:]
    return Finding(check=CheckName.TESTS, rule=rule, message=message, evidence=evidence)
