"""`command_succeeds`: a shell line ends with exit code 0 in a fresh copy of the job's head."""

from typing import ClassVar

from minion.protocol import CheckStep
from overlord.domain.checks.testruns.red_output import cut_off
from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.shell_line import RUN, AnyCommand, unjudged


class CommandSucceeds(Criterion):
    """That a command succeeds."""

    kind: ClassVar[str] = "command_succeeds"
    is_static: ClassVar[bool] = False

    command_succeeds: AnyCommand

    def describe(self) -> str:
        return named(self.kind, self.command())

    def command(self) -> str:
        return self.command_succeeds.typed()

    def steps(self) -> tuple[CheckStep, ...]:
        return (self.command_succeeds.step(),)

    def judge(self, seen: Seen) -> CriterionResult:
        step = seen.results.get(RUN)
        if (why := unjudged(self.steps()[0], step)) or step is None or step.exit_code is None:
            return self.step_result(None, why, step)
        if step.exit_code == 0:
            return self.step_result(True, "The command succeeded.", step)
        why = cut_off(step.exit_code, step.output) or f"The command failed with exit code {step.exit_code}."
        return self.step_result(False, f"{why} It has to succeed.", step)
