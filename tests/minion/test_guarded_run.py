"""What the guarded pytest tells is believed only when it is told to the end, and no control passed."""

import json

import pytest

from minion.checks.guarded_run import CONTROLS_S, FEWEST_CONTROLS, MOST_BYTES, MOST_CONTROLS, GuardedRun
from minion.checks.junit import address
from overlord.domain.checks.testruns.junit import CaseOutcome, parse_junit

LIMIT = 2_000_000


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def line(**words: object) -> bytes:
    return json.dumps(words).encode()


def passes(
    run: GuardedRun, test: str, *, control: str = "failed", says: str = "assert 1: {}", able: bool = True
) -> str:
    """A test passes, and its control comes out like this; the reason to fail that was given, if any."""
    reason = run.take(line(passed=test, able=able)).decode().strip()
    done = {"control": control, "reason": says.format(reason)} if reason else {}
    run.take(line(id=test, when="call", outcome="passed", **done))
    return reason


def controlled(run: GuardedRun) -> list[bool]:
    told = run.outcome(0, LIMIT)
    assert told.junit is not None, told.doubt
    return [case.controlled for case in parse_junit(told.junit) or ()]


def begun(tests: int = 1) -> GuardedRun:
    run = GuardedRun()
    run.take(line(tests=tests))
    return run


def test_a_run_told_to_its_end_is_believed() -> None:
    run = begun()
    passes(run, "a/test_b.py::test_c")
    run.take(
        line(id="a/test_b.py::C::test_d[x/y]", when="setup", outcome="failed", message="no", text="<line>")
    )
    run.take(line(exit_code=1))
    told = run.outcome(1, LIMIT)
    assert told.failed == ("a/test_b.py::C::test_d[x/y]",)
    assert told.junit is not None
    good, bad = parse_junit(told.junit) or ()
    assert (good.id, good.outcome, good.controlled) == ("a.test_b::test_c", CaseOutcome.PASSED, True)
    assert (bad.id, bad.outcome, bad.message) == ("a.test_b.C::test_d[x/y]", CaseOutcome.FAILED, "no\n<line>")


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b""],
        [b"\xff"],
        [b"[" * 100_000],
        [b"7"],
        [line(exit_code=None)],
        [line(exit_code=1)],
        [line(exit_code=0), line(exit_code=0)],
        [line(exit_code=0), line(id="t", when="call", outcome="failed")],
        [line(id="t", when="call", outcome=1), line(exit_code=0)],
        [line(id="", when="call", outcome="failed"), line(exit_code=0)],
        [line(tests="many"), line(exit_code=0)],
        [line(passed="t"), line(exit_code=0)],
        [line(id="t", when="call", outcome="passed"), line(exit_code=0)],
        [line(passed="t", able=True), *[line(id="t", when="call", outcome="passed")] * 2, line(exit_code=0)],
        [b"x" * MOST_BYTES, line(exit_code=0)],
    ],
)  # fmt: skip
def test_anything_else_is_not_believed(lines: list[bytes]) -> None:
    run = GuardedRun()
    for each in lines:
        run.take(each)
    told = run.outcome(0, LIMIT)
    assert (told.junit, bool(told.doubt)) == (None, True)


@pytest.mark.parametrize("control", ["passed", "replaced"])
def test_a_control_that_passes_is_the_end_of_belief(control: str) -> None:
    run = begun(2)
    passes(run, "test_a.py::test_a")
    passes(run, "test_a.py::test_b", control=control)
    run.take(line(exit_code=0))
    assert "test_a.py::test_b" in run.outcome(0, LIMIT).doubt


@pytest.mark.parametrize(("control", "says"), [("failed", "another reason"), ("skipped", "{}"), ("", "{}")])
def test_a_control_counts_when_it_failed_for_the_reason_that_was_given(control: str, says: str) -> None:
    run = begun(2)
    reasons = [passes(run, "t::a", control=control, says=says), passes(run, "t::b")]
    assert len(set(reasons)) == 2
    run.take(line(exit_code=0))
    assert controlled(run) == [False, True]


def test_a_test_that_cannot_have_a_control_gets_none() -> None:
    run = begun(2)
    assert passes(run, "t::a", able=False) == ""
    run.take(line(exit_code=0))
    assert controlled(run) == [False]


def test_of_many_tests_some_get_a_control_and_nobody_knows_which() -> None:
    picks = []
    for _ in range(2):
        run = begun(10 * MOST_CONTROLS)
        picks.append({number for number in range(10 * MOST_CONTROLS) if passes(run, f"t::{number}")})
    assert all(MOST_CONTROLS <= len(pick) <= MOST_CONTROLS + 1 for pick in picks)
    assert picks[0] != picks[1]


def test_slow_controls_are_few() -> None:
    clock = Clock()
    run = GuardedRun(clock)
    run.take(line(tests=MOST_CONTROLS))
    made = 0
    for number in range(MOST_CONTROLS):
        reason = run.take(line(passed=f"t::{number}", able=True)).decode().strip()
        made += bool(reason)
        clock.now += CONTROLS_S + 1
        run.take(line(id=f"t::{number}", when="call", outcome="passed", control="failed", reason=reason))
    assert FEWEST_CONTROLS <= made <= FEWEST_CONTROLS + 1


def test_a_run_that_lies_about_how_many_tests_it_has_costs_nothing() -> None:
    assert begun(10**30).outcome(0, LIMIT).junit is None
    assert begun(-5).outcome(0, LIMIT).junit is None


def test_names_are_those_of_pytests_own_report() -> None:
    assert address("a/b.py::C::test_d[x.py::y/z]") == ("a.b.C", "test_d[x.py::y/z]")
    assert address("test_broken.py") == ("", "test_broken")
