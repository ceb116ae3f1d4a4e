"""Judging a test run. Pass means: it ended by itself, exit code 0, a report that parses, more than no test, and none failed."""

from minion.protocol import CheckReport, Finding, StepOutcome, StepResult
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from overlord.domain.junit import Case, CaseOutcome, parse_junit
from overlord.domain.session import Ending, EndKind
from overlord.domain.text import count, visible

TESTS_STEP = "tests"
_MESSAGE_CHARS = 600


def judge_tests(report: CheckReport | None, ending: Ending) -> CheckResult:
    """The tests' score from what a check session reported and how it ended."""
    if report is None:
        detail = f"{ending.kind.replace('_', ' ')} {ending.detail}".strip()
        return unclear(f"the check session ended without a report ({detail})")
    if ending.kind is not EndKind.EXITED and ending.kind is not EndKind.STOPPED:
        return unclear(f"the check session did not end by itself ({ending.kind.replace('_', ' ')})")
    step = next((item for item in report.steps if item.name == TESTS_STEP), None)
    if step is None:
        return unclear("the check session did not run the tests")
    return _judge_step(step)


def unclear(summary: str, subject: Subject = Subject.CHECKS_UNAVAILABLE) -> CheckResult:
    """No verdict: never a pass; a person is asked."""
    return CheckResult(name=CheckName.TESTS, score=None, summary=summary, subject=subject)


def _judge_step(step: StepResult) -> CheckResult:
    if step.outcome is StepOutcome.NOTHING_TO_RUN:
        return unclear("the repository has no tests", Subject.NO_TESTS)
    if step.outcome is StepOutcome.NO_TOOLCHAIN:
        return unclear(f"no toolchain: {visible(step.output)[-200:]}", Subject.NO_TOOLCHAIN)
    if step.outcome is StepOutcome.BROKEN:
        return unclear(f"the tests could not be run: {visible(step.output)[-200:]}")
    if step.outcome is StepOutcome.TIMED_OUT:
        return _failed(
            "the tests did not finish in time",
            _output_finding(step, "timeout", "The tests hang or are too slow."),
        )
    cases = parse_junit(step.junit)
    if cases is None:
        message = "The test run left no readable report; it was cut short or forged."
        return _failed(f"exit code {step.exit_code}, no report", _output_finding(step, "no-report", message))
    return _judge_cases(step, cases)


def _judge_cases(step: StepResult, cases: tuple[Case, ...]) -> CheckResult:
    failed = [case for case in cases if case.outcome is CaseOutcome.FAILED]
    passed = sum(case.outcome is CaseOutcome.PASSED for case in cases)
    summary = f"{count(passed, 'test')} passed, {len(failed)} failed in {step.duration_s:.1f} s"
    if failed:
        return _failed(summary, *(_case_finding(case) for case in failed))
    if passed == 0:
        return _failed("no test ran", _output_finding(step, "no-test-ran", "Not one test was run."))
    if step.exit_code != 0:
        message = f"Every reported test passed and the runner's exit code is {step.exit_code}."
        return _failed(f"exit code {step.exit_code}", _output_finding(step, "exit-code", message))
    return CheckResult(name=CheckName.TESTS, score=CheckScore.PASS, summary=summary)


def _failed(summary: str, *findings: Finding) -> CheckResult:
    return CheckResult(
        name=CheckName.TESTS, score=CheckScore.NEEDS_REVISION, summary=summary, findings=findings
    )


def _case_finding(case: Case) -> Finding:
    return Finding(
        check=CheckName.TESTS,
        rule="test-failed",
        message=f"{case.id} fails.",
        evidence=visible(case.message)[:_MESSAGE_CHARS],
    )


def _output_finding(step: StepResult, rule: str, message: str) -> Finding:
    return Finding(
        check=CheckName.TESTS, rule=rule, message=message, evidence=visible(step.output)[-_MESSAGE_CHARS:]
    )
