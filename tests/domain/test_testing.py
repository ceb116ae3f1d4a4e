"""What the test runs of a check session say together: a pass only where everything says so."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from minion.protocol import CheckReport, StepOutcome, StepResult, Tree
from overlord.domain.checks.file import parse_checks
from overlord.domain.checks.testruns.judge import (
    BASE_TESTS_STEP,
    BASELINE_STEP,
    MOST_ALONE,
    NEW_ON_BASE_STEP,
    TESTS_STEP,
    baseline_of,
    judge_tests,
    plan_tests,
)
from overlord.domain.decision import Subject
from overlord.domain.evaluation import CheckResult, CheckScore
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind

EXITED = Ending(kind=EndKind.EXITED, exit_code=0)
CODE = (Change(path="calc.py", status="M"),)
TESTS = (*CODE, Change(path="test_a.py", status="M"))
OK, BAD, LATER, TORN = (
    "",
    '<failure message="no">E  assert</failure>',
    "<skipped/>",
    '<error message="boom"/>',
)


def xml(cases: Mapping[str, str]) -> str:
    """A report; names are `file::test`, values what is inside the case."""
    inside = ""
    for name, result in cases.items():
        file, _, test = name.rpartition("::")
        module = file.removesuffix(".py").replace("/", ".")
        classname, shown = (module, test) if test else ("", module)
        inside += f'<testcase classname="{classname}" name="{shown}" file="{file}">{result}</testcase>'
    return f"<testsuites><testsuite>{inside}</testsuite></testsuites>"


def ran(
    name: str, cases: Mapping[str, str], *, code: int | None = None, again: Sequence[Mapping[str, str]] = ()
) -> StepResult:
    failed = any("<failure" in result or "<error" in result for result in cases.values())
    return StepResult(
        name=name,
        outcome=StepOutcome.RAN,
        exit_code=int(failed) if code is None else code,
        junit=xml(cases),
        output="the output",
        duration_s=3.21,
        rerun_junit=tuple(xml(item) for item in again),
    )


def judged(
    base: Mapping[str, str] | StepResult,
    head: Mapping[str, str] | StepResult,
    restored: Mapping[str, str] | StepResult | None = None,
    new_on_base: StepResult | None = None,
    changes: Sequence[Change] | None = None,
) -> CheckResult:
    steps = [
        given if isinstance(given, StepResult) else ran(name, given)
        for name, given in ((BASELINE_STEP, base), (BASE_TESTS_STEP, restored), (TESTS_STEP, head))
        if given is not None
    ]
    steps += [new_on_base] if new_on_base else []
    touched = changes if changes is not None else CODE if restored is None else TESTS
    return judge_tests(None, CheckReport(steps=tuple(steps)), EXITED, touched)


def rules(result: CheckResult) -> list[str]:
    return [finding.rule for finding in result.findings]


A, B, C = "test_a.py::test_one", "test_a.py::test_two", "test_b.py::test_three"
GOOD = {A: OK, B: OK, C: OK}


def test_everything_passes_as_before() -> None:
    result = judged(GOOD, GOOD)
    assert (result.score, result.findings) == (CheckScore.PASS, ())
    assert result.summary == "3 passed, 0 new, 0 fixed, 0 broken in 3.2 s"


def test_figures_tell_new_fixed_failing_and_skipped_tests() -> None:
    base = {A: OK, B: BAD, C: BAD, "test_b.py::test_s": LATER}
    head = {A: OK, B: OK, C: BAD, "test_b.py::test_s": LATER, "test_b.py::test_new": OK}
    result = judged(base, head)
    assert result.score is CheckScore.PASS
    assert (
        result.summary == "3 passed, 1 new, 1 fixed, 0 broken, 1 failing before and after, 1 skipped in 3.2 s"
    )


def test_a_broken_test_is_sent_back_with_what_it_said() -> None:
    result = judged(GOOD, {**GOOD, B: BAD})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["test-broken"])
    [finding] = result.findings
    assert finding.message == "test_a::test_two passed before and fails."
    assert (finding.file, finding.evidence) == ("test_a.py", "no\nE  assert")
    assert "1 broken" in result.summary


def test_a_test_that_is_missing_or_skipped_does_not_pass() -> None:
    assert rules(judged(GOOD, {A: OK, B: OK})) == ["test-missing"]
    assert rules(judged(GOOD, {**GOOD, C: LATER})) == ["test-skipped"]


def test_missing_tests_tell_why_their_file_could_not_be_read() -> None:
    result = judged(GOOD, {A: OK, B: OK, "test_b.py::": '<error message="ImportError: calc"/>'})
    assert rules(result) == ["test-missing", "test-failed"]
    assert result.findings[0].evidence == "ImportError: calc"


def test_a_new_test_that_fails_is_sent_back() -> None:
    result = judged({A: OK}, {A: OK, B: BAD})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["test-failed"])
    skipped_before = judged({A: OK, B: LATER}, {A: OK, B: BAD})
    assert rules(skipped_before) == ["test-failed"]


def test_base_tests_judge_the_new_code() -> None:
    result = judged(GOOD, GOOD, restored={**GOOD, C: BAD})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["test-broken"])


def test_a_test_whose_file_was_changed_and_passes_in_its_new_form_is_changed() -> None:
    result = judged(GOOD, GOOD, restored={**GOOD, A: BAD})
    assert (result.score, rules(result)) == (CheckScore.PASS, ["changed-test"])
    assert result.findings[0].file == "test_a.py"
    assert "1 expecting something else" in result.summary
    still_bad = judged(GOOD, {**GOOD, A: BAD}, restored={**GOOD, A: BAD})
    assert rules(still_bad) == ["test-broken"]


def test_where_the_report_names_no_file_the_module_tells() -> None:
    without = {name: ran(name, GOOD).junit.replace(' file="test_a.py"', "") for name in ("x",)}  # type: ignore[union-attr]
    base = replace(ran(BASELINE_STEP, GOOD), junit=without["x"])
    head = replace(ran(TESTS_STEP, GOOD), junit=without["x"])
    failing = xml({**GOOD, A: BAD}).replace(' file="test_a.py"', "")
    restored = replace(ran(BASE_TESTS_STEP, {A: BAD}), junit=failing)
    assert rules(judged(base, head, restored)) == ["changed-test"]
    elsewhere = (*CODE, Change(path="test_c.py", status="M"))
    assert rules(judged(base, head, restored, changes=elsewhere)) == ["test-broken"]


def test_a_changed_test_that_fails_at_head_is_sent_back() -> None:
    result = judged(GOOD, {**GOOD, A: BAD}, restored=GOOD)
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["test-failed"])


def test_fewer_tests_in_a_file_are_noticed_even_where_the_rest_passes() -> None:
    params = {f"test_a.py::test_p[{number}]": OK for number in range(3)}
    result = judged({**GOOD, **params}, {**GOOD, "test_a.py::test_p[0]": OK}, restored={**GOOD, **params})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["tests-gone"])
    assert result.findings[0].file == "test_a.py"
    assert "2 tests" in result.findings[0].message
    skipped = judged(GOOD, {**GOOD, A: LATER}, restored=GOOD)
    assert rules(skipped) == ["tests-gone"]


def test_renamed_and_moved_tests_are_not_gone() -> None:
    renamed = {"test_a.py::test_uno": OK, B: OK, C: OK}
    moved = {"test_c.py::test_one": OK, B: OK, C: OK}
    file = {name.replace("test_a.py", "test_z.py"): OK for name in (A, B)} | {C: OK}
    other_names = {"test_z.py::test_uno": OK, "test_z.py::test_dos": OK, C: OK}
    for head in (renamed, moved, file):
        assert judged(GOOD, head, restored=GOOD).score is CheckScore.PASS
    move = (*CODE, Change(path="test_z.py", old_path="test_a.py", status="R"))
    assert judged(GOOD, other_names, restored=GOOD, changes=move).score is CheckScore.PASS
    assert rules(judged(GOOD, other_names, restored=GOOD)) == ["tests-gone"]


def test_new_tests_that_fail_on_base_are_told_and_not_required() -> None:
    head = {**GOOD, "test_a.py::test_new": OK, "test_a.py::test_newer": OK}
    on_base = ran(NEW_ON_BASE_STEP, {**GOOD, "test_a.py::test_new": BAD, "test_a.py::test_newer": OK})
    assert "2 new (1 of them fail on base)" in judged(GOOD, head, GOOD, on_base).summary
    unread = replace(on_base, junit=None)
    assert "2 new, " in judged(GOOD, head, GOOD, unread).summary
    assert "0 new, " in judged(GOOD, GOOD, GOOD, on_base).summary


def test_a_flaky_test_passes_and_is_named() -> None:
    head = ran(TESTS_STEP, {**GOOD, A: BAD}, again=[{A: OK}, {A: OK}])
    result = judged(GOOD, head)
    assert (result.score, rules(result)) == (CheckScore.PASS, ["flaky"])
    assert "3 passed" in result.summary
    assert "1 flaky" in result.summary


@pytest.mark.parametrize("again", [[], [{A: OK}], [{A: OK}, {A: BAD}], [{A: OK}, {}], [{A: LATER}, {A: OK}]])
def test_a_test_that_does_not_pass_twice_again_is_broken(again: Sequence[Mapping[str, str]]) -> None:
    head = ran(TESTS_STEP, {**GOOD, A: BAD}, again=again)
    assert rules(judged(GOOD, head)) == ["test-broken"]


def test_a_test_flaky_at_base_is_no_obstacle() -> None:
    base = ran(BASELINE_STEP, {**GOOD, A: BAD}, again=[{A: OK}, {A: OK}])
    result = judged(base, {**GOOD, A: BAD})
    assert result.score is CheckScore.PASS
    assert "0 fixed, 0 broken, 1 failing before and after" in result.summary


def test_unreadable_reruns_excuse_nothing() -> None:
    head = replace(ran(TESTS_STEP, {**GOOD, A: BAD}), rerun_junit=("forged", "forged"))
    assert rules(judged(GOOD, head)) == ["test-broken"]


@pytest.mark.parametrize(
    "head",
    [
        replace(ran(TESTS_STEP, GOOD), junit=None),  # os._exit(0)
        replace(ran(TESTS_STEP, GOOD), junit="<testsuite"),
        replace(ran(TESTS_STEP, GOOD), junit="<!DOCTYPE a><testsuite/>"),
    ],
)
def test_a_run_without_a_report_is_sent_back(head: StepResult) -> None:
    result = judged(GOOD, head)
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["no-report"])
    old = judged(GOOD, GOOD, replace(head, name=BASE_TESTS_STEP))
    assert rules(old) == ["no-report"]
    assert "base's tests" in old.findings[0].message


@pytest.mark.parametrize(("cases", "code"), [(GOOD, 1), (GOOD, 3), ({**GOOD, A: BAD}, 0), (GOOD, 137)])
def test_exit_code_and_report_must_agree(cases: Mapping[str, str], code: int) -> None:
    result = judged(GOOD, ran(TESTS_STEP, cases, code=code))
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["exit-code"])
    old = judged(GOOD, GOOD, ran(BASE_TESTS_STEP, cases, code=code))
    assert rules(old) == ["exit-code"]


def controlled(step: StepResult, name: str) -> StepResult:
    """The same run, in which this test was seen to fail when it had to."""
    mark = f'name="{name}"'
    return replace(step, junit=(step.junit or "").replace(mark, f'{mark} control="failed"'))


def test_base_tests_that_had_a_control_at_base_need_one_on_the_new_code() -> None:
    base = controlled(ran(BASELINE_STEP, GOOD), "test_one")
    head = ran(TESTS_STEP, GOOD)
    assert rules(judged(base, head)) == ["no-controls"]
    assert judged(base, controlled(head, "test_three")).score is CheckScore.PASS
    restored = replace(head, name=BASE_TESTS_STEP)
    assert rules(judged(base, controlled(head, "test_one"), restored)) == ["no-controls"]
    assert judged(base, head, controlled(restored, "test_one")).score is CheckScore.PASS


def test_no_control_is_asked_of_tests_that_had_none_or_do_not_pass() -> None:
    assert judged(GOOD, GOOD).score is CheckScore.PASS
    base = controlled(ran(BASELINE_STEP, GOOD), "test_one")
    flaky = ran(TESTS_STEP, {**GOOD, A: BAD}, again=({A: OK}, {A: OK}))
    assert rules(judged(base, flaky)) == ["flaky"]


def test_forged_doubles_do_not_hide_a_failure() -> None:
    forged = xml({A: BAD}).replace("</testsuite>", "").replace("</testsuites>", "")
    forged += '<testcase classname="test_a" name="test_one" file="test_a.py"/></testsuite></testsuites>'
    head = replace(ran(TESTS_STEP, {A: BAD}), junit=forged)
    assert rules(judged({A: OK}, head)) == ["test-broken"]


def test_no_test_that_passes_is_no_pass() -> None:
    result = judged({A: BAD}, {A: BAD})
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["no-test-ran"])
    assert rules(judged({A: LATER}, {A: LATER})) == ["no-test-ran"]
    empty = StepResult(name=TESTS_STEP, outcome=StepOutcome.RAN, exit_code=5, junit=xml({}))
    assert rules(judged({A: LATER}, empty)) == ["no-test-ran"]
    assert rules(judged(GOOD, empty)) == ["test-missing"] * 3


def test_the_first_tests_of_a_repository_can_pass() -> None:
    nothing = StepResult(name=BASELINE_STEP, outcome=StepOutcome.NOTHING_TO_RUN)
    none_of_base = replace(nothing, name=BASE_TESTS_STEP)
    result = judged(nothing, GOOD, none_of_base)
    assert (result.score, result.summary) == (CheckScore.PASS, "3 passed, 3 new, 0 fixed, 0 broken in 3.2 s")


def test_no_tests_at_all_asks_a_person() -> None:
    nothing = StepResult(name=BASELINE_STEP, outcome=StepOutcome.NOTHING_TO_RUN)
    result = judged(nothing, replace(nothing, name=TESTS_STEP))
    assert (result.score, result.subject) == (None, Subject.NO_TESTS)
    gone = judged(GOOD, replace(nothing, name=TESTS_STEP))
    assert rules(gone) == ["test-missing"] * 3


@pytest.mark.parametrize(
    ("outcome", "subject"),
    [(StepOutcome.NO_TOOLCHAIN, Subject.NO_TOOLCHAIN), (StepOutcome.BROKEN, Subject.CHECKS_UNAVAILABLE)],
)
def test_trouble_with_any_run_asks_a_person(outcome: StepOutcome, subject: Subject) -> None:
    broken = StepResult(name=BASELINE_STEP, outcome=outcome, output="no pytest here")
    for base, restored, head in (
        (broken, None, GOOD),
        (GOOD, replace(broken, name=BASE_TESTS_STEP), GOOD),
        (GOOD, None, replace(broken, name=TESTS_STEP)),
    ):
        result = judged(base, head, restored)
        assert (result.score, result.subject) == (None, subject)
        assert "no pytest here" in result.summary


def test_a_timeout_is_sent_back_unless_base_has_it_too() -> None:
    late = StepResult(name=TESTS_STEP, outcome=StepOutcome.TIMED_OUT, output="…")
    result = judged(GOOD, late)
    assert (result.score, rules(result)) == (CheckScore.NEEDS_REVISION, ["timeout"])
    old = judged(GOOD, GOOD, replace(late, name=BASE_TESTS_STEP))
    assert "base's tests on this change" in old.summary
    both = judged(replace(late, name=BASELINE_STEP), late)
    assert (both.score, both.subject) == (None, Subject.CHECKS_UNAVAILABLE)


def test_a_baseline_that_cannot_be_read_asks_a_person() -> None:
    for base in (
        replace(ran(BASELINE_STEP, GOOD), junit=None),
        ran(BASELINE_STEP, GOOD, code=2),
    ):
        result = judged(base, GOOD)
        assert (result.score, result.subject) == (None, Subject.CHECKS_UNAVAILABLE)


@pytest.mark.parametrize("kind", [EndKind.OUT_OF_MEMORY, EndKind.KILLED, EndKind.LOST])
def test_a_session_that_did_not_end_by_itself_proves_nothing(kind: EndKind) -> None:
    report = CheckReport(steps=(ran(BASELINE_STEP, GOOD), ran(TESTS_STEP, GOOD)))
    result = judge_tests(None, report, Ending(kind=kind), CODE)
    assert (result.score, result.subject) == (None, Subject.CHECKS_UNAVAILABLE)
    assert kind.replace("_", " ") in result.summary


def test_no_report_and_missing_runs_prove_nothing() -> None:
    gone = judge_tests(None, None, Ending(kind=EndKind.EXITED, detail="code 1"), CODE)
    assert (gone.score, gone.summary) == (None, "the check session ended without a report (exited code 1)")
    good = ran(BASELINE_STEP, GOOD), ran(TESTS_STEP, GOOD)
    for steps, changes in ((good[:1], CODE), (good[1:], CODE), (good, TESTS)):
        assert judge_tests(None, CheckReport(steps=steps), EXITED, changes).score is None


def test_a_known_baseline_is_used() -> None:
    report = CheckReport(steps=(ran(TESTS_STEP, GOOD),))
    assert judge_tests(ran(BASELINE_STEP, GOOD), report, EXITED, CODE).score is CheckScore.PASS
    assert rules(judge_tests(ran(BASELINE_STEP, {**GOOD, "test_c.py::x": OK}), report, EXITED, CODE)) == [
        "test-missing"
    ]


def test_only_a_baseline_that_was_measured_is_kept() -> None:
    nothing = StepResult(name=BASELINE_STEP, outcome=StepOutcome.NOTHING_TO_RUN)
    late = replace(nothing, outcome=StepOutcome.TIMED_OUT)
    for step, kept in ((ran(BASELINE_STEP, GOOD), True), (nothing, True), (late, False)):
        assert (baseline_of(CheckReport(steps=(step,))) is step) is kept
    assert baseline_of(CheckReport(steps=())) is None
    assert baseline_of(None) is None


def test_the_runs_of_a_change_of_code_alone() -> None:
    steps = plan_tests(CODE, None, 900, with_baseline=True)
    assert [(step.name, step.tree, step.restore, step.reruns) for step in steps] == [
        (BASELINE_STEP, Tree.BASE, (), 2),
        (TESTS_STEP, Tree.HEAD, (), 2),
    ]
    assert [step.name for step in plan_tests(CODE, None, 900, with_baseline=False)] == [TESTS_STEP]


def test_the_runs_of_a_change_that_touches_tests_and_configuration() -> None:
    changes = (
        *TESTS,
        Change(path="tox.ini", status="A"),
        Change(path="tests/data.json", status="M"),
        Change(path="test_gone.py", status="D"),
        Change(path="src/new.py", old_path="src/old.py", status="R"),
    )
    steps = {step.name: step for step in plan_tests(changes, None, 900, with_baseline=True)}
    assert list(steps) == [BASELINE_STEP, BASE_TESTS_STEP, TESTS_STEP, NEW_ON_BASE_STEP]
    assert steps[BASE_TESTS_STEP].restore == ("test_a.py", "test_gone.py", "tests/data.json", "tox.ini")
    assert steps[NEW_ON_BASE_STEP].command == ("pytest", "test_a.py")
    assert steps[NEW_ON_BASE_STEP].restore == ("calc.py", "src/new.py", "src/old.py", "tox.ini")
    assert steps[TESTS_STEP].restore == ()


def added(*paths: str) -> tuple[Change, ...]:
    return (Change(path="calc.py", status="M"), *(Change(path=path, status="A") for path in paths))


@pytest.mark.parametrize(
    ("changes", "alone"),
    [
        (added("tests/test_new.py"), ("tests/test_new.py",)),
        (added("tests/new_test.py", "test_more.py"), ("tests/new_test.py", "test_more.py")),
        ((*added("test_new.py"), Change(path="test_gone.py", status="D")), ("test_new.py",)),
        (
            (*added(), Change(path="tests/test_b.py", old_path="tests/test_a.py", status="R")),
            ("tests/test_b.py",),
        ),
        (added("tests/test_new.py", "tests/conftest.py"), ()),
        (added("tests/test_new.py", "tests/data.json"), ()),
        (added("tests/test_new.py", "tests/helpers.py"), ()),
        (added("tests/test_new.py", "pytest.ini"), ()),
        (added("tests/testing.py"), ()),
        (added("-p/test_new.py"), ()),
        (added("@options/test_new.py"), ()),
        (added("src/x.test.ts"), ()),
        (added(), ()),
        (added(*(f"test_{number}.py" for number in range(MOST_ALONE + 1))), ()),
        ((Change(path="test_link.py", status="A", new_mode="120000"),), ()),
    ],
)
def test_where_only_test_modules_are_changed_they_run_by_themselves(
    changes: Sequence[Change], alone: tuple[str, ...]
) -> None:
    steps = {
        step.name: step
        for step in plan_tests(changes, None, 900, with_baseline=True, watched=("calc.py:1-1",))
    }
    assert steps[TESTS_STEP].files == alone
    assert not steps[BASELINE_STEP].files and not getattr(steps.get(BASE_TESTS_STEP), "files", ())
    if alone:
        assert steps[BASE_TESTS_STEP].watched == ("calc.py:1-1",), (
            "red tests of other files are run there alone"
        )
    own = parse_checks(b"tests: {command: [pytest, -q], junit: ''}")
    assert not any(step.files for step in plan_tests(changes, own, 900, with_baseline=True))


NEW = "test_new.py::test_it"


def alone(cases: Mapping[str, str], *, files: Sequence[str] = ("test_new.py",), **more: Any) -> StepResult:
    return replace(ran(TESTS_STEP, cases, **more), command=("python", "-P", "-m", "pytest", *files))


def test_the_changes_own_tests_count_for_their_files_and_bases_for_all_others() -> None:
    changes = added("test_new.py")
    fine = judged(GOOD, alone({NEW: OK}), GOOD, changes=changes)
    assert (fine.score, fine.summary) == (CheckScore.PASS, "4 passed, 1 new, 0 fixed, 0 broken in 6.4 s")
    broken = judged(GOOD, alone({NEW: OK}), {**GOOD, B: BAD}, changes=changes)
    assert rules(broken) == ["test-broken"]
    lying = judged(GOOD, alone({NEW: OK, B: OK}), {**GOOD, B: BAD}, changes=changes)
    assert rules(lying) == ["test-broken"], "what a changed file reports of others does not count"
    failing = judged(GOOD, alone({NEW: BAD}), GOOD, changes=changes)
    assert rules(failing) == ["test-failed"]
    empty = judged(GOOD, alone({}, code=5), GOOD, changes=changes)
    assert (empty.score, empty.summary) == (CheckScore.PASS, "3 passed, 0 new, 0 fixed, 0 broken in 6.4 s")


def test_a_changed_file_that_lost_its_tests_is_seen_where_it_runs_by_itself() -> None:
    changes = (Change(path="calc.py", status="M"), Change(path="test_a.py", status="M"))
    result = judged(GOOD, alone({A: OK}, files=("test_a.py",)), GOOD, changes=changes)
    assert rules(result) == ["tests-gone"]
    told = {A: OK, "test_else.py::test_two": OK}
    lying = judged(GOOD, alone(told, files=("test_a.py",)), GOOD, changes=changes)
    assert rules(lying) == ["tests-gone"], "it moved to no file that did not run"
    weakened = judged(GOOD, alone({A: OK, B: OK}, files=("test_a.py",)), {**GOOD, B: BAD}, changes=changes)
    assert rules(weakened) == ["changed-test"]


def test_a_run_of_all_tests_counts_as_a_whole() -> None:
    head = ran(TESTS_STEP, {**GOOD, C: BAD, NEW: OK})
    assert rules(judged(GOOD, head, GOOD, changes=added("test_new.py"))) == ["test-failed"]


def test_a_command_of_the_repository_is_run_as_it_says() -> None:
    checks = parse_checks(b"tests: {command: [make, test], junit: out/junit.xml, timeout_s: 60}")
    steps = plan_tests(TESTS, checks, 900, with_baseline=True)
    assert {(step.command, step.junit, step.timeout_s) for step in steps} == {
        (("make", "test"), "out/junit.xml", 60)
    }
    assert [step.name for step in steps] == [BASELINE_STEP, BASE_TESTS_STEP, TESTS_STEP, NEW_ON_BASE_STEP]


def by_code(base: int, head: int, restored: int | None = None) -> CheckResult:
    def step(name: str, code: int) -> StepResult:
        return StepResult(name=name, outcome=StepOutcome.RAN, exit_code=code, output="words", duration_s=1.0)

    steps = [step(BASELINE_STEP, base), step(TESTS_STEP, head)]
    if restored is not None:
        steps.append(step(BASE_TESTS_STEP, restored))
    checks = parse_checks(b"tests: make test")
    changes = CODE if restored is None else TESTS
    return judge_tests(None, CheckReport(steps=tuple(steps)), EXITED, changes, checks)


def test_a_command_without_a_report_is_judged_by_its_exit_code_and_says_so() -> None:
    good = by_code(0, 0)
    assert (good.score, good.summary) == (CheckScore.PASS, "exit code 0 in 1.0 s, judged by that alone")
    assert by_code(0, 0, 0).score is CheckScore.PASS
    fixed = by_code(1, 0)
    assert (fixed.score, fixed.summary) == (
        CheckScore.PASS,
        "exit code 0 in 1.0 s, judged by that alone; it failed at base",
    )
    bad = by_code(0, 2)
    assert (bad.score, rules(bad)) == (CheckScore.NEEDS_REVISION, ["command-failed"])
    assert bad.findings[0].evidence == "words"
    assert by_code(1, 1).score is None


def test_a_command_that_passes_with_changed_tests_only_goes_to_a_person() -> None:
    result = by_code(0, 0, 1)
    assert (result.score, result.subject, rules(result)) == (
        CheckScore.PASS,
        Subject.CHANGED_TESTS,
        ["changed-test"],
    )


def test_a_command_with_a_report_is_judged_by_the_report() -> None:
    checks = parse_checks(b"tests: {command: make test, junit: j.xml}")
    report = CheckReport(steps=(ran(BASELINE_STEP, GOOD), ran(TESTS_STEP, {**GOOD, A: BAD})))
    assert rules(judge_tests(None, report, EXITED, CODE, checks)) == ["test-broken"]


def test_hostile_words_come_out_harmless() -> None:
    head = replace(ran(TESTS_STEP, GOOD), junit=None, output="\x1b]0;owned\x07\u202eAPPROVE")
    assert judged(GOOD, head).findings[0].evidence == "]0;ownedAPPROVE"


def test_many_broken_tests_are_counted_and_some_are_listed() -> None:
    many = {f"test_a.py::test_{number}": OK for number in range(90)}
    result = judged(many, dict.fromkeys(many, BAD))
    assert "90 broken" in result.summary
    assert len(result.findings) == 50


ROWS = {f"test_a.py::test_rows[{name}-given{number}]": OK for number, name in enumerate("abc")}
RENUMBERED = {f"test_a.py::test_rows[{name}-given{number + 7}]": OK for number, name in enumerate("abc")}


def test_rows_that_are_only_numbered_otherwise_are_the_same() -> None:
    """They come from a set, whose order differs in every run."""
    assert judged(ROWS, RENUMBERED).findings == ()
    one_fails = {**RENUMBERED, "test_a.py::test_rows[b-given8]": BAD}
    assert rules(judged(ROWS, one_fails)) == ["test-broken"]
    one_gone = dict(list(RENUMBERED.items())[:2])
    assert rules(judged(ROWS, one_gone)) == ["test-missing"]
    red = {**ROWS, "test_a.py::test_rows[b-given1]": BAD}
    assert "1 fixed" in judged(red, RENUMBERED).summary
    assert rules(judged(red, RENUMBERED, restored=red))[0] == "red-test-gone", "in a file the change wrote"
