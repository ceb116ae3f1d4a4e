"""Red, green and refactor: what is run, and what of it is enough. The reports are made by hand, so that each condition has its test."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from minion.protocol import CheckReport, StepOutcome, StepResult, Tree
from overlord.domain.checks.file import CheckCommand, ChecksFile
from overlord.domain.disciplines.call import CallStatus, Verification
from overlord.domain.disciplines.catalog import DisciplineName
from overlord.domain.disciplines.verification.seen import Seen
from overlord.domain.disciplines.verification.verify import judge, needed, plan
from overlord.domain.disciplines.worker_result import WorkerResult
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind
from tests.domain.disciplines.runner_outputs import RUNS
from tests.domain.disciplines.test_red_run import ASSERTED, case, printed, ran

RED, GREEN, REFACTOR = DisciplineName.TDD_RED, DisciplineName.TDD_GREEN, DisciplineName.TDD_REFACTOR
PASSED = WorkerResult(status=CallStatus.PASS)
EXITED = Ending(kind=EndKind.EXITED)
TEST = Change(path="test_new.py", status="A", added=3)
CODE = Change(path="calc.py", status="M", added=1, removed=1)
NEW_RED, NEW_GREEN = case("new", said=ASSERTED), case("new")
OLD_RED, OLD_GREEN = case("old", "test_old.py", ASSERTED), case("old", "test_old.py")
ARGUMENTS = {"test_path": "test_new.py", "impl_path": "calc.py"}


def named(name: str, step: StepResult) -> StepResult:
    return StepResult(
        name=name,
        outcome=step.outcome,
        exit_code=step.exit_code,
        junit=step.junit,
        output=step.output,
        rerun_junit=step.rerun_junit,
        command=step.command,
    )


def judged(
    discipline: DisciplineName,
    changes: Sequence[Change],
    base: StepResult | None,
    head: StepResult | None,
    restored: StepResult | None = None,
    **more: Any,
) -> Verification:
    made = {"baseline": base, "base_tests": restored, "tests": head}
    report = CheckReport(steps=tuple(named(name, step) for name, step in made.items() if step is not None))
    given: dict[str, Any] = {"arguments": ARGUMENTS, "ending": EXITED, "report": report, "result": PASSED}
    return judge(discipline, Seen(changes=changes, **(given | more)))


def judged_with(discipline: DisciplineName, base: StepResult, contents: Mapping[str, Any]) -> Verification:
    """A change of calc.py after which all tests pass, with what is in its files."""
    report = CheckReport(steps=(named("baseline", base), named("tests", ALL)))
    seen = Seen(result=PASSED, changes=[CODE], arguments=ARGUMENTS, ending=EXITED, report=report, **contents)
    return judge(discipline, seen)


def command(line: str, **more: str) -> ChecksFile:
    return ChecksFile(tests=CheckCommand.model_validate({"command": line, **more}))


# Plans


def test_red_runs_the_tests_without_the_change_and_with_it() -> None:
    made = plan(RED, changes=[TEST], arguments=ARGUMENTS, timeout_s=90)
    assert [(step.name, step.tree, step.command, step.timeout_s) for step in made.steps] == [
        ("baseline", Tree.BASE, (), 90),
        ("tests", Tree.HEAD, (), 90),
    ]
    assert all(step.reruns == 2 for step in made.steps)


def test_the_callers_command_is_run_where_the_project_is() -> None:
    asked: dict[str, Any] = {"changes": [TEST], "directory": "web", "checks": command("make test")}
    given = {**ARGUMENTS, "test_path": "test_new.py", "test_cmd": "pytest -q 'a b'"}
    changes = [Change(path="web/test_new.py", status="A")]
    made = plan(RED, **{**asked, "changes": changes}, arguments=given).steps
    assert {(step.command, step.directory) for step in made} == {(("pytest", "-q", "a b"), "web")}
    own = plan(RED, **{**asked, "changes": changes}, arguments=ARGUMENTS).steps
    assert {(step.command, step.directory) for step in own} == {(("make", "test"), "")}
    found = plan(RED, changes=changes, arguments=ARGUMENTS, directory="web").steps
    assert {(step.command, step.directory) for step in found} == {((), "web")}
    shell = plan(RED, changes=[TEST], arguments={"test_cmd": "cd x && pytest"}).steps
    assert shell[0].command == ("sh", "-c", "cd x && pytest")


def test_green_puts_the_tests_back_where_they_were_changed() -> None:
    made = plan(GREEN, changes=[CODE, Change(path="test_new.py", status="M")], arguments=ARGUMENTS)
    assert [(step.name, step.restore) for step in made.steps] == [
        ("baseline", ()),
        ("base_tests", ("test_new.py",)),
        ("tests", ()),
    ]
    plain = plan(GREEN, changes=[CODE], arguments=ARGUMENTS)
    assert [step.name for step in plain.steps] == ["baseline", "tests"]


@pytest.mark.parametrize(
    ("discipline", "changes"),
    [
        (RED, []),
        (RED, [TEST, CODE]),
        (GREEN, []),
        (REFACTOR, []),
        (REFACTOR, [CODE, TEST]),
        (DisciplineName.REVIEW, []),
        (DisciplineName.SPEC, [CODE]),
    ],
)
def test_nothing_is_run_where_the_change_decides(discipline: DisciplineName, changes: list[Change]) -> None:
    assert plan(discipline, changes=changes, arguments=ARGUMENTS).steps == ()


@pytest.mark.parametrize("discipline", [RED, GREEN, REFACTOR])
def test_a_command_that_cannot_be_read_is_told(discipline: DisciplineName) -> None:
    changes = [TEST] if discipline is RED else [CODE]
    arguments = {**ARGUMENTS, "test_cmd": "pytest 'x"}
    assert plan(discipline, changes=changes, arguments=arguments).steps == ()
    made = judged(discipline, changes, None, None, arguments=arguments, report=None, ending=None)
    assert made.why == "test_cmd cannot be read as a command: No closing quotation."
    assert made.code == ("not_run" if discipline is RED else "")


# Red


def test_red() -> None:
    made = judged(RED, [TEST], ran(OLD_GREEN), ran(OLD_GREEN, NEW_RED))
    assert made == Verification(
        verified=True, why="Red for an assertion: test_new::new.", code="assertion", output=ASSERTED
    )


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ([], "no_test_ran", "Nothing was changed"),
        ([TEST, CODE], "wrong_test", "It changed code: calc.py."),
        ([TEST, Change(path="pytest.ini", status="M")], "wrong_test", "It changed code: pytest.ini."),
        ([TEST, Change(path="tests/conftest.py", status="M")], "wrong_test", "It changed how tests are run"),
        ([Change(path="test_other.py", status="A")], "wrong_test", "It did not write test_new.py"),
        ([Change(path="test_new.py", status="D")], "wrong_test", "It only removed tests"),
    ],
)
def test_red_changes_tests_alone(changes: list[Change], code: str, said: str) -> None:
    made = judged(RED, changes, ran(OLD_GREEN), ran(OLD_GREEN, NEW_RED))
    assert (made.verified, made.code) == (False, code)
    assert said in made.why


def test_the_file_that_was_asked_for_may_have_any_name() -> None:
    arguments = {"test_path": "checks/half.py"}
    changes = [Change(path="checks/half.py", status="A")]
    red = case("new", "checks/half.py", ASSERTED)
    assert judged(RED, changes, ran(OLD_GREEN), ran(OLD_GREEN, red), arguments=arguments).verified


@pytest.mark.parametrize(
    ("ending", "has_report", "said"),
    [
        (EXITED, False, "without a report"),
        (Ending(kind=EndKind.OUT_OF_MEMORY), True, "did not end by itself (out of memory)"),
        (Ending(kind=EndKind.KILLED), True, "did not end by itself (killed)"),
    ],
)
def test_a_session_that_tells_nothing_verifies_nothing(ending: Ending, has_report: bool, said: str) -> None:
    more: dict[str, Any] = {"ending": ending} if has_report else {"ending": ending, "report": None}
    made = judged(RED, [TEST], ran(OLD_GREEN), ran(NEW_RED), **more)
    assert (made.verified, made.code) == (False, "not_run")
    assert said in made.why


def test_both_runs_have_to_be_made() -> None:
    late = StepResult(name="x", outcome=StepOutcome.TIMED_OUT, output="…")
    assert judged(RED, [TEST], None, ran(NEW_RED)).why == "The check session did not make every test run."
    at_base = judged(RED, [TEST], late, ran(NEW_RED))
    assert at_base.why == "The tests did not end within their time on the files as they were."
    assert judged(RED, [TEST], ran(OLD_GREEN), late).why == "The tests did not end within their time."
    assert at_base.code == "not_run"


def test_first_tests_of_a_project_are_red_too() -> None:
    none = StepResult(name="x", outcome=StepOutcome.NOTHING_TO_RUN)
    assert judged(RED, [TEST], none, ran(NEW_RED)).verified
    assert judged(RED, [TEST], none, none).code == "no_test_ran"


def test_a_test_that_was_red_and_is_written_anew_is_red() -> None:
    old, new = b"def test_new():\n    assert half(4) == 2\n", b"def test_new():\n    assert half(4) == 3\n"
    red, changes = case("test_new", said=ASSERTED), [Change(path="test_new.py", status="M")]
    report = CheckReport(steps=(named("baseline", ran(red)), named("tests", ran(red))))

    def seen(head: bytes) -> Seen:
        return Seen(
            result=PASSED,
            changes=changes,
            ending=EXITED,
            report=report,
            base={"test_new.py": old},
            head={"test_new.py": head},
        )

    assert judge(RED, seen(new)).verified
    assert judge(RED, seen(old + b"\n\ndef test_b():\n    assert True\n")).code == "wrong_test"
    wanted = needed(RED, Seen(result=PASSED, changes=changes))
    assert (wanted.base, wanted.head) == (frozenset({"test_new.py"}), frozenset({"test_new.py"}))


@pytest.mark.parametrize(
    ("body", "is_red"),
    [
        ("assert False", False),
        ("assert 1 == 2", False),
        ("assert not True, 'to do'", False),
        ("pytest.fail('to do')", False),
        ("raise AssertionError", False),
        ("assert half(3) == 2", True),
        ("assert hasattr(calc, 'half')", True),
        ("if not hasattr(calc, 'half'):\n        pytest.fail('it is not there')", True),
        ("if half(3) != 2:\n        raise AssertionError", True),
        ("assert False\n    assert half(3) == 2", True),
    ],
)
@pytest.mark.parametrize("by_report", [True, False])
def test_a_test_that_fails_whatever_the_code_does_is_not_red(
    body: str, *, is_red: bool, by_report: bool
) -> None:
    content = f"import calc\n\n\ndef test_new():\n    {body}\n".encode()
    head = ran(case("test_new", said=ASSERTED)) if by_report else printed(1, "test_new.py\nAssertionError\n")
    arguments = ARGUMENTS if by_report else {**ARGUMENTS, "test_cmd": "./check"}
    base = ran(OLD_GREEN) if by_report else printed(0, "")
    seen = Seen(
        result=PASSED,
        changes=[TEST],
        ending=EXITED,
        report=CheckReport(steps=(named("baseline", base), named("tests", head))),
        head={"test_new.py": content},
        arguments=arguments,
    )
    made = judge(RED, seen)
    assert (made.verified, made.code) == ((True, "assertion") if is_red else (False, "wrong_test"))
    assert is_red or made.why.startswith("test_new fails whatever the code does")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            "AssertionError: printed by the file itself\n",
            "1 ran before, and with this change none is counted",
        ),
        ("AssertionError: printed\nRan 2 tests in 0.1s\n\nOK\n", "The runner counts no failed test"),
        ("AssertionError: 1 != 2\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n", "Red for an assertion"),
    ],
)
def test_words_of_a_failure_are_no_failed_test(output: str, said: str) -> None:
    arguments = {**ARGUMENTS, "test_cmd": "python -m unittest"}
    before = printed(0, "Ran 1 test in 0.1s\n\nOK\n")
    made = judged(RED, [TEST], before, printed(1, f"test_new.py\n{output}"), arguments=arguments)
    assert made.code == ("assertion" if said.startswith("Red") else "unclear")
    assert said in made.why


def test_an_output_counts_only_where_no_report_was_to_be_written() -> None:
    printed_red = printed(1, next(run.output for run in RUNS if run.name == "unittest, an assertion"))
    green = printed(0, "Ran 1 test in 0.1s\n\nOK\n")
    own = judged(RED, [TEST], green, printed_red, checks=command("python -m unittest"))
    assert (own.verified, own.code) == (True, "assertion")
    for checks in (None, command("pytest"), command("make test", junit="out.xml")):
        made = judged(RED, [TEST], green, printed_red, checks=checks)
        assert (made.verified, made.code) == (False, "unclear"), checks
        assert "no readable report" in made.why


# Green

BASE = ran(OLD_GREEN, NEW_RED)
ALL = ran(OLD_GREEN, NEW_GREEN)


def test_green() -> None:
    made = judged(GREEN, [CODE], BASE, ALL)
    assert made.verified
    assert made.why == (
        "test_new::new failed for an assertion before and passes now, as it was written; 2 tests pass in all."
    )


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        (ALL, ALL, "test_new.py was not red before: it passes already"),
        (ran(OLD_GREEN, case("new", said="ImportError", kind="error")), ALL, "was not red before"),
        (ran(OLD_GREEN, case("new", said="KeyError: 'x'")), ALL, "was not red before"),
        (ran(OLD_RED), ran(OLD_GREEN), "was not red before: what fails is not the test"),
        (BASE, BASE, "test_new::new does not pass as it was written."),
        (BASE, ran(NEW_GREEN, OLD_RED), "passed before and fails"),
        (BASE, ran(NEW_GREEN), "passed before and is not run any more"),
        (BASE, ran(NEW_GREEN, case("old", "test_old.py", "no", "skipped")), "passed before and is skipped"),
        (BASE, ran(OLD_GREEN), "does not pass as it was written"),
        (BASE, ran(OLD_GREEN, case("new", said="no", kind="skipped")), "does not pass as it was written"),
        (BASE, printed(0, ""), "no readable report"),
        (printed(1, "AssertionError"), ALL, "no readable report"),
    ],
)
def test_what_is_not_green(base: StepResult, head: StepResult, said: str) -> None:
    made = judged(GREEN, [CODE], base, head)
    assert not made.verified
    assert said in made.why


def test_nothing_changed_is_not_green() -> None:
    assert judged(GREEN, [], BASE, ALL).why == "Nothing was changed."


def test_all_of_the_tests_in_the_file_have_to_pass() -> None:
    other = case("b", said="KeyError: 'x'")
    made = judged(GREEN, [CODE], ran(NEW_RED, other), ran(NEW_GREEN, other))
    assert made.why == "test_new::b fails."


def test_a_test_that_green_changed_is_judged_as_it_was() -> None:
    changes = [CODE, Change(path="test_new.py", status="M", added=1)]
    saved = judged(GREEN, changes, BASE, ALL, restored=BASE)
    assert saved.why == "test_new::new does not pass as it was written."
    kept = judged(GREEN, changes, BASE, ALL, restored=ALL)
    assert kept.verified
    assert kept.why.endswith("test_new.py was changed: it was judged in the form it had before.")
    assert judged(GREEN, changes, BASE, ALL).why == "The check session did not make every test run."


def test_another_test_that_green_changed_is_judged_as_it_was() -> None:
    changes = [CODE, Change(path="test_old.py", status="M", added=1)]
    made = judged(GREEN, changes, BASE, ALL, restored=ran(OLD_RED, NEW_GREEN))
    assert not made.verified
    assert "fails in its old form" in made.why
    assert "Tests were changed (test_old.py)" in judged(GREEN, changes, BASE, ALL, restored=ALL).why


GO_RED = printed(1, "--- FAIL: TestNew (0.00s)\n    test_new.go:3: no\nFAIL\nFAIL\tx/calc\t0.1s\n")
GO_GREEN = printed(0, "ok  \tx/calc\t0.1s\n")


@pytest.mark.parametrize(
    ("base", "restored", "head", "is_verified"),
    [
        (GO_RED, None, GO_GREEN, True),
        (GO_RED, None, GO_RED, False),
        (GO_RED, GO_GREEN, GO_GREEN, True),
        (GO_RED, GO_RED, GO_GREEN, False),
        (GO_RED, None, printed(0, "?   \tx/calc\t[no test files]\n"), False),
        (GO_GREEN, None, GO_GREEN, False),
        (printed(1, "--- FAIL: TestNew (0.00s)\n    elsewhere.go:3: no\nFAIL\n"), None, GO_GREEN, False),
    ],
)
def test_green_by_exit_codes(
    base: StepResult, restored: StepResult | None, head: StepResult, is_verified: bool
) -> None:
    changes = [CODE, *([Change(path="test/other.go", status="M")] if restored else [])]
    arguments = {"test_path": "test_new.go", "test_cmd": "go test ./..."}
    made = judged(GREEN, changes, base, head, restored, arguments=arguments)
    assert made.verified is is_verified, made.why


def counting(exit_code: int, said: str) -> StepResult:
    return printed(exit_code, f"test_new.py\n{said}\n")


ENDED_EARLY = counting(0, "")
UNIT_RED = counting(1, "AssertionError: 1 != 2\nRan 2 tests in 0.1s\n\nFAILED (failures=1)")
UNIT_GREEN = counting(0, "Ran 2 tests in 0.1s\n\nOK")
UNIT_FEWER = counting(0, "Ran 1 test in 0.1s\n\nOK")


@pytest.mark.parametrize(
    ("restored", "head", "said"),
    [
        (None, UNIT_GREEN, "by the exit code and the output alone, which counts 2 as passed."),
        (None, ENDED_EARLY, "2 tests ran before, and with this change not one test is counted as passed"),
        (None, UNIT_FEWER, "2 tests ran before, and with this change 1 passed, though the exit code is 0"),
        (ENDED_EARLY, UNIT_GREEN, "(exit code 0). 2 tests ran before, and with this change not one"),
        (UNIT_GREEN, UNIT_FEWER, "with this change 1 passed"),
    ],
)
@pytest.mark.parametrize("discipline", [GREEN, REFACTOR])
def test_a_run_that_ends_early_shows_nothing(
    discipline: DisciplineName, restored: StepResult | None, head: StepResult, said: str
) -> None:
    """Such as one of code that calls `os._exit(0)` when it is imported."""
    changes = [CODE, *([Change(path="setup.cfg", status="M", added=1)] if restored else [])]
    base = UNIT_RED if discipline is GREEN else UNIT_GREEN
    arguments = {**ARGUMENTS, "test_cmd": "python -m unittest"}
    made = judged(discipline, changes, base, head, restored, arguments=arguments)
    assert made.verified is (head is UNIT_GREEN and restored is None)
    assert said in made.why


@pytest.mark.parametrize("discipline", [GREEN, REFACTOR])
def test_where_no_test_is_counted_the_exit_code_alone_judges_and_that_is_told(
    discipline: DisciplineName,
) -> None:
    base = counting(1, "AssertionError: 1 != 2") if discipline is GREEN else counting(0, "it works")
    arguments = {**ARGUMENTS, "test_cmd": "./check"}
    made = judged(discipline, [CODE], base, counting(0, "it works"), arguments=arguments)
    assert made.verified
    assert made.why.endswith("judged by the exit code alone: the output tells no number of tests.")


@pytest.mark.parametrize("discipline", [GREEN, REFACTOR])
@pytest.mark.parametrize("path", ["build.gradle.kts", "app/pom.xml", "Cargo.toml"])
def test_what_is_built_is_not_changed_where_no_test_is_counted(discipline: DisciplineName, path: str) -> None:
    changes = [CODE, Change(path=path, status="M", added=1)]
    arguments = {**ARGUMENTS, "test_cmd": "./check"}
    is_green = discipline is GREEN
    base = counting(1, "AssertionError: 1 != 2") if is_green else counting(0, "it works")
    made = judged(discipline, changes, base, counting(0, "it works"), arguments=arguments)
    assert not made.verified
    assert made.why.startswith(f"{path} was changed, which may say which tests are run")
    counts = UNIT_RED if is_green else UNIT_GREEN
    assert judged(discipline, changes, counts, UNIT_GREEN, arguments=arguments).verified


@pytest.mark.parametrize("discipline", [GREEN, REFACTOR])
def test_a_command_that_was_not_run_shows_nothing(discipline: DisciplineName) -> None:
    base = counting(1, "AssertionError: 1 != 2") if discipline is GREEN else counting(0, "it works")
    arguments = {**ARGUMENTS, "test_cmd": "./check"}
    nothing = StepResult(name="tests", outcome=StepOutcome.NOTHING_TO_RUN)
    made = judged(discipline, [CODE], base, nothing, arguments=arguments)
    assert not made.verified
    assert "Nothing was run." in made.why


# Refactor


def test_a_refactoring() -> None:
    made = judged(REFACTOR, [CODE], ALL, ALL)
    assert (made.verified, made.why) == (True, "2 tests passed before and pass now; none was changed.")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([], "Nothing was changed in calc.py."),
        ([Change(path="other.py", status="M", added=1)], "Nothing was changed in calc.py."),
        (
            [Change(path="calc.py", status="M", old_mode="100644", new_mode="100755")],
            "It changed only the mode, and no line, of calc.py.",
        ),
        (
            [Change(path="calc.py", status="T", old_mode="100644", new_mode="120000", added=1)],
            "It put a link, or something else that is no code, in the place of calc.py.",
        ),
        ([Change(path="calc.py", status="A", new_mode="100644")], "Nothing was changed in calc.py."),
        ([CODE, TEST], "It changed tests: test_new.py."),
    ],
)
def test_a_refactoring_changes_its_file_and_no_test(changes: list[Change], said: str) -> None:
    made = judged(REFACTOR, changes, ALL, ALL, restored=ALL)
    assert not made.verified
    assert said in made.why


_PYTHON = b"def half(n):\n    if n:\n        n += 1\n        n += 2\n    return 'a  b'\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "is_other"),
    [
        ("calc.py", _PYTHON, _PYTHON + b"\n# better\n", False),
        ("calc.py", _PYTHON, _PYTHON.replace(b"(n)", b"( n )"), False),
        ("calc.py", _PYTHON, _PYTHON.replace(b"        n += 2", b"    n += 2"), True),
        ("calc.py", _PYTHON, _PYTHON.replace(b"a  b", b"a b"), True),
        ("calc.ts", b"const a = 1; // one\n", b"const a =\n  1; /* 1 */\n", False),
        ("calc.ts", b"const a = 1;\n", b"const b = 1;\n", True),
        ("calc.rb", b"def a\n  1\nend\n", b"\ndef a \n\n  1\nend", False),
        ("calc.rb", b"def a\n  1\nend\n", b"def a\n 1\nend\n", True),
        ("calc.py", b"if (", b"if  (", True),
    ],
)
def test_comments_and_layout_are_no_refactoring(
    path: str, before: bytes, after: bytes, *, is_other: bool
) -> None:
    report = CheckReport(steps=(named("baseline", ALL), named("tests", ALL)))
    given: dict[str, Any] = {
        "result": PASSED,
        "arguments": {**ARGUMENTS, "impl_path": path},
        "changes": [Change(path=path, status="M", added=1)],
    }
    made = judge(
        REFACTOR, Seen(**given, ending=EXITED, report=report, base={path: before}, head={path: after})
    )
    assert made.verified is is_other
    assert (
        is_other
        or made.why == f"Only comments, or its layout, were changed in {path}: its code is as it was."
    )
    assert path in needed(REFACTOR, Seen(**given)).base & needed(REFACTOR, Seen(**given)).head


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        (BASE, BASE, "The tests were not green before: test_new::new fails"),
        (ALL, BASE, "test_new::new passed before and does not now."),
        (ALL, ran(OLD_GREEN), "test_new::new passed before and does not now."),
        (ALL, ran(OLD_GREEN, case("new", said="no", kind="skipped")), "passed before and does not now"),
        (ALL, ran(OLD_GREEN, NEW_GREEN, case("b", said=ASSERTED)), "fails."),
        (ran(OLD_GREEN), ran(OLD_GREEN), "No test of test_new.py passed before"),
        (ran(case("new", said="no", kind="skipped")),) * 2 + ("Not one test passed before",),
        (ALL, printed(0, ""), "no readable report"),
        (printed(0, ""), ALL, "no readable report"),
    ],
)
def test_what_is_no_refactoring(base: StepResult, head: StepResult, said: str) -> None:
    made = judged(REFACTOR, [CODE], base, head)
    assert not made.verified
    assert said in made.why


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        (GO_GREEN, GO_GREEN, "judged by the exit code"),
        (GO_RED, GO_GREEN, "The tests were not green before (exit code 1)."),
        (GO_GREEN, GO_RED, "The tests do not pass with this change (exit code 1)."),
        (printed(0, "?   \tx/calc\t[no test files]\n"), GO_GREEN, "The tests were not green before"),
    ],
)
def test_a_refactoring_by_exit_codes(base: StepResult, head: StepResult, said: str) -> None:
    made = judged(REFACTOR, [CODE], base, head, checks=command("go test ./..."))
    assert made.verified is (said == "judged by the exit code")
    assert said in made.why


def test_the_workers_own_word_counts_for_nothing() -> None:
    claim = WorkerResult(status=CallStatus.PASS, claims_verified=True)
    made = judged(REFACTOR, [], ALL, ALL, result=claim)
    assert not made.verified
    assert made.why == "Nothing was changed in calc.py. The worker said that it is verified."


@pytest.mark.parametrize("discipline", [GREEN, REFACTOR])
@pytest.mark.parametrize(
    ("line", "path"),
    [("sh ci/check.sh", "ci/check.sh"), ("./check", "check"), ("cd x && ./all.sh -q", "all.sh")],
)
def test_a_script_that_the_test_command_runs_is_not_changed(
    discipline: DisciplineName, line: str, path: str
) -> None:
    changes = [CODE, Change(path=path, status="M", added=1, removed=1)]
    base = ran(NEW_RED, OLD_GREEN) if discipline is GREEN else ran(NEW_GREEN, OLD_GREEN)
    arguments = {**ARGUMENTS, "test_cmd": line}
    made = judged(discipline, changes, base, ran(NEW_GREEN, OLD_GREEN), arguments=arguments)
    assert (made.verified, made.code) == (False, "not_run")
    assert f"It changed {path}, which the test command runs" in made.why
    assert judged(discipline, [CODE], base, ran(NEW_GREEN, OLD_GREEN), arguments=arguments).verified


@pytest.mark.parametrize("discipline", [GREEN, REFACTOR])
@pytest.mark.parametrize(
    ("path", "directory"),
    [
        ("sitecustomize.py", ""),
        ("unittest/__init__.py", ""),
        ("web/_pytest.py", "web"),
        ("node_modules/.bin/jest", ""),
        ("web/node_modules/jest/index.js", "web"),
    ],
)
def test_the_runner_is_not_replaced(discipline: DisciplineName, path: str, directory: str) -> None:
    base = ran(NEW_RED, OLD_GREEN) if discipline is GREEN else ALL
    code = Change(path=f"{directory}/calc.py".lstrip("/"), status="M", added=1)
    made = judged(discipline, [code, Change(path=path, status="A", added=1)], base, ALL, directory=directory)
    assert (made.verified, made.code) == (False, "not_run")
    assert made.why.startswith(f"{path} takes the place of something that test runs load")
    gone = [code, Change(path=path, status="D", removed=1)]
    assert judged(discipline, gone, base, ALL, directory=directory).verified


@pytest.mark.parametrize("discipline", [GREEN, REFACTOR])
def test_code_does_not_ask_whether_it_is_tested(discipline: DisciplineName) -> None:
    base = ran(NEW_RED, OLD_GREEN) if discipline is GREEN else ALL
    asks = b"import os\nif os.environ.get('PYTEST_CURRENT_TEST'):\n    half = 2\n"
    fresh = {"base": {"calc.py": b"import os\n"}, "head": {"calc.py": asks}}
    made = judged_with(discipline, base, fresh)
    assert not made.verified
    assert made.why.startswith("calc.py:2 asks whether it is being tested")
    was_there = {"base": {"old.py": asks}, "head": {"calc.py": asks + b"more = 1\n"}}
    assert judged_with(discipline, base, was_there).verified
    changes = [CODE, TEST, Change(path="a.txt", status="A")]
    wanted = needed(discipline, Seen(result=PASSED, arguments=ARGUMENTS, changes=changes))
    assert (wanted.base, wanted.head) == (frozenset({"calc.py"}), frozenset({"calc.py"}))
