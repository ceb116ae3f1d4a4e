"""What a trial of the checks on a base commit is told as."""

from dataclasses import replace

import pytest

from minion.protocol import CheckReport, StepOutcome, StepResult, Tree
from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.checks.trial import MOST_NAMED, SECOND_STEP, Trial, judge_trial, plan_trial
from overlord.domain.session import Ending, EndKind

EXITED = Ending(kind=EndKind.EXITED, exit_code=0)
BY_EXIT_CODE = ChecksFile(tests=CheckCommand(command=("make", "check")))


def junit(**cases: bool) -> str:
    each = "".join(
        f'<testcase classname="t" name="{name}">{"" if passes else "<failure/>"}</testcase>'
        for name, passes in cases.items()
    )
    return f"<testsuites><testsuite>{each}</testsuite></testsuites>"


def step(name: str = "baseline", **changes: object) -> StepResult:
    made = StepResult(name=name, outcome=StepOutcome.RAN, command=("python", "-m", "pytest"), exit_code=0)
    return replace(made, **changes)  # type: ignore[arg-type]


def told(first: StepResult, second: StepResult | None = None, *, checks: ChecksFile | None = None) -> Trial:
    again = replace(second or first, name=SECOND_STEP)
    return judge_trial(CheckReport(steps=(first, again)), EXITED, checks)


def test_the_plan_is_the_bases_tests_twice_and_its_linter() -> None:
    steps = plan_trial(None, {}, tests_s=60, lint_s=10)
    assert [(item.name, item.tree, item.timeout_s) for item in steps] == [
        ("baseline", Tree.BASE, 60),
        (SECOND_STEP, Tree.BASE, 60),
        ("lint_base", Tree.BASE, 10),
    ]
    assert steps[2].command[-1] == "."
    own = ChecksFile(lint=CheckCommand(command=("make", "lint"), timeout_s=5))
    assert plan_trial(own, {}, tests_s=60, lint_s=10)[2].command == ("make", "lint")


def test_tests_that_pass_can_judge() -> None:
    found = told(step(junit=junit(a=True, b=True), duration_s=1.25))
    assert (found.judges, found.tests, found.advice, found.output) == (
        True,
        "2 passed, 0 failed in 1.2 s",
        (),
        "",
    )


def test_what_fails_at_base_is_named_as_far_as_a_person_reads() -> None:
    names = {f"n{number}": False for number in range(MOST_NAMED + 2)}
    found = told(step(junit=junit(ok=True, **names), exit_code=1))
    assert found.judges
    assert found.advice[0].count("t::n") == MOST_NAMED and "and 2 more" in found.advice[0]
    assert "and 2" not in told(step(junit=junit(ok=True, bad=False), exit_code=1)).advice[0]


def test_what_differs_between_two_runs_is_named() -> None:
    found = told(
        step(junit=junit(a=True, b=True)), step(junit=junit(a=True, b=False), exit_code=1, name=SECOND_STEP)
    )
    assert found.judges and "1 not the same twice" in found.tests and "t::b" in found.advice[-1]


def test_a_second_run_that_cannot_be_read_tells_nothing_of_the_first() -> None:
    assert told(step(junit=junit(a=True)), step(name=SECOND_STEP, exit_code=1)).judges


def test_when_nothing_passes_nothing_can_be_judged() -> None:
    found = told(step(junit=junit(a=False), exit_code=1, output="one\n\x1b[31mtwo"))
    assert not found.judges
    assert "two" in found.output and "\x1b" not in found.output


@pytest.mark.parametrize(
    ("outcome", "says"),
    [
        (StepOutcome.NOTHING_TO_RUN, "none were found"),
        (StepOutcome.NO_TOOLCHAIN, "`python -m pytest` cannot be run: its program is missing"),
        (StepOutcome.TIMED_OUT, "`python -m pytest` did not finish in 60 s"),
        (StepOutcome.BROKEN, "`python -m pytest` could not be run: disk full"),
    ],
)
def test_why_they_cannot_be_run_is_told(outcome: StepOutcome, says: str) -> None:
    output = "disk full" if outcome is StepOutcome.BROKEN else ""
    found = told(step(outcome=outcome, output=output, duration_s=60.0, exit_code=None))
    assert (found.judges, found.tests) == (False, says)


def test_a_run_without_a_report_cannot_judge() -> None:
    assert told(step(exit_code=1)).tests == "`python -m pytest` left no report to read (exit code 1)"


@pytest.mark.parametrize(("code", "judges"), [(0, True), (2, False)])
def test_a_command_of_its_own_is_told_by_its_exit_code(code: int, judges: bool) -> None:
    found = told(step(exit_code=code, command=("make", "check")), checks=BY_EXIT_CODE)
    assert found.judges is judges
    assert "`make check`" in found.tests


def test_the_linter_is_told_with_its_findings() -> None:
    tests = (step(junit=junit(a=True)), step(name=SECOND_STEP, junit=junit(a=True)))

    def lint(**changes: object) -> str:
        made = step("lint_base", **{"command": ("ruff", "check"), **changes})
        return judge_trial(CheckReport(steps=(*tests, made)), EXITED, None).lint

    assert (
        lint(captured="a.py:1:1: F401 unused\nb.py:2:1: E9 bad\n")
        == "ruff: 2 findings today; only new ones count"
    )
    assert lint(captured="") == "ruff: nothing"
    assert lint(captured=None) == "ruff says too much to be compared"
    assert lint(outcome=StepOutcome.NO_TOOLCHAIN, exit_code=None) == "ruff could not be run: no toolchain"
    assert lint(outcome=StepOutcome.TIMED_OUT, command=(), exit_code=None).startswith("the linter could not")


def test_a_session_that_did_not_report_is_not_made() -> None:
    lost = judge_trial(None, Ending(kind=EndKind.OUT_OF_MEMORY), None)
    assert (lost.judges, lost.lint) == (False, "not made") and "out of memory" in lost.tests
    half = judge_trial(CheckReport(steps=(step(),)), EXITED, None)
    assert (half.judges, half.tests) == (False, "not made")
