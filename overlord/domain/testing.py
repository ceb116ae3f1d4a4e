"""Which test runs a check session makes, and what they say together (SANDBOX: judging a branch).

Base's tests are run on the new code, then the new code's own. Pass means: every run ended by itself and left a report
that fits its exit code, every test that passed at base still passes (or its file was changed and it passes in its
new form), no other test fails that did not fail before, and more than none passed. Everything else is named. Controls (`minion/guarded_controls.py`) that base's tests had at base they must have on
the new code.
"""

from collections.abc import Sequence

from minion.protocol import CheckReport, CheckStep, Finding, StepOutcome, StepResult, Tree
from overlord.domain.checks_file import CheckCommand, ChecksFile
from overlord.domain.comparison import MESSAGE_CHARS, Runs, compare
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.paths import is_test_path, restored_paths
from overlord.domain.scope import Change
from overlord.domain.session import Ending, EndKind
from overlord.domain.testrun import NOTHING_RAN, RERUNS, is_controlled, read_run
from overlord.domain.text import visible

BASELINE_STEP = "baseline"
BASE_TESTS_STEP = "base_tests"
TESTS_STEP = "tests"
NEW_ON_BASE_STEP = "new_on_base"


def plan_tests(
    changes: Sequence[Change], checks: ChecksFile | None, timeout_s: int, *, with_baseline: bool
) -> tuple[CheckStep, ...]:
    """The runs to make, in order: base as it is (unless its result is known), base's tests on the new code, the new
    code's own tests, and the changed test files on base's code, which is told and not judged.
    """
    command = checks.tests if checks else None
    restore = restored_paths(changes)
    steps = [_step(TESTS_STEP, command, timeout_s)]
    if restore:
        steps.insert(0, _step(BASE_TESTS_STEP, command, timeout_s, restore=restore))
    if with_baseline:
        steps.insert(0, _step(BASELINE_STEP, command, timeout_s, tree=Tree.BASE))
    if command is None and (files := _changed_test_files(changes)):
        code = {path for change in changes for path in change.paths} - set(files)
        steps.append(
            CheckStep(
                name=NEW_ON_BASE_STEP,
                restore=tuple(sorted(path for path in code if not is_test_path(path))),
                command=("pytest", *files),
                timeout_s=timeout_s,
            )
        )
    return tuple(steps)


def baseline_of(report: CheckReport | None) -> StepResult | None:
    """The baseline of a report, if it may be kept for its commit: it was measured and can be read."""
    step = _named(report, BASELINE_STEP)
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
) -> CheckResult:
    """The tests' score from what a check session reported, how it ended, and the baseline known or just measured. `is_own`:
    the command is the change's, and base has nothing to compare with."""
    if report is None:
        told = f"{ending.kind.replace('_', ' ')} {visible(ending.detail)}".strip()
        return unclear(f"the check session ended without a report ({told})")
    if ending.kind not in (EndKind.EXITED, EndKind.STOPPED):
        return unclear(f"the check session did not end by itself ({ending.kind.replace('_', ' ')})")
    base = baseline or _named(report, BASELINE_STEP)
    restored, head = _named(report, BASE_TESTS_STEP), _named(report, TESTS_STEP)
    if base is None or head is None or (restored is None and restored_paths(changes)):
        return unclear("the check session did not make every test run")
    runs = [step for step in (base, restored, head) if step is not None]
    if trouble := next((found for step in runs if (found := _trouble(step))), None):
        return trouble
    if base.outcome is StepOutcome.TIMED_OUT:
        return unclear("the tests do not finish in time at base either")
    if all(read_run(step) == NOTHING_RAN for step in runs):
        return unclear("the repository has no tests", Subject.NO_TESTS)
    late = next((step for step in runs if step.outcome is StepOutcome.TIMED_OUT), None)
    if late is not None:
        return _late(late)
    command = checks.tests if checks else None
    if command is not None and command.by_exit_code:
        return _judge_own(head) if is_own else _judge_exit_codes(base, restored, head)
    return _judge_runs(base, restored, head, _named(report, NEW_ON_BASE_STEP), changes)


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


def _changed_test_files(changes: Sequence[Change]) -> tuple[str, ...]:
    """Python test files the change adds or modifies, as pytest would be told them."""
    paths = (change.path for change in changes if change.status != "D" and not change.binary)
    return tuple(
        path
        for path in paths
        if is_test_path(path) and path.rsplit("/", 1)[-1].startswith("test") and path.endswith(".py")
    )


def _named(report: CheckReport | None, name: str) -> StepResult | None:
    steps = report.steps if report else ()
    return next((step for step in steps if step.name == name), None)


def _trouble(step: StepResult) -> CheckResult | None:
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
    return _result(CheckScore.NEEDS_REVISION, f"{which} did not finish in time", finding)


def _judge_runs(
    base: StepResult,
    restored: StepResult | None,
    head: StepResult,
    on_base: StepResult | None,
    changes: Sequence[Change],
) -> CheckResult:
    known, own = read_run(base), read_run(head)
    olds = read_run(restored) if restored else None
    if known is None or not known.fits_its_exit_code:
        return unclear(
            f"the tests at base left no report to compare with (exit code {base.exit_code}): {_last_words(base)}"
        )
    if restored is not None and (olds is None or not olds.fits_its_exit_code):
        return _forged_or_cut(restored, readable=olds is not None)
    if own is None or not own.fits_its_exit_code:
        return _forged_or_cut(head, readable=own is not None)
    comparison = compare(
        Runs(
            base=known,
            restored=olds,
            head=own,
            new_on_base=read_run(on_base) if on_base else None,
            changed={path for change in changes for path in change.paths},
            renamed={change.old_path: change.path for change in changes if change.old_path},
        )
    )
    summary = f"{comparison.figures} in {head.duration_s:.1f} s"
    if comparison.broken:
        return _result(CheckScore.NEEDS_REVISION, summary, *comparison.broken, *comparison.notes)
    if not is_controlled(known, olds or own):
        return _uncontrolled(restored or head)
    if not comparison.passed:
        finding = _output_finding(head, "no-test-ran", "Not one test passed.")
        return _result(CheckScore.NEEDS_REVISION, f"no test passed; {summary}", finding)
    return _result(CheckScore.PASS, summary, *comparison.notes)


def _forged_or_cut(step: StepResult, *, readable: bool) -> CheckResult:
    where = " (base's tests on this change)" if step.name == BASE_TESTS_STEP else ""
    if readable:
        message = f"The runner's exit code {step.exit_code} and its report contradict each other{where}."
        finding = _output_finding(step, "exit-code", message)
    else:
        message = f"The test run left no readable report{where}: it was cut short, or what reported was not the runner."
        finding = _output_finding(step, "no-report", message)
    return _result(
        CheckScore.NEEDS_REVISION, f"exit code {step.exit_code}, no report to trust{where}", finding
    )


def _uncontrolled(step: StepResult) -> CheckResult:
    message = (
        "At base tests failed when they had to; here none was seen to. What reported was not the runner."
    )
    summary = "tests are said to pass, and nothing shows that they can fail"
    return _result(CheckScore.NEEDS_REVISION, summary, _output_finding(step, "no-controls", message))


def _judge_own(head: StepResult) -> CheckResult:
    """The first tests of a repository, by a command that says nothing but yes or no: what it says at base tells nothing."""
    told = f"the change's own tests: exit code {head.exit_code} in {head.duration_s:.1f} s"
    if head.exit_code == 0:
        return _result(CheckScore.PASS, told)
    failed = _output_finding(head, "command-failed", "The test command that this change brings fails.")
    return _result(CheckScore.NEEDS_REVISION, told, failed)


def _judge_exit_codes(base: StepResult, restored: StepResult | None, head: StepResult) -> CheckResult:
    """A command that says nothing but yes or no."""
    told = f"exit code {head.exit_code} in {head.duration_s:.1f} s, judged by that alone"
    if head.exit_code != 0:
        if base.exit_code != 0:
            return unclear(f"{told}; it fails at base too, so nothing tells what this change broke")
        return _result(
            CheckScore.NEEDS_REVISION,
            told,
            _output_finding(head, "command-failed", "The test command fails."),
        )
    if base.exit_code != 0:
        return _result(CheckScore.PASS, f"{told}; it failed at base")
    if restored is not None and restored.exit_code != 0:
        message = (
            "With its tests and configuration as at base the command fails; with the changed ones it passes."
        )
        return CheckResult(
            name=CheckName.TESTS,
            score=CheckScore.PASS,
            summary=f"{told}; not with base's own tests",
            findings=(_output_finding(restored, "changed-test", message),),
            subject=Subject.PROTECTED_CHANGE,
        )
    return _result(CheckScore.PASS, told)


def _result(score: CheckScore, summary: str, *findings: Finding) -> CheckResult:
    return CheckResult(name=CheckName.TESTS, score=score, summary=summary, findings=findings)


def _output_finding(step: StepResult, rule: str, message: str) -> Finding:
    evidence = visible(step.output)[-MESSAGE_CHARS:]
    return Finding(check=CheckName.TESTS, rule=rule, message=message, evidence=evidence)
