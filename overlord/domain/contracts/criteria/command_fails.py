"""`command_fails`: a shell line fails in a fresh copy of the job's head, for the reason that is meant.

A test that is to be red is no use when it is red because nothing ran: a program that is not there, a crash, a test file that
cannot be imported. None of these is taken for the failure.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from minion.protocol import CheckStep, StepResult
from overlord.domain.checks.testruns.red_output import (
    PYTEST_ASSERTION,
    PYTEST_IMPORT,
    cut_off,
    pytest_ran_nothing,
)
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.shell_line import (
    RUN,
    Command,
    ShellLine,
    as_command,
    unjudged,
)


class FailingCommand(Command):
    """A command that has to fail, and why."""

    because: Literal["assertion"] | None = None
    """`assertion`: pytest's output has to show failed assertions, and no error of imports or fixtures."""


class CommandFails(Criterion):
    """That a command fails, and not because it could not run."""

    kind: ClassVar[str] = "command_fails"
    is_static: ClassVar[bool] = False

    command_fails: Annotated[
        FailingCommand, BeforeValidator(as_command, json_schema_input_type=ShellLine | FailingCommand)
    ]

    def describe(self) -> str:
        because = self.command_fails.because
        return named(self.kind, self.command() + (f" (because: {because})" if because else ""))

    def command(self) -> str:
        return self.command_fails.typed()

    def steps(self) -> tuple[CheckStep, ...]:
        return (self.command_fails.step(),)

    def judge(self, seen: Seen) -> CriterionResult:
        step = seen.results.get(RUN)
        if (why := unjudged(self.steps()[0], step)) or step is None or step.exit_code is None:
            return self.step_result(None, why, step)
        if step.exit_code == 0:
            return self.step_result(False, "The command succeeded, and has to fail.", step)
        code, output = step.exit_code, step.output
        why = cut_off(code, output) or pytest_ran_nothing(self.command_fails.run, code, output)
        why = why or self._other_reason(step)
        if why:
            return self.step_result(False, f"{why} That is not the failure that is meant.", step)
        return self.step_result(True, f"The command failed with exit code {step.exit_code}.", step)

    def _other_reason(self, step: StepResult) -> str:
        """Why the failure is not the assertion that is asked for, as a sentence."""
        if self.command_fails.because is None:
            return ""
        if error := PYTEST_IMPORT.search(step.output):
            return (
                f"A test has an error before any assertion: {error[0].removeprefix('E ').strip('_ ')[:200]}."
            )
        if not PYTEST_ASSERTION.search(step.output):
            return "pytest's output shows no failed assertion."
        return ""
