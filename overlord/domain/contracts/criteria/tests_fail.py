"""`tests_fail`: the repository's own tests, as the evaluation runs them, fail for an assertion in tests that this phase wrote.

It is the red of red and green: a test that cannot fail proves nothing, and one that fails because nothing ran proves as little.
"""

from typing import ClassVar, Literal

from minion.protocol import CheckStep, StepOutcome, StepResult
from overlord.domain.checks.testruns.junit import Case, CaseOutcome
from overlord.domain.checks.testruns.run import read_run
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen
from overlord.domain.contracts.criteria.shell_line import cut_off

TESTS = "tests"
"""Its one step. The engine gives it the repository's own command, where it has one."""
SHOWN = 5


class TestsFail(Criterion):
    """That tests which the phase wrote fail, and for an assertion."""

    __test__ = False  # no test of pytest's
    kind: ClassVar[str] = "tests_fail"
    is_static: ClassVar[bool] = False

    tests_fail: Literal[True] = True

    def describe(self) -> str:
        return self.kind

    def command(self) -> str:
        return "the repository's tests"

    def steps(self) -> tuple[CheckStep, ...]:
        return (CheckStep(name=TESTS),)

    def judge(self, seen: Seen) -> CriterionResult:
        step = seen.results[TESTS]
        if step.outcome is StepOutcome.NOTHING_TO_RUN:
            return self.step_result(False, "There are no tests: write those that the work has to pass.", step)
        run = read_run(step)
        if run is None or not run.fits_its_exit_code:
            return self._by_exit_code(step)
        changed = {change.path for change in seen.phase}
        failed = [case for case in run.cases.values() if case.outcome is CaseOutcome.FAILED]
        mine = [case for case in failed if not case.file or case.file in changed]
        if errors := [case for case in mine if case.is_error or case.is_file]:
            said = (
                f"{_named(errors)} has an error before any assertion: it would be red whatever the work does."
            )
            return self.step_result(False, said, step)
        if mine:
            return self.step_result(True, f"Red for an assertion: {_named(mine)}.", step)
        said = "No test that this phase wrote fails: write tests that fail until the work is done."
        return self.step_result(False, said, step)

    def _by_exit_code(self, step: StepResult) -> CriterionResult:
        """Where a command of the repository's own leaves no report that says which tests failed."""
        code = step.exit_code or 0
        if why := cut_off(code, step.output):
            return self.step_result(False, f"{why} That is not the failure that is meant.", step)
        if code == 0:
            return self.step_result(
                False, "The tests pass: write tests that fail until the work is done.", step
            )
        return self.step_result(True, f"The tests fail, with exit code {code}.", step)


def _named(cases: list[Case]) -> str:
    more = f" and {len(cases) - SHOWN} more" if len(cases) > SHOWN else ""
    return ", ".join(case.id for case in cases[:SHOWN]) + more
