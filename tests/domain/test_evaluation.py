"""How checks combine: nothing that is unclear is a pass."""

from itertools import product

import pytest

from overlord.domain.evaluation import (
    REQUIRED,
    CheckName,
    CheckScore,
    RevisionRequest,
    Verdict,
    describe,
    overall,
)
from overlord.domain.evaluation import ordered as in_order
from tests.records import HEAD, NOW, REPO, a_check, a_finding, an_evaluation

SCORES = (*CheckScore, None)


def test_no_check_at_all_is_no_pass() -> None:
    assert overall(()) is Verdict.UNAVAILABLE


@pytest.mark.parametrize("scores", sorted(product(SCORES, repeat=4), key=str))
def test_a_verdict_is_its_worst_check(scores: tuple[CheckScore | None, ...]) -> None:
    checks = [a_check(name, score) for name, score in zip(REQUIRED, scores, strict=True)]
    # Tests may be what a person accepted as not judged; nothing else may.
    scores = tuple(
        (CheckScore.PASS if name is CheckName.TESTS else None) if score is CheckScore.NOT_JUDGED else score
        for name, score in zip(REQUIRED, scores, strict=True)
    )
    worst = next(
        verdict
        for score, verdict in (
            (CheckScore.FAIL, Verdict.FAIL),
            (None, Verdict.UNAVAILABLE),
            (CheckScore.NEEDS_REVISION, Verdict.NEEDS_REVISION),
            (CheckScore.PASS, Verdict.PASS),
        )
        if score in scores
    )
    assert overall(checks) is worst


def test_a_pass_needs_every_required_check() -> None:
    whole = [a_check(name) for name in CheckName]
    assert overall(whole) is Verdict.PASS
    for missing in REQUIRED:
        assert overall([check for check in whole if check.name is not missing]) is Verdict.UNAVAILABLE
    assert overall([a_check(name) for name in REQUIRED], [*CheckName]) is Verdict.UNAVAILABLE
    assert overall([a_check(CheckName.TESTS)], [CheckName.TESTS]) is Verdict.PASS


def test_a_failure_counts_before_everything_was_made() -> None:
    assert overall([a_check(CheckName.SCOPE, CheckScore.FAIL)]) is Verdict.FAIL
    assert overall([a_check(CheckName.SCOPE, CheckScore.NEEDS_REVISION)]) is Verdict.NEEDS_REVISION


def test_the_history_row_answers_for_each_check() -> None:
    row = an_evaluation(a_check(CheckName.SCOPE), a_check(CheckName.TESTS, CheckScore.NEEDS_REVISION))
    assert row.overall is Verdict.NEEDS_REVISION
    assert row.score(CheckName.TESTS) is CheckScore.NEEDS_REVISION
    assert row.score(CheckName.REVIEW) is None
    assert (row.job_id, row.repo, row.head_sha, row.timestamp) == (1, REPO, HEAD, NOW)


def test_findings_are_in_the_order_of_the_checks_then_by_place_without_doubles() -> None:
    lint = a_finding(check="lint", rule="F401", file="a.py", line=3)
    first = a_finding(check="tests", file="b.py", line=2)
    second = a_finding(check="tests", file="b.py", line=10)
    unknown = a_finding(check="weather", rule="rain")
    scope = a_finding(check="scope", rule="outside-scope", file="z.py")
    assert in_order([unknown, second, lint, first, scope, first]) == (scope, first, second, lint, unknown)


def test_feedback_is_every_finding_in_a_line() -> None:
    tests = a_check(
        CheckName.TESTS,
        CheckScore.FAIL,
        findings=(a_finding(message="test_add fails."), a_finding(file="calc.py", line=2, message="wrong")),
    )
    scope = a_check(CheckName.SCOPE, findings=(a_finding(check="scope", rule="r", file="x", message="no"),))
    assert an_evaluation(tests, scope).feedback.splitlines() == [
        "[scope/r] x no",
        "[tests/test-failed] test_add fails.",
        "[tests/test-failed] calc.py:2 wrong",
    ]


def test_a_finding_without_a_place_has_no_gap() -> None:
    assert describe(a_finding(message="no")) == "[tests/test-failed] no"


def test_a_revision_carries_its_findings() -> None:
    request = RevisionRequest(job_id=1, revision_number=2, findings=(a_finding(),))
    assert request.findings[0].check == CheckName.TESTS
