"""`tests_fail`: the repository's own tests, as the evaluation runs them, fail for an assertion in tests that this phase wrote.

It is the red of red and green: a test that cannot fail proves nothing, and one that fails because nothing ran proves as little.
"""

from typing import ClassVar, Literal

from minion.protocol import CheckStep
from overlord.domain.checks.testruns.red_output import RedCode
from overlord.domain.checks.testruns.red_run import RedQuestion, RedRun, named, red_run
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen

TESTS = "tests"
"""Its one step. The engine gives it the repository's own command, where it has one."""


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
        made = red_run(step, RedQuestion(changed={change.path for change in seen.phase}))
        is_met, said = _said(made, step.exit_code or 0, has_run=bool(step.exit_code is not None))
        return self.step_result(is_met, said, step)


def _said(made: RedRun, exit_code: int, *, has_run: bool) -> tuple[bool, str]:
    """Whether a run is red, and the sentence for it. Without a report, a failure of which nothing is told counts: not every
    repository has a runner whose words are known."""
    match made.code:
        case RedCode.ASSERTION | RedCode.UNCLEAR if not made.by_report:
            return True, f"The tests fail, with exit code {exit_code}."
        case RedCode.ASSERTION:
            return True, made.why
        case RedCode.ERROR if made.by_report:
            return True, f"Red: {named(made.cases)}."
        case RedCode.ERROR:
            return True, f"The tests fail, with exit code {exit_code}."
        case RedCode.IMPORT_ERROR:
            return False, made.why
        case RedCode.NOT_RUN:
            return False, f"{made.why} That is not the failure that is meant."
        case RedCode.PASSED if not made.by_report:
            return False, "The tests pass: write tests that fail until the work is done."
        case RedCode.NO_TEST_RAN if not has_run:
            return False, "There are no tests: write those that the work has to pass."
        case RedCode.NO_TEST_RAN if not made.by_report:
            return False, f"{made.why} Write tests that fail until the work is done."
    return False, "No test that this phase wrote fails: write tests that fail until the work is done."
