"""What is red: a test of this change that fails for an assertion, told from all that only looks so."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minion.protocol import StepOutcome, StepResult
from overlord.domain.checks.testruns.junit import Case, CaseOutcome
from overlord.domain.checks.testruns.red_output import MOST_CHARS, failing_names, told_by
from overlord.domain.checks.testruns.red_run import RedQuestion, RedRun, reason_of, red_run
from tests.domain.disciplines.runner_outputs import RUNS, Printed

ASSERTED = "assert 1 == 2\ntest_new.py:3: AssertionError"


def case(name: str, file: str = "test_new.py", said: str = "", kind: str = "failure") -> str:
    """One test of a report; it passed where nothing is said."""
    inside = f"<{kind}>{said}</{kind}>" if said else ""
    module = file.removesuffix(".py").replace("/", ".")
    return f'<testcase classname="{module}" name="{name}" file="{file}">{inside}</testcase>'


def ran(*cases: str, again: Collection[str] = ()) -> StepResult:
    """A run with a report; `again` are the tests that pass when they are run again."""
    junit = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
    failed = any("<failure>" in one or "<error>" in one for one in cases)
    rerun = f"<testsuites><testsuite>{''.join(again)}</testsuite></testsuites>"
    return StepResult(
        name="tests",
        outcome=StepOutcome.RAN,
        exit_code=int(failed),
        junit=junit,
        rerun_junit=(rerun, rerun) if again else (),
    )


def printed(exit_code: int, output: str) -> StepResult:
    """A run without a report."""
    return StepResult(name="tests", outcome=StepOutcome.RAN, exit_code=exit_code, output=output)


def asked(
    step: StepResult,
    base: StepResult | None = None,
    *,
    paths: Collection[str] = (),
    changed: Collection[str] = ("test_new.py",),
    rewritten: Collection[str] = (),
) -> RedRun:
    question = RedQuestion(changed=changed, paths=paths, base=base, rewritten=rewritten, files=changed)
    return red_run(step, question)


@pytest.mark.parametrize("run", RUNS, ids=[run.name for run in RUNS])
def test_what_runners_print_is_told_apart(run: Printed) -> None:
    assert told_by(run.exit_code, run.output).code == run.code
    coloured = run.output.replace("FAIL", "\x1b[31mFAIL\x1b[0m").replace("\n", "\r\n")
    assert told_by(run.exit_code, coloured).code == run.code


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("assert 1 == 2\n +  where 1 = half(3)def test_a():\n>  assert\n\ntest_a.py:3: AssertionError", "assertion"),
        ("AssertionError: no such thing: ImportError\n\ntest_a.py:3: AssertionError", "assertion"),
        ("Failed: DID NOT RAISE <class 'ValueError'>", "assertion"),
        ("KeyError: 'assert'def test_a():\n    assert calc.half()\n\ncalc.py:3: KeyError", "error"),
        ("TypeError: AssertionError is not iterable\n\ntest_a.py:3: TypeError", "error"),
        ("numpy.testing.MyAssertionError: x\n\nx.py:3: numpy.testing.MyAssertionError", "assertion"),
        ("ModuleNotFoundError: No module named 'x'\n\ntest_a.py:3: ModuleNotFoundError", "import_error"),
        ("SyntaxError: invalid\n", "import_error"),
        ("    calc_test.go:9: Half(3) = 1, want 2\n--- FAIL: TestHalf (0.00s)\n", "assertion"),
        ("--- FAIL: TestHalf (0.00s)\npanic: runtime error: index out of range\n", "error"),
        ("Error: expect(received).toBe(expected)\n\nExpected: 2", "assertion"),
        ("AssertionError: expected 1 to be 2", "assertion"),
        ("Error: Cannot find module './x'", "import_error"),
        ("Error: boom", "error"),
        ("thread panicked at x.rs:1:1:\nassertion `left == right` failed", "assertion"),
        ("java.lang.NullPointerException: x", "error"),
        ("org.opentest4j.AssertionFailedError: expected: 1", "assertion"),
        ("", "error"),
    ],
)  # fmt: skip
def test_why_a_test_failed(message: str, code: str) -> None:
    assert reason_of(Case(id="a::b", outcome=CaseOutcome.FAILED, message=message)) == code


def test_an_error_outside_a_test_is_one_whatever_it_says() -> None:
    found = Case(id="a::b", outcome=CaseOutcome.FAILED, message=ASSERTED, is_error=True)
    assert reason_of(found) == "import_error"
    whole = Case(id="::test_a", outcome=CaseOutcome.FAILED, message=ASSERTED, file="test_a.py")
    assert reason_of(whole) == "import_error"


GREEN, OLD_RED = ran(case("old", "test_old.py")), ran(case("old", "test_old.py", ASSERTED))
NEW_RED = case("new", said=ASSERTED)


@pytest.mark.parametrize(
    ("step", "base", "code"),
    [
        (ran(NEW_RED), GREEN, "assertion"),
        (ran(NEW_RED, case("old", "test_old.py", ASSERTED)), OLD_RED, "assertion"),
        (ran(NEW_RED, case("old", "test_old.py", ASSERTED)), GREEN, "wrong_test"),
        (ran(NEW_RED, case("old", "test_old.py", ASSERTED)), None, "assertion"),
        (ran(case("new"), case("old", "test_old.py", ASSERTED)), GREEN, "wrong_test"),
        (ran(case("new"), case("old", "test_old.py", ASSERTED)), OLD_RED, "passed"),
        (ran(case("old", "test_old.py", ASSERTED)), OLD_RED, "wrong_test"),
        (ran(case("new")), GREEN, "passed"),
        (ran(case("old", "test_old.py")), GREEN, "no_test_ran"),
        (ran(case("new", said="later", kind="skipped")), GREEN, "no_test_ran"),
        (ran(NEW_RED, case("b", said="KeyError: 'x'")), GREEN, "assertion"),
        (ran(NEW_RED, case("b", said="ImportError", kind="error")), GREEN, "import_error"),
        (ran(case("b", said="KeyError: 'x'")), GREEN, "error"),
        (ran(NEW_RED), ran(NEW_RED), "wrong_test"),
        (ran(NEW_RED, again=[case("new")]), GREEN, "passed"),
    ],
)
def test_a_report_tells_what_is_of_this_change(step: StepResult, base: StepResult | None, code: str) -> None:
    assert asked(step, base).code == code


def test_a_test_that_was_red_before_is_red_only_where_it_was_rewritten() -> None:
    assert asked(ran(NEW_RED), ran(NEW_RED), rewritten={"other"}).code == "wrong_test"
    assert asked(ran(NEW_RED), ran(NEW_RED), rewritten={"new"}).code == "assertion"


def test_it_has_to_fail_in_the_file_that_was_asked_for() -> None:
    both = {"test_new.py", "test_other.py"}
    assert asked(ran(NEW_RED), GREEN, paths={"test_new.py"}, changed=both).code == "assertion"
    assert asked(ran(NEW_RED), GREEN, paths={"test_other.py"}, changed=both).code == "wrong_test"
    no_file = ran('<testcase classname="test_new" name="a"><failure>assert 1</failure></testcase>')
    assert asked(no_file, GREEN, paths={"test_new.py"}, changed=both).code == "assertion"
    assert asked(no_file, GREEN, paths={"test_other.py"}, changed=both).code == "wrong_test"


@pytest.mark.parametrize(
    "outcome", [StepOutcome.TIMED_OUT, StepOutcome.BROKEN, StepOutcome.NO_TOOLCHAIN], ids=str
)
def test_what_was_not_run_is_not_red(outcome: StepOutcome) -> None:
    assert asked(StepResult(name="tests", outcome=outcome)).code == "not_run"


def test_nothing_to_run_is_no_test() -> None:
    assert asked(StepResult(name="tests", outcome=StepOutcome.NOTHING_TO_RUN)).code == "no_test_ran"


GO_OLD = "--- FAIL: TestOld (0.00s)\n    old_test.go:3: no\nFAIL\nFAIL\texample.com/calc\t0.1s\n"
GO_NEW = "--- FAIL: TestNew (0.00s)\n    new_test.go:3: no\n" + GO_OLD


@pytest.mark.parametrize(
    ("output", "before", "code"),
    [
        (GO_NEW, printed(0, "ok  \texample.com/calc\t0.1s\n"), "assertion"),
        (GO_NEW, printed(1, GO_OLD), "assertion"),
        (GO_OLD, printed(1, GO_OLD), "wrong_test"),
        (GO_OLD, printed(1, "No tests found, exiting with code 1\n"), "assertion"),
        ("AssertionError: no\n", printed(1, "AssertionError: no\n"), "unclear"),
        ("boom\n", printed(0, ""), "unclear"),
    ],
)
def test_without_a_report_the_output_tells(output: str, before: StepResult, code: str) -> None:
    made = asked(printed(1, output), before, changed={"new_test.go"}, paths={"new_test.go"})
    assert (made.code, made.by_report) == (code, False)


def test_of_several_files_the_output_has_to_name_the_one() -> None:
    both = {"new_test.go", "other_test.go"}
    assert asked(printed(1, GO_NEW), changed=both, paths={"new_test.go"}).code == "assertion"
    assert asked(printed(1, GO_NEW), changed=both, paths={"other_test.go"}).code == "unclear"


def test_a_report_that_contradicts_the_exit_code_is_not_believed() -> None:
    lying = StepResult(name="tests", outcome=StepOutcome.RAN, exit_code=0, junit=ran(NEW_RED).junit)
    assert asked(lying).code == "passed"


def test_code_that_did_not_load_before_either_says_nothing_of_this_change() -> None:
    broken = "ERROR tests/test_x.py\n"
    assert told_by(1, broken + "AssertionError: 1 != 2\n").code == "import_error"
    assert told_by(1, broken + "AssertionError: 1 != 2\n", broken).code == "assertion"


def test_names_of_failing_tests() -> None:
    names = failing_names("".join(run.output for run in RUNS))
    assert {"TestHalf", "test_x (test_a.T.test_x)", "tests::halves", "test_p.py::test_p", "adds"} <= names


@given(st.text(), st.integers(0, 255))
def test_any_output_can_be_read(output: str, exit_code: int) -> None:
    made = told_by(exit_code, output)
    assert exit_code == 0 or made.code != "passed"


def test_of_a_huge_line_the_beginning_is_read() -> None:
    assert told_by(1, "x" * MOST_CHARS + "AssertionError").code == "unclear"
    assert told_by(1, "expect(" * MOST_CHARS).code == "unclear"
    assert told_by(1, "AssertionError: " + "expect(" * (MOST_CHARS // 10)).code == "assertion"
