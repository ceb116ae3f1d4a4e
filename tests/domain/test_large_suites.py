"""Suites of a hundred thousand tests, names of any length, reports of 50 MB: read in pieces, or said to be too large, and where."""

import json
import resource
import subprocess
import sys

import pytest

from minion.checks.guarded_run import GuardedRun
from minion.checks.packed import MOST_BYTES, PREFIX, TooLarge, pack, unpacked
from minion.protocol import CheckReport, StepOutcome, StepResult
from overlord.domain.checks.testruns.judge import BASELINE_STEP, TESTS_STEP, judge_tests
from overlord.domain.checks.testruns.packed_report import without_values_in
from overlord.domain.checks.testruns.report import parse_report
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckScore
from overlord.domain.text.redaction import Redactor
from tests.domain.test_testing import CODE, EXITED, GOOD, ran

MOST_KIB = 100 * 1024
LARGE = """
import resource
from minion.checks.guarded_run import GuardedRun
from minion.protocol import CheckReport, StepOutcome, StepResult
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind
from overlord.domain.checks.testruns.judge import judge_tests
import json

def told(failing):
    run = GuardedRun()
    for number in range(100_000):
        name = f"tests/unit/test_module_{number // 500}.py::TestSomething::test_case_{number}[given-{number % 7}]"
        outcome = "failed" if number == failing else "passed"
        if outcome == "passed":
            run.take(json.dumps({"passed": name, "able": False}).encode())
        line = {"id": name, "when": "call", "outcome": outcome, "file": name.split("::")[0], "message": "", "text": "", "control": "", "reason": ""}
        run.take(json.dumps(line).encode())
    run.take(json.dumps({"exit_code": int(failing >= 0)}).encode())
    junit = run.outcome(int(failing >= 0), 4_000_000).junit
    assert junit is not None
    return junit

base, head = told(-1), told(77_777)
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
steps = [StepResult(name=name, outcome=StepOutcome.RAN, exit_code=code, junit=text) for name, code, text in
         (("baseline", 0, base), ("base_tests", 1, head), ("tests", 1, head))]
made = judge_tests(None, CheckReport(steps=tuple(steps)), Ending(kind=EndKind.EXITED), [Change(path="a.py", status="M"), Change(path="tests/test_b.py", status="M")])
print(len(base), len(made.findings), made.findings[0].rule, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start, made.summary)
"""


def test_a_hundred_thousand_tests_are_compared_in_a_hundred_megabytes() -> None:
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    packed, findings, rule, grown_kib, *summary = done.stdout.split()
    assert (findings, rule) == ("1", "test-broken")
    assert " ".join(summary).startswith("99999 passed, 0 new, 0 fixed, 1 broken")
    assert int(packed) < 2_000_000
    assert int(grown_kib) < MOST_KIB, resource.getpagesize()


def test_names_of_any_length_are_told_apart() -> None:
    run = GuardedRun()
    for last in "ab":
        name = f"test_x.py::test_y[{'very long ' * 20_000}{last}]"
        run.take(json.dumps({"passed": name, "able": False}).encode())
        line = {
            "id": name,
            "when": "call",
            "outcome": "passed",
            "file": "test_x.py",
            "message": "",
            "text": "",
        }
        run.take(json.dumps({**line, "control": "", "reason": ""}).encode())
    run.take(b'{"exit_code": 0}')
    cases = parse_report(run.outcome(0, 4_000_000).junit)
    assert cases is not None and len(cases) == 2
    assert all(len(case.id) <= 400 for case in cases)


def test_what_is_packed_is_what_was_told() -> None:
    text = (
        "<testsuites><testsuite>" + '<testcase classname="ä" name="x"/>' * 5000 + "</testsuite></testsuites>"
    )
    packed = pack([text.encode()[start : start + 1001] for start in range(0, len(text.encode()), 1001)])
    assert packed.startswith(PREFIX) and len(packed) < len(text) // 20
    assert b"".join(unpacked(packed)).decode() == text
    assert pack([b"<testsuites/>"]) == "<testsuites/>"
    assert [case.id for case in parse_report(packed) or ()] == ["ä::x"]


def test_a_bomb_is_too_large_and_what_is_cut_is_no_report() -> None:
    mega = bytes(1024 * 1024)
    with pytest.raises(TooLarge):
        pack(mega for _ in range(MOST_BYTES // len(mega) + 1))
    import base64
    import zlib

    bomb = zlib.compressobj(9)
    data = b"".join([*(bomb.compress(mega) for _ in range(300)), bomb.flush()])
    packed = PREFIX + base64.b64encode(data).decode()
    assert len(packed) < 1_000_000
    assert parse_report(packed) is None
    for text in (PREFIX + "!!", PREFIX, packed[:-400], PREFIX + base64.b64encode(b"no").decode()):
        assert parse_report(text) is None


def test_secrets_are_taken_out_of_what_is_packed() -> None:
    inside = '<testcase classname="a" name="x"><failure message="hunter2-of-ours"/></testcase>\n'
    packed = pack([b"<testsuites><testsuite>", inside.encode() * 2000, b"</testsuite></testsuites>"])
    step = StepResult(name="tests", outcome=StepOutcome.RAN, junit=packed, rerun_junit=(packed,))
    [clean] = without_values_in(CheckReport(steps=(step,)), Redactor(["hunter2-of-ours"])).steps
    assert clean.junit is not None
    for text in (clean.junit, *clean.rerun_junit):
        whole = b"".join(unpacked(text))
        assert b"hunter2" not in whole and whole.count(b"[redacted]") == 2000
    torn = StepResult(name="tests", outcome=StepOutcome.RAN, junit=PREFIX + "!!")
    [said] = without_values_in(CheckReport(steps=(torn,)), Redactor([])).steps
    assert said.junit is None and "not packed" in said.unread


@pytest.mark.parametrize("at_base", [True, False])
def test_what_is_too_large_is_said_with_its_place_and_what_to_write(at_base: bool) -> None:
    why = "out/junit.xml is too large: 300,000,000 bytes, 9,000,000 of them packed; 4,000,000 are taken"
    large = StepResult(name="", outcome=StepOutcome.RAN, exit_code=0, unread=why)
    good = {BASELINE_STEP: ran(BASELINE_STEP, GOOD), TESTS_STEP: ran(TESTS_STEP, GOOD)}
    name = BASELINE_STEP if at_base else TESTS_STEP
    steps = [large if one == name else step for one, step in good.items()]
    named = tuple(StepResult(**{**_fields(step), "name": one}) for one, step in zip(good, steps, strict=True))  # type: ignore[arg-type]
    made = judge_tests(None, CheckReport(steps=named), EXITED, CODE)
    assert (made.score, made.subject) == (None, Subject.CHECKS_UNAVAILABLE)
    assert why in made.summary and ".nebulus/checks.yaml" in made.summary


def _fields(step: StepResult) -> dict[str, object]:
    return {name: getattr(step, name) for name in StepResult.__dataclass_fields__}


def test_a_report_that_was_not_written_is_asked_for_by_name() -> None:
    missing = StepResult(
        name=TESTS_STEP, outcome=StepOutcome.RAN, exit_code=0, unread="out/junit.xml was not written"
    )
    made = judge_tests(None, CheckReport(steps=(ran(BASELINE_STEP, GOOD), missing)), EXITED, CODE)
    assert made.score is CheckScore.NEEDS_REVISION
    assert "out/junit.xml was not written" in made.findings[0].message
