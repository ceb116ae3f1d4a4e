"""`command_fails`: a shell line fails in a fresh copy of the job's head, for the reason that is meant.

A test that is to be red is no use when it is red because nothing ran: a program that is not there, a crash, a test file that
cannot be imported. None of these is taken for the failure.
"""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator

from minion.protocol import CheckStep, StepResult
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.shell_line import (
    RUN,
    Command,
    ShellLine,
    as_command,
    cut_off,
    unjudged,
)

_PYTEST = re.compile(r"(?:^|[\s;&|(/])(?:pytest|py\.test)(?![\w.-])")
_ENDED_EARLY = {
    2: "pytest was interrupted, or could not collect the tests",
    3: "pytest had an error of its own",
    4: "pytest was called with words it does not know",
    5: "pytest found no tests",
}
_NOTHING_COLLECTED = re.compile(
    r"^(?:!+ Interrupted: \d+ errors? during collection !+|=+ no tests ran\b.*)$", re.MULTILINE
)
_ASSERTION = re.compile(
    r"^(?:E +(?:assert\b|AssertionError\b|Failed: DID NOT RAISE)|FAILED .* - (?:assert\b|AssertionError\b|Failed: DID NOT RAISE)"
    r"|\S.*:\d+: (?:AssertionError|Failed))",
    re.MULTILINE,
)
_IMPORT = re.compile(
    r"^(?:E +(?:ImportError|ModuleNotFoundError|SyntaxError|IndentationError)\b.*|ERROR \S+\.py\b.*|_+ ERROR .* _+)$",
    re.MULTILINE,
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
        why = cut_off(step.exit_code, step.output) or self._nothing_ran(step) or self._other_reason(step)
        if why:
            return self.step_result(False, f"{why} That is not the failure that is meant.", step)
        return self.step_result(True, f"The command failed with exit code {step.exit_code}.", step)

    def _nothing_ran(self, step: StepResult) -> str:
        """How pytest ended without having run the tests, as a sentence."""
        code = step.exit_code or 0
        if _PYTEST.search(self.command_fails.run) and code in _ENDED_EARLY:
            return f"{_ENDED_EARLY[code]} (exit code {code})."
        if _NOTHING_COLLECTED.search(step.output):
            return f"pytest ran no tests (exit code {code})."
        return ""

    def _other_reason(self, step: StepResult) -> str:
        """Why the failure is not the assertion that is asked for, as a sentence."""
        if self.command_fails.because is None:
            return ""
        if error := _IMPORT.search(step.output):
            return (
                f"A test has an error before any assertion: {error[0].removeprefix('E ').strip('_ ')[:200]}."
            )
        if not _ASSERTION.search(step.output):
            return "pytest's output shows no failed assertion."
        return ""
