"""Refactor: the same tests pass before and after, none of them was changed, and the code that was named is another one."""

from collections.abc import Sequence

from minion.protocol import StepResult
from overlord.domain.changes.paths import is_test_path
from overlord.domain.checks.testcode.syntax import same_code
from overlord.domain.checks.testruns.red_run import named
from overlord.domain.checks.testruns.run import Runs, read_run
from overlord.domain.disciplines.call import Verification
from overlord.domain.disciplines.verification.green import not_kept, runs_of
from overlord.domain.disciplines.verification.runs import (
    UNCOUNTED,
    Asked,
    base_on_head,
    by_counts,
    compared_runs,
    is_by_exit_code,
    needed_code,
    no_report,
    shown,
    uncounted,
    weakened,
    why_not_passed,
)
from overlord.domain.disciplines.verification.seen import Needed, Plan, Seen, within
from overlord.domain.scope.check import Change
from overlord.domain.text.plain import count, visible


def plan_refactor(asked: Asked) -> Plan:
    """The runs that show it; none where what was changed decides already."""
    impl_path = asked.arguments.get("impl_path")
    if wrong_change(asked.changes, within(asked.directory, str(impl_path or ""))):
        return Plan()
    try:
        return Plan(steps=base_on_head(asked))
    except ValueError:
        return Plan()


def judge_refactor(seen: Seen) -> Verification:
    """Whether only the code's form is another one, as far as its tests show."""
    if wrong := wrong_change(seen.changes, seen.path(seen.text("impl_path"))):
        return Verification(verified=False, why=wrong)
    if _looks_alone(seen):
        said = f"Only comments, or its layout, were changed in {visible(seen.text('impl_path'))}: its code is as it was."
        return Verification(verified=False, why=said)
    own = seen.path(seen.text("impl_path"))
    if is_test_path(own) and (less := weakened(seen, frozenset({own}))):
        return Verification(verified=False, why=visible(less))
    steps = runs_of(seen)
    if isinstance(steps, Verification):
        return steps
    base, restored, head = steps
    before = read_run(base)
    if before is None or not before.fits_its_exit_code:
        if not is_by_exit_code(seen, base):
            return Verification(verified=False, why=visible(no_report(base)), output=shown(base))
        return _by_exit_codes(seen, base, restored, head)
    if failing := list(before.failed):
        said = f"The tests were not green before: {named(failing)} fails without this change. Make them pass first."
        return Verification(verified=False, why=visible(said), output=failing[0].message)
    runs = compared_runs(seen, base, restored, head)
    if isinstance(runs, str):
        return Verification(verified=False, why=visible(runs), output=shown(restored or head))
    if why := _differs(runs, seen):
        return Verification(verified=False, why=visible(why), output=shown(restored or head))
    passed = sum(1 for _ in before.passed)
    tests = (
        f"; {visible(seen.text('impl_path'))} holds tests itself"
        if is_test_path(own)
        else "; none was changed"
    )
    said = f"{count(passed, 'test')} passed before and {'passes' if passed == 1 else 'pass'} now{tests}."
    return Verification(verified=True, why=said, output=shown(restored or head))


def needed_for_refactor(seen: Seen) -> Needed:
    """The changed code, and the file that was named, whatever its language."""
    named_one, code = frozenset({seen.path(seen.text("impl_path"))}), needed_code(seen)
    return Needed(base=code.base | named_one, head=code.head | named_one)


def _looks_alone(seen: Seen) -> bool:
    path = seen.path(seen.text("impl_path"))
    before, after = seen.base.get(path), seen.head.get(path)
    return before is not None and after is not None and same_code(path, before, after)


def wrong_change(changes: Sequence[Change], impl_path: str) -> str:
    """Why what was changed is no refactoring of that file, as a sentence; empty where it may be one."""
    touched = {path for change in changes for path in change.paths}
    if tests := sorted(path for path in touched if is_test_path(path) and path != impl_path):
        return f"It changed tests: {visible(', '.join(tests[:5]))}. A refactoring leaves them as they are."
    of_it = [change for change in changes if impl_path in change.paths]
    if not any(
        change.status != "T" and (change.added or change.removed or change.binary or change.status in "RD")
        for change in of_it
    ):
        return f"{_kind_of(of_it) or 'Nothing was changed in'} {visible(impl_path)}."
    return ""


def _kind_of(changes: Sequence[Change]) -> str:
    """What was changed of a file whose text was not; empty for nothing."""
    if any(change.status == "T" for change in changes):
        return "It put a link, or something else that is no code, in the place of"
    is_mode = any(change.status == "M" and change.old_mode != change.new_mode for change in changes)
    return "It changed only the mode, and no line, of" if is_mode else ""


def _differs(runs: Runs, seen: Seen) -> str:
    """Which test is not what it was, as a sentence."""
    against = runs.restored or runs.head
    passed = list(runs.base.passed)
    if not passed:
        return "Not one test passed before, so nothing shows that the code does the same."
    names = seen.names(seen.path(seen.text("test_path")))
    placed = [case for case in passed if case.file]
    if placed and not any(case.file in names for case in placed):
        return f"No test of {seen.text('test_path')} passed before, so it shows nothing of this change."
    for run in (against, runs.head):
        if lost := [case for case in passed if not run.passes(case.id)]:
            return f"{named(lost)} passed before and does not now."
    return not_kept(runs)


def _by_exit_codes(
    seen: Seen, base: StepResult, restored: StepResult | None, head: StepResult
) -> Verification:
    """A command that says nothing but yes or no of the tests as a whole."""
    for step in (base, *((restored,) if restored else ()), head):
        why = why_not_passed(base, step)
        if not why:
            continue
        if step is base:
            said = f"The tests were not green before (exit code {step.exit_code}). {why}"
        else:
            said = f"The tests do not pass with this change (exit code {step.exit_code}). {why}"
        return Verification(verified=False, why=visible(said.strip()), output=shown(step))
    if path := uncounted(seen, head):
        return Verification(verified=False, why=visible(f"{path} {UNCOUNTED}"), output=shown(head))
    said = f"The tests pass before and after, judged {by_counts(head)}."
    return Verification(verified=True, why=said, output=shown(head))
