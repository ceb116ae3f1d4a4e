"""Tests that were red at base: fixed only by base's own version, and named first where the change touched them instead."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from minion.protocol import CheckReport, Finding
from overlord.domain.checks.change_context import ChangeContext
from overlord.domain.checks.testruns.judge import BASE_TESTS_STEP, BASELINE_STEP, TESTS_STEP, judge_tests
from overlord.domain.checks.testruns.proof import ProofPolicy
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore, ordered
from tests.domain.test_testing import BAD, CODE, EXITED, LATER, OK, TESTS, judged, ran, rules

RED, ROW, GREEN = "test_a.py::test_red", "test_a.py::test_rows[2]", "test_a.py::test_green"
BASE = {RED: BAD, ROW: BAD, GREEN: OK}


def test_fixed_is_what_passes_in_the_version_of_base() -> None:
    result = judged(BASE, {RED: OK, ROW: OK, GREEN: OK}, restored={RED: OK, ROW: OK, GREEN: OK})
    assert (result.score, result.findings) == (CheckScore.PASS, ())
    assert "0 new, 2 fixed, 0 broken" in result.summary


@pytest.mark.parametrize(
    ("head", "rule"),
    [
        ({RED: OK, ROW: BAD, GREEN: OK}, "red-test-rewritten"),
        ({RED: LATER, ROW: BAD, GREEN: OK}, "red-test-skipped"),
        ({ROW: BAD, GREEN: OK}, "red-test-gone"),
        ({RED: BAD, GREEN: OK}, "red-test-gone"),
        ({RED: BAD, "test_a.py::test_rows[1]": OK, GREEN: OK}, "red-test-gone"),
    ],
    ids=["emptied", "skipped", "deleted", "row", "row swapped"],
)
def test_a_red_test_that_the_change_touched_instead_is_no_fix(head: Mapping[str, str], rule: str) -> None:
    result = judged(BASE, head, restored=BASE)
    assert (result.score, rules(result)[0]) == (CheckScore.NEEDS_REVISION, rule)
    assert "0 fixed" in result.summary


def test_a_red_test_that_is_green_and_gone_is_named_too() -> None:
    result = judged(BASE, {ROW: OK, GREEN: OK}, restored={RED: OK, ROW: OK, GREEN: OK})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["red-test-gone"])
    broken = judged(BASE, {RED: BAD, ROW: OK, GREEN: OK}, restored={RED: OK, ROW: OK, GREEN: OK})
    assert (broken.score, rules(broken)) == (CheckScore.NEEDS_REVISION, ["test-failed"])


def test_a_red_test_that_moved_and_is_still_red_is_left_alone() -> None:
    head = {"test_b.py::test_red": BAD, ROW: BAD, GREEN: OK}
    result = judged(BASE, head, restored=BASE)
    assert (result.score, set(rules(result))) == (CheckScore.PASS, {"failing-before"})


def test_tests_of_a_file_that_could_not_be_read_at_base_are_fixed() -> None:
    base = {"test_b.py::": '<error message="ImportError: calc"/>', GREEN: OK}
    result = judged(base, {GREEN: OK, "test_b.py::test_new": OK})
    assert result.score is CheckScore.PASS
    assert "1 fixed" in result.summary


def test_what_became_of_red_tests_is_named_before_everything_else() -> None:
    gone = Finding(check=CheckName.TESTS, rule="red-test-gone", message="x", file="z.py")
    scope = Finding(check=CheckName.SCOPE, rule="outside", message="y", file="a.py")
    assert ordered([scope, gone]) == (gone, scope)


LEFT = {RED: BAD, GREEN: OK}


def left(context: ChangeContext, head: str = BAD) -> CheckResult:
    report = CheckReport(steps=(ran(BASELINE_STEP, LEFT), ran(TESTS_STEP, {RED: head, GREEN: OK})))
    return judge_tests(None, report, EXITED, CODE, context=context)


def context(**known: object) -> ChangeContext:
    return ChangeContext(proof=ProofPolicy.OFF, **known)  # type: ignore[arg-type]


def test_a_red_test_of_the_task_has_to_become_green() -> None:
    assert rules(left(context())) == ["failing-before"]
    named = left(context(issue="`test_red` fails since Monday"))
    assert (named.score, rules(named)) == (CheckScore.NEEDS_REVISION, ["red-test-left"])
    assert "the issue names it" in named.findings[0].message
    assert rules(left(context(issue="test_reduce fails"))) == ["failing-before"]
    imports = left(context(imports={"test_a.py"}))
    assert rules(imports) == ["red-test-left"]
    assert left(context(imports={"test_a.py"}), head=OK).score is CheckScore.PASS


def test_a_red_test_that_runs_what_was_changed_belongs_to_the_task() -> None:
    seen = ran(TESTS_STEP, LEFT, again=[LEFT, LEFT])
    marked = tuple(
        text.replace('name="test_red"', 'name="test_red" touches="yes"') for text in seen.rerun_junit
    )
    report = CheckReport(steps=(ran(BASELINE_STEP, LEFT), ran(TESTS_STEP, LEFT)))
    touched = CheckReport(steps=(report.steps[0], replace(seen, rerun_junit=marked)))
    assert rules(judge_tests(None, touched, EXITED, CODE, context=context())) == ["red-test-left"]
    assert rules(judge_tests(None, report, EXITED, CODE, context=context())) == ["failing-before"]


def test_one_that_is_explained_goes_to_the_review() -> None:
    silent = left(context(imports={"test_a.py"}, summary="I did my best."))
    assert rules(silent) == ["red-test-left"]
    said = "I mended it.\ntest_red needs a network."
    told = left(context(imports={"test_a.py"}, summary=said))
    assert (told.score, rules(told), told.subject) == (CheckScore.PASS, ["red-test-explained"], "")
    assert told.findings[0].evidence == "test_red needs a network."
    unreviewed = left(context(imports={"test_a.py"}, summary=said, is_reviewed=False))
    assert (unreviewed.score, unreviewed.subject) == (CheckScore.PASS, "changed_tests")


def test_what_an_old_test_expects_is_a_claim_where_only_its_changed_form_passes() -> None:
    base = {GREEN: OK, RED: OK}
    changed = judged(base, base, restored={GREEN: BAD, RED: OK})
    assert (changed.score, rules(changed), changed.subject) == (CheckScore.PASS, ["changed-test"], "")
    removed = judged(base, {RED: OK}, restored={GREEN: BAD, RED: OK})
    assert (removed.score, rules(removed)) == (CheckScore.PASS, ["removed-test"])
    still_right = judged(base, {RED: OK}, restored=base)
    assert (still_right.score, rules(still_right)) == (CheckScore.NEEDS_REVISION, ["tests-gone"])
    steps = (ran(BASELINE_STEP, base), ran(BASE_TESTS_STEP, {GREEN: BAD, RED: OK}), ran(TESTS_STEP, base))
    asked = judge_tests(None, CheckReport(steps=steps), EXITED, TESTS, context=context(is_reviewed=False))
    assert (asked.score, asked.subject) == (CheckScore.PASS, "changed_tests")
