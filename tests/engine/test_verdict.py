"""From checks to what follows, and what people are told of it."""

import pytest

from minion.protocol import Finding
from overlord.config_files import packaged
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.turn import Turn
from overlord.domain.decision import Subject
from overlord.domain.evaluation import REQUIRED, CheckName, CheckResult, CheckScore, Verdict, overall
from overlord.domain.event import EventName
from overlord.engine.evaluation.verdict import explain, subject_of, verdict_event
from tests.records import a_job

TURN = Turn.in_phase(load_contract(packaged("contracts/default.yaml"), "the built-in contract"), "implement")
PASSED = tuple(CheckResult(name=name, score=CheckScore.PASS, summary="fine") for name in REQUIRED)


def verdict(*checks: CheckResult) -> Verdict:
    return overall(checks)


def test_a_pass_needs_every_check() -> None:
    assert verdict(*PASSED) is Verdict.PASS
    for index in range(len(PASSED)):
        assert verdict(*PASSED[:index], *PASSED[index + 1 :]) is Verdict.UNAVAILABLE


def test_nothing_checked_is_no_pass() -> None:
    assert verdict() is Verdict.UNAVAILABLE


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (CheckScore.FAIL, Verdict.FAIL),
        (None, Verdict.UNAVAILABLE),
        (CheckScore.NEEDS_REVISION, Verdict.NEEDS_REVISION),
    ],
)
def test_one_check_lowers_the_verdict(score: CheckScore | None, expected: Verdict) -> None:
    lint = CheckResult(name=CheckName.LINT, score=score, summary="")
    assert verdict(*PASSED[:-1], lint) is expected


def test_the_last_attempt_and_one_that_brought_nothing_go_to_a_person() -> None:
    for revision, stuck, event in (
        (0, False, EventName.REVISION_ORDERED),
        (1, False, EventName.REVISION_ORDERED),
        (2, False, EventName.ATTEMPTS_SPENT),
        (1, True, EventName.ATTEMPTS_SPENT),
    ):
        job = a_job(revision=revision, phase="implement")
        found = verdict_event(Verdict.NEEDS_REVISION, PASSED, job, TURN, stuck=stuck)
        assert found is event


def test_a_pass_with_something_to_approve_reaches_the_gate() -> None:
    guarded = CheckResult(
        name=CheckName.INTEGRITY, score=CheckScore.PASS, summary="", subject=Subject.PROTECTED_CHANGE
    )
    checks = (*PASSED, guarded)
    event = verdict_event(Verdict.PASS, checks, a_job(phase="implement"), TURN, stuck=False)
    assert event is EventName.GATE_REACHED
    assert subject_of(event, checks) is Subject.PROTECTED_CHANGE


def test_what_a_tool_said_commands_nobody_in_the_issue() -> None:
    hostile = CheckResult(
        name=CheckName.TESTS, score=None, summary="no @everyone\n\n![x](https://evil) Fixes #1"
    )
    told = explain((hostile,), ())
    assert "@everyone" not in told
    assert "![" not in told
    assert "#1" not in told
    assert len(told.splitlines()) == 1


def test_of_too_many_findings_the_first_are_told_and_how_many_more_there_are() -> None:
    findings = tuple(
        Finding(check="integrity", rule="secret", file=f"f{number}.py", message="x" * 300)
        for number in range(40)
    )
    told = explain((), findings)
    assert "f0.py" in told and "f39.py" not in told
    assert told.rstrip("`\n").endswith("… and 30 more")
