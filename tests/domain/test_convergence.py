"""Another revision is worth it only while what is held against the work shrinks."""

import pytest

from minion.protocol import Finding
from overlord.domain.convergence import previous, standstill
from overlord.domain.evaluation import CheckName, CheckResult, CheckScore
from tests.records import a_check, a_finding, an_evaluation

N, P, NONE = CheckScore.NEEDS_REVISION, CheckScore.PASS, None


def held(name: CheckName, *messages: str, rule: str = "r", line: int | None = None) -> CheckResult:
    """A check that sends the work back for this."""
    findings = tuple(
        Finding(check=name, rule=rule, file="a.py", line=line and line + number, message=message)
        for number, message in enumerate(messages)
    )
    return a_check(name, N, "sent back", findings=findings)


def passes(*names: CheckName) -> tuple[CheckResult, ...]:
    return tuple(a_check(name) for name in names)


S, G, T, L, R = CheckName.SCOPE, CheckName.INTEGRITY, CheckName.TESTS, CheckName.LINT, CheckName.REVIEW


@pytest.mark.parametrize(
    ("what", "before", "after", "shrinks"),
    [
        ("the same", [held(T, "x")], [held(T, "x")], False),
        ("the same on other lines", [held(L, "x", "y", line=1)], [held(L, "x", "y", line=40)], False),
        ("one is gone", [held(T, "x", "y")], [held(T, "y")], True),
        ("one of two that read alike is gone", [held(L, "x", "x", line=1)], [held(L, "x", line=9)], True),
        ("another in its place", [held(T, "x")], [held(T, "z")], False),
        ("all are others, as many", [held(T, "x", "y")], [held(T, "v", "w")], False),
        ("one is gone and one is new", [held(T, "x", "y")], [held(T, "y", "z")], False),
        ("fewer, one of them new", [held(T, "x", "y", "z")], [held(T, "x", "v")], True),
        ("more than before", [held(T, "x")], [held(T, "x", "y")], False),
        ("its check passes, another does not", [held(T, "x"), *passes(L)], [*passes(T), held(L, "l")], True),
        ("its check passes, the next finds more", [held(G, "x")], [*passes(G), held(T, "a", "b", "c")], True),
        ("one of two checks passes", [held(T, "x"), held(L, "l")], [*passes(T), held(L, "l", "m")], True),
        ("a check that passed before does not", [*passes(T), held(L, "l")], [held(T, "x"), held(L, "l")], False),
        ("fewer, for the check was not made", [*passes(S), held(T, "x", "y")], [held(S, "s")], False),
        ("fewer, for the check could not be made", [held(T, "x")], [a_check(T, NONE, "lost")], False),
        ("fewer, and none of them unseen", [held(S, "a", "b")], [held(S, "a")], True),
        ("what is only told does not count", [held(T, "x")], [held(T, "x"), held(R, "f", rule="flaky")], False),
        ("only what is told is gone", [held(T, "x"), held(T, "f", rule="flaky")], [held(T, "x")], False),
        ("a passing check's remark is gone", [held(T, "x"), a_check(L, findings=(a_finding(),))], [held(T, "x")], False),
        ("a person accepted that tests are not judged", [held(T, "x")], [a_check(T, CheckScore.NOT_JUDGED)], True),
        ("sent back without a finding", [a_check(R, N, "unsure")], [a_check(R, N, "unsure")], True),
        ("without a finding, now with one", [a_check(R, N, "unsure")], [held(R, "x")], True),
        ("with a finding, now without one", [held(R, "x")], [a_check(R, N, "unsure")], True),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)  # fmt: skip
def test_what_counts_as_less(
    what: str, before: list[CheckResult], after: list[CheckResult], shrinks: bool
) -> None:
    found = standstill(an_evaluation(*before), an_evaluation(*after, revision_number=1))
    assert (found is None) is shrinks, what


@pytest.mark.parametrize(
    ("before", "after", "attempt", "reason"),
    [
        (["x"], ["x"], 2, "the second attempt left the same finding as the first: [tests/r] a.py x"),
        (["x", "y"], ["y", "x"], 3, "the third attempt left the same 2 findings as the second: [tests/r] a.py y; [tests/r] a.py x"),
        (["x", "y"], ["z", "y"], 2, "the second attempt left as many findings as the first (2): [tests/r] a.py y; [tests/r] a.py z"),
        (["x"], ["a", "b", "x"], 2, "the second attempt left more findings than the first (3, before 1): [tests/r] a.py x; [tests/r] a.py a and 1 more"),
        (["x"], ["z"], 12, "the last attempt left as many findings as the one before (1): [tests/r] a.py z"),
    ],
)  # fmt: skip
def test_the_reason_names_the_attempts_and_what_is_left_over_first(
    before: list[str], after: list[str], attempt: int, reason: str
) -> None:
    later = an_evaluation(held(T, *after), revision_number=attempt - 1)
    found = standstill(an_evaluation(held(T, *before), revision_number=attempt - 2), later)
    assert found is not None
    assert found.reason() == reason


def test_what_a_finding_says_stays_one_line() -> None:
    found = standstill(
        an_evaluation(held(T, "x")),
        an_evaluation(held(T, "y\n\n# No\x1b[31m" + "z" * 900), revision_number=1),
    )
    assert found is not None
    assert found.reason().isprintable()
    assert len(found.reason()) < 300


def test_the_attempt_before_is_that_of_the_same_count() -> None:
    first, again = an_evaluation(held(T, "x")), an_evaluation(held(T, "x"))
    lost = an_evaluation(a_check(T, NONE), revision_number=1)
    second = an_evaluation(held(T, "y"), revision_number=1)
    assert previous([]) is None
    assert previous([second, first]) is None, "a count that begins anew has no attempt before"
    assert previous([first, second]) is first
    assert previous([first, lost, second]) is first, "checks that were made again are no attempt"
    assert previous([first, second, again, second]) is again
    assert previous([second]) is None, "one that nobody judged"
