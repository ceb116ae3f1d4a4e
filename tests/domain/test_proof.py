"""Proof of change: a test that fails without it and passes with it; what has none is asked for one, then marked."""

from dataclasses import replace

import pytest

from minion.protocol import CheckReport, StepOutcome, StepResult
from overlord.domain.checks.change_context import ChangeContext
from overlord.domain.checks.file import parse_checks
from overlord.domain.checks.testcode.compare import Compared, Source
from overlord.domain.checks.testruns.judge import BASELINE_STEP, NEW_ON_BASE_STEP, TESTS_STEP, judge_tests
from overlord.domain.checks.testruns.proof import ProofPolicy
from overlord.domain.evaluation import CheckResult, CheckScore
from tests.domain.test_testing import BAD, EXITED, OK, TESTS, ran, rules

OLD, NEW = "test_a.py::test_old", "test_a.py::test_new"
ASSERTS = (
    "from calc import zero\n\n\ndef test_old():\n    assert 1\n\n\ndef test_new():\n    assert zero() == 0\n"
)
EMPTY = ASSERTS.replace("assert zero() == 0", "zero()")
VACUOUS = ASSERTS.replace("assert zero() == 0", "assert zero or True")
RAISED = '<failure message="ZeroDivisionError: division by zero">E</failure>'
NO_NAME = "<failure message=\"AttributeError: module 'calc' has no attribute 'zero'\">E</failure>"
NO_IMPORT = "<error message=\"ImportError: cannot import name 'zero' from 'calc'\"/>"
BROKEN = '<error message="SyntaxError: invalid syntax"/>'


def context(after: str = ASSERTS, **known: object) -> ChangeContext:
    source = Source(path="test_a.py", before=b"def test_old():\n    assert 1\n", after=after.encode())
    return ChangeContext(compared=Compared([source]), **known)  # type: ignore[arg-type]


def judged(on_base: dict[str, str] | None, known: ChangeContext, *, red: bool = False) -> CheckResult:
    base = {OLD: BAD if red else OK}
    steps = [ran(BASELINE_STEP, base), ran("base_tests", {OLD: OK}), ran(TESTS_STEP, {OLD: OK, NEW: OK})]
    if on_base is not None:
        steps.append(ran(NEW_ON_BASE_STEP, on_base))
    return judge_tests(None, CheckReport(steps=tuple(steps)), EXITED, TESTS, context=known)


@pytest.mark.parametrize(
    ("on_base", "after"),
    [
        ({OLD: OK, NEW: BAD}, ASSERTS),
        ({OLD: OK, NEW: RAISED}, ASSERTS),
        ({OLD: OK, NEW: NO_NAME}, ASSERTS),
        ({"test_a.py::": NO_IMPORT}, ASSERTS),
        ({OLD: BAD, NEW: OK}, ASSERTS.replace("assert 1", "assert zero() == 0")),
    ],
    ids=["asserts", "raises", "no such name", "no such import", "an old test that asserts more"],
)
def test_a_test_that_needs_the_change_proves_it(on_base: dict[str, str], after: str) -> None:
    assert judged(on_base, context(after)).findings == ()


@pytest.mark.parametrize(
    ("on_base", "after"),
    [
        ({OLD: OK, NEW: OK}, ASSERTS),
        ({OLD: OK, NEW: RAISED}, EMPTY),
        ({OLD: OK, NEW: NO_NAME}, EMPTY),
        ({"test_a.py::": NO_IMPORT}, EMPTY),
        ({"test_a.py::": NO_IMPORT}, VACUOUS),
        ({"test_a.py::": BROKEN}, ASSERTS),
        (None, ASSERTS),
    ],
    ids=[
        "passes anyway",
        "raises only",
        "name only",
        "import only",
        "vacuous",
        "does not run",
        "was not tried",
    ],
)
def test_what_does_not_need_the_change_by_an_assertion_proves_nothing(
    on_base: dict[str, str] | None, after: str
) -> None:
    result = judged(on_base, context(after))
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["unproven"])
    assert result.summary.startswith("unproven: ")


def test_a_red_test_of_base_that_is_green_now_proves_it() -> None:
    assert judged({OLD: BAD, NEW: OK}, context(), red=True).findings == ()


def test_the_settings_say_what_becomes_of_what_was_asked_for_in_vain() -> None:
    passes = {OLD: OK, NEW: OK}
    marked = judged(passes, context(was_asked=True))
    assert (marked.score, rules(marked), marked.subject) == (CheckScore.PASS, ["unproven"], "")
    held = judged(passes, context(was_asked=True, proof=ProofPolicy.REQUIRED))
    assert (held.score, rules(held), held.subject) == (CheckScore.PASS, ["unproven"], "unproven")
    off = judged(passes, context(proof=ProofPolicy.OFF))
    assert (off.score, off.findings) == (CheckScore.PASS, ())


def test_what_changes_no_behaviour_needs_none_and_says_so() -> None:
    exempt = judged({OLD: OK, NEW: OK}, context(exempt="only documentation is changed"))
    assert (exempt.score, exempt.findings) == (CheckScore.PASS, ())
    assert exempt.summary.endswith("no proof is needed: only documentation is changed")


def test_a_test_is_asked_for_together_with_everything_else() -> None:
    steps = (ran(BASELINE_STEP, {OLD: OK}), ran("base_tests", {OLD: BAD}), ran(TESTS_STEP, {OLD: BAD}))
    broken = judge_tests(None, CheckReport(steps=steps), EXITED, TESTS, context=context())
    assert set(rules(broken)) == {"test-broken", "unproven"}
    again = judge_tests(None, CheckReport(steps=steps), EXITED, TESTS, context=context(was_asked=True))
    assert rules(again) == ["test-broken"]


@pytest.mark.parametrize(
    ("base", "on_base", "proven"), [(1, None, True), (0, 1, True), (0, 0, False), (0, None, False)]
)
def test_a_command_that_says_yes_or_no_proves_by_that(base: int, on_base: int | None, proven: bool) -> None:
    def step(name: str, code: int) -> StepResult:
        return StepResult(name=name, outcome=StepOutcome.RAN, exit_code=code, duration_s=1.0)

    steps = [step(BASELINE_STEP, base), step("base_tests", 0), step(TESTS_STEP, 0)]
    if on_base is not None:
        steps.append(step(NEW_ON_BASE_STEP, on_base))
    checks = parse_checks(b"tests: make test")
    report = CheckReport(steps=tuple(steps))
    result = judge_tests(None, report, EXITED, TESTS, checks, context=replace(context(), compared=None))
    assert (result.score is CheckScore.PASS) is proven


def test_a_deleted_test_that_the_command_does_not_run_is_seen_in_the_diff() -> None:
    gone = Source(path="web/x.test.js", before=b"it('adds', () => { expect(f()).toBe(1); });", after=None)
    steps = (ran(BASELINE_STEP, {OLD: OK}), ran("base_tests", {OLD: OK}), ran(TESTS_STEP, {OLD: OK}))
    known = ChangeContext(compared=Compared([gone], deletions=False), proof=ProofPolicy.OFF)
    made = judge_tests(None, CheckReport(steps=steps), EXITED, TESTS, context=known)
    assert (made.score, rules(made)) == (CheckScore.NEEDS_REVISION, ["tests-deleted"])
    run_here = Source(path="test_a.py", before=b"def test_old():\n    assert f()\n", after=b"")
    known = ChangeContext(compared=Compared([run_here], deletions=False), proof=ProofPolicy.OFF)
    assert rules(judge_tests(None, CheckReport(steps=steps), EXITED, TESTS, context=known)) == []
