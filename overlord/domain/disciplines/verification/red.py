"""Red: a test of this change fails, in the file that was asked for, for an assertion. Nothing but tests was changed.

The tests are run without the change too: what fails there as well is not this change's red.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from minion.protocol import StepResult
from overlord.domain.changes.paths import is_test_configuration, is_test_path
from overlord.domain.checks.testcode.compare import read_tests
from overlord.domain.checks.testruns.judge import BASELINE_STEP, TESTS_STEP
from overlord.domain.checks.testruns.junit import Case
from overlord.domain.checks.testruns.output_counts import why_not_failing
from overlord.domain.checks.testruns.red_output import RedCode
from overlord.domain.checks.testruns.red_run import RedQuestion, RedRun, red_run
from overlord.domain.checks.testruns.run import bare_name
from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.verification.runs import (
    Asked,
    checks_for,
    is_by_exit_code,
    no_report,
    run_of,
    shown,
    two_runs,
)
from overlord.domain.disciplines.verification.seen import Needed, Plan, Seen, names_of, within
from overlord.domain.scope.check import Change
from overlord.domain.text.plain import visible

MOST_NAMED = 5
_TOLD_BY_OUTPUT = frozenset({RedCode.ASSERTION, RedCode.UNCLEAR})
"""What an output alone does not tell of a run that was to leave a report."""


def plan_red(asked: Asked) -> Plan:
    """The runs that show it; none where what was changed decides already."""
    test_path = asked.arguments.get("test_path")
    wanted = within(asked.directory, test_path) if isinstance(test_path, str) and test_path else ""
    if wrong_change(asked.changes, wanted):
        return Plan()
    try:
        return Plan(steps=two_runs(asked))
    except ValueError:
        return Plan()


def needed_for_red(seen: Seen) -> Needed:
    """The changed test files, on both sides: whose tests were written anew is seen in them."""
    paths = frozenset(path for path in seen.touched if is_test_path(path))
    return Needed(base=paths, head=paths)


def judge_red_call(seen: Seen) -> Verification:
    """Whether it is red."""
    wanted = seen.path(seen.text("test_path")) if seen.text("test_path") else ""
    if wrong := wrong_change(seen.changes, wanted):
        return Verification(
            verified=False, why=wrong, code=RedCode.WRONG_TEST if seen.changes else RedCode.NO_TEST_RAN
        )
    try:
        checks_for(seen.arguments, seen.checks)
    except ValueError as error:
        return Verification(verified=False, why=f"{error}.", code=RedCode.NOT_RUN)
    steps = run_of(seen, BASELINE_STEP, TESTS_STEP)
    if isinstance(steps, Verification):
        return replace(steps, code=RedCode.NOT_RUN)
    base, head = steps
    question = RedQuestion(
        changed={name for path in seen.touched for name in seen.names(path)},
        paths=seen.names(wanted) if wanted else (),
        base=base,
        rewritten=frozenset(_rewritten(seen)),
        files={
            name for path in seen.touched if is_test_path(path) for name in names_of(seen.directory, path)
        },
    )
    made = red_run(head, question)
    if made.code is RedCode.ASSERTION:
        made = _held(seen, made, base, head)
    if made.code in _TOLD_BY_OUTPUT and not made.by_report and not is_by_exit_code(seen, head):
        made = RedRun(code=RedCode.UNCLEAR, why=no_report(head))
    return Verification(
        verified=made.code is RedCode.ASSERTION,
        why=visible(made.why),
        code=made.code,
        output=made.cases[0].message if made.cases and made.cases[0].message else shown(head),
    )


def _held(seen: Seen, made: RedRun, base: StepResult, head: StepResult) -> RedRun:
    """A red run as it is, or why it is none: no test is counted as failed, or it would fail whatever the code did."""
    if not made.by_report and (why := why_not_failing(base.output, head.output)):
        return replace(made, code=RedCode.UNCLEAR, why=why)
    if constant := _constant(seen, made.cases):
        why = f"{visible(constant)} fails whatever the code does: nothing of the code is in what it asserts."
        return replace(made, code=RedCode.WRONG_TEST, why=why)
    return made


def _constant(seen: Seen, cases: Sequence[Case]) -> str:
    """The first of the tests that fail, or without a report of those that were written, where nothing of the code is in any of them."""
    codes = [
        code for path, content in seen.head.items() for code in (read_tests(path, content) or {}).values()
    ]
    written = set(_rewritten(seen))
    names = {bare_name(case) for case in cases} or {
        code.bare_name for code in codes if code.is_test and code.bare_name in written
    }
    held = [code for code in codes if code.bare_name in names]
    is_constant = all(code.asserts_constants for code in held) and names == {code.bare_name for code in held}
    return min(names, default="") if is_constant else ""


def wrong_change(changes: Sequence[Change], wanted: str) -> str:
    """Why what was changed cannot be a red test, as a sentence; empty where it can. Files of settings for tests are no tests."""
    if not changes:
        return "Nothing was changed: no test was written."
    touched = sorted({path for change in changes for path in change.paths})
    code = [path for path in touched if not is_test_path(path) and path != wanted]
    if code:
        return f"It changed code: {_listed(code)}. Red changes tests alone."
    if settings := [path for path in touched if is_test_configuration(path) and path != wanted]:
        return f"It changed how tests are run: {_listed(settings)}. Red changes tests alone."
    if wanted and wanted not in touched:
        return f"It did not write {visible(wanted)}; it changed {_listed(touched)}."
    if all(change.status == "D" for change in changes):
        return f"It only removed tests: {_listed(touched)}."
    return ""


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(visible(path) for path in paths[:MOST_NAMED]) + more


def _rewritten(seen: Seen) -> Iterator[str]:
    """The names of tests whose own text is not what it was."""
    for change in seen.changes:
        before = read_tests(
            change.old_path or change.path, seen.base.get(change.old_path or change.path, b"")
        )
        after = read_tests(change.path, seen.head.get(change.path, b""))
        for name, code in (after or {}).items():
            if code.name and (before is None or name not in before or before[name].text != code.text):
                yield code.bare_name
