"""Green: the test that failed for an assertion passes in the form it had, and every other test that passed still does.

Red is run once more on the files as they were, and base's tests are put back on the changed code. What the worker made of tests
counts for nothing, and is told.
"""

from minion.protocol import StepResult
from overlord.domain.changes.paths import is_test_configuration, is_test_path
from overlord.domain.checks.testruns.comparison import compare
from overlord.domain.checks.testruns.judge import BASE_TESTS_STEP, BASELINE_STEP, TESTS_STEP
from overlord.domain.checks.testruns.junit import Case
from overlord.domain.checks.testruns.red_output import RedCode
from overlord.domain.checks.testruns.red_run import RedQuestion, named, red_run
from overlord.domain.checks.testruns.run import Run, Runs, is_controlled, is_in
from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.verification.runs import (
    UNCOUNTED,
    Asked,
    base_on_head,
    by_counts,
    checks_for,
    command_files,
    compared_runs,
    is_by_exit_code,
    no_report,
    run_of,
    runner_replaced,
    seen_tests,
    shown,
    uncounted,
    why_not_passed,
)
from overlord.domain.disciplines.verification.seen import Plan, Seen
from overlord.domain.text.plain import count, visible


def plan_green(asked: Asked) -> Plan:
    """The runs that show it; none where nothing was changed."""
    if not asked.changes:
        return Plan()
    try:
        return Plan(steps=base_on_head(asked))
    except ValueError:
        return Plan()


def judge_green(seen: Seen) -> Verification:
    """Whether it is green."""
    if not seen.changes:
        return Verification(verified=False, why="Nothing was changed.")
    steps = runs_of(seen)
    if isinstance(steps, Verification):
        return steps
    base, restored, head = steps
    names = seen.names(seen.path(seen.text("test_path")))
    was = red_run(base, RedQuestion(changed=names, paths=names))
    if was.code is not RedCode.ASSERTION:
        said = f"{seen.text('test_path')} was not red before: {was.why[:1].lower()}{was.why[1:]}"
        return Verification(verified=False, why=visible(said), output=shown(base))
    if not was.by_report:
        if not is_by_exit_code(seen, base):
            return Verification(verified=False, why=visible(no_report(base)), output=shown(base))
        return _by_exit_codes(seen, base, restored, head)
    runs = compared_runs(seen, base, restored, head)
    if isinstance(runs, str):
        return Verification(verified=False, why=visible(runs), output=shown(restored or head))
    against = runs.restored or runs.head
    if why := _not_green(runs, was.cases, names):
        return Verification(verified=False, why=visible(why), output=_message(against, runs) or shown(head))
    passed = sum(1 for _ in against.passed)
    why = f"{named(was.cases)} failed for an assertion before and passes now, as it was written; {count(passed, 'test')} pass in all."
    return Verification(verified=True, why=visible(f"{why}{_of_tests(seen)}"), output=shown(restored or head))


def runs_of(seen: Seen) -> tuple[StepResult, StepResult | None, StepResult] | Verification:
    """Base's run, that of base's tests on the changed code where tests or their settings were changed, and the changed code's own."""
    try:
        checks_for(seen.arguments, seen.checks)
    except ValueError as error:
        return Verification(verified=False, why=f"{error}.")
    if own := command_files(seen):
        said = f"It changed {', '.join(own[:5])}, which the test command runs: what that says shows nothing."
        return Verification(verified=False, why=visible(said), code=RedCode.NOT_RUN)
    if other := runner_replaced(seen):
        said = f"{other} takes the place of something that test runs load: what they say shows nothing."
        return Verification(verified=False, why=visible(said), code=RedCode.NOT_RUN)
    if place := seen_tests(seen):
        said = f"{place} asks whether it is being tested, or reaches into the test runner: what that says shows nothing."
        return Verification(verified=False, why=visible(said))
    restores = any(is_test_path(path) or is_test_configuration(path) for path in seen.touched)
    wanted = (BASELINE_STEP, *((BASE_TESTS_STEP,) if restores else ()), TESTS_STEP)
    steps = run_of(seen, *wanted)
    if isinstance(steps, Verification):
        return steps
    return steps[0], steps[1] if restores else None, steps[-1]


def not_kept(runs: Runs) -> str:
    """Which test that passed before does not, in the form it had, as a sentence; empty where all do."""
    compared = compare(runs)
    if held := (*compared.broken, *compared.claims):
        more = f" ({len(held)} in all)" if len(held) > 1 else ""
        return f"{held[0].message}{more}"
    against = runs.restored or runs.head
    if not is_controlled(runs.base, against):
        return (
            "At base tests failed when they had to; here none was seen to. What reported was not the runner."
        )
    return "" if any(True for _ in against.passed) else "Not one test passed."


def _not_green(runs: Runs, red: tuple[Case, ...], names: frozenset[str]) -> str:
    against = runs.restored or runs.head
    if left := [case for case in red if not against.passes(case.id)]:
        return f"{named(left)} does not pass as it was written."
    failing = [case for case in against.failed if (case.file in names if case.file else is_in(case, names))]
    if failing:
        return f"{named(failing)} fails."
    return not_kept(runs)


def _message(against: Run, runs: Runs) -> str:
    return next((case.message for case in (*against.failed, *runs.head.failed) if case.message), "")


def _by_exit_codes(
    seen: Seen, base: StepResult, restored: StepResult | None, head: StepResult
) -> Verification:
    """A command that says nothing but yes or no of the tests as a whole."""
    name = seen.text("test_path").rpartition("/")[2]
    if name not in base.output:
        said = f"The output does not name {name}, so nobody knows whether it is what failed before: use pytest or a JUnit report."
        return Verification(verified=False, why=visible(said), output=shown(base))
    for step in (restored, head):
        if step is None:
            continue
        if why := why_not_passed(base, step):
            which = "as they were written" if step is restored else "with this change"
            said = f"The tests do not pass {which} (exit code {step.exit_code}). {why}".strip()
            return Verification(verified=False, why=visible(said), output=shown(step))
    if path := uncounted(seen, head):
        return Verification(verified=False, why=visible(f"{path} {UNCOUNTED}"), output=shown(head))
    said = f"The tests failed for an assertion before and pass now, judged {by_counts(head)}."
    return Verification(verified=True, why=f"{said}{_of_tests(seen)}", output=shown(restored or head))


def _of_tests(seen: Seen) -> str:
    """What is to be said where tests were changed."""
    own = seen.path(seen.text("test_path"))
    changed = sorted(path for path in seen.touched if is_test_path(path))
    if own in changed:
        return f" {visible(seen.text('test_path'))} was changed: it was judged in the form it had before."
    if changed:
        return f" Tests were changed ({visible(changed[0])}): they were judged in the form they had before."
    return ""
