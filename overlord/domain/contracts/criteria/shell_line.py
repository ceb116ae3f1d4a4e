"""A shell line that a criterion has a check session run, and how it ended where that says nothing of the work."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from minion.protocol import CheckStep, StepOutcome, StepResult
from overlord.domain.contracts.criteria.path import RepositoryPath
from overlord.domain.contracts.part import Part

RUN = "run"
"""The one step of a criterion that runs a line."""
MOST_LINE = 4_000
MOST_SECONDS = 3_600
_IN_DIRECTORY = 'cd -- "$1" || exit 127; exec sh -c "$2"'


def _line(value: str) -> str:
    if not value.strip():
        raise ValueError("a command is not empty")
    if "\0" in value:
        raise ValueError("a command has no NUL character")
    return value


ShellLine = Annotated[str, Field(min_length=1, max_length=MOST_LINE), AfterValidator(_line)]
Seconds = Annotated[int, Field(ge=1, le=MOST_SECONDS)]


class Command(Part):
    """What `sh -c` runs in a fresh copy of the head."""

    run: ShellLine
    """The line."""
    timeout_s: Seconds = 600
    """Seconds it may take."""
    directory: RepositoryPath | None = None
    """Where it runs; absent: at the repository's root."""

    def typed(self) -> str:
        """The line as a person would type it at the root."""
        return self.run if self.directory is None else f"cd {self.directory} && {self.run}"

    def step(self) -> CheckStep:
        """What the check session runs."""
        words: tuple[str, ...] = ("sh", "-c", self.run)
        if self.directory is not None:
            words = ("sh", "-c", _IN_DIRECTORY, "sh", f"./{self.directory}", self.run)
        return CheckStep(name=RUN, command=words, timeout_s=self.timeout_s, plan=True)


def as_command(value: Any) -> Any:
    """A line alone is a command with nothing else to say."""
    return {"run": value} if isinstance(value, str) else value


AnyCommand = Annotated[Command, BeforeValidator(as_command, json_schema_input_type=ShellLine | Command)]
"""A command, written as its line or as a mapping."""


def unjudged(step: CheckStep, result: StepResult | None) -> str:
    """Why what a step came to can be no basis for a judgement; empty where it ran to its end."""
    program = step.command[0] if step.command else "the test runner"
    match None if result is None else result.outcome:
        case None:
            return "The check session brought no result of its command, so it could not be judged."
        case StepOutcome.TIMED_OUT:
            return (
                f"Its command did not end within {step.timeout_s} s, so it could not be judged: "
                "make it faster, or give it more time in the contract."
            )
        case StepOutcome.NO_TOOLCHAIN:
            return (
                f"No program {program!r} is where checks run, so it could not be judged: "
                "add it to the repository's environment."
            )
        case StepOutcome.RAN if result is not None and result.exit_code is not None:
            return ""
        case _:
            why = " ".join(result.output.split())[:300] if result is not None else ""
            return f"Its command could not be run, so it could not be judged: {why or 'nothing says why'}."
