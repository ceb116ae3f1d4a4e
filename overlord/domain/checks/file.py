"""`.nebulus/checks.yaml`: what a repository wants run as its tests and its linter, read at base.

A list of words is run as it stands. So is one line, split as a shell would, unless it needs a shell; then `sh -c` gets
it. What the file says may lower a limit, never raise one. What it does not understand it refuses, in a sentence.
"""

import re
import shlex
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from overlord.domain.checks.testruns.report import REPORT_PATH
from overlord.domain.text.problem import first_problem
from overlord.domain.text.untrusted_yaml import UntrustedYamlError, read_yaml

CHECKS_PATH = ".nebulus/checks.yaml"
_NEEDS_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]{}~#!\n]|^\s*\w+=")
_PYTEST = (("pytest",), ("python", "-m", "pytest"), ("python3", "-m", "pytest"))

_FOR_THE_REPORT = re.compile(
    rf" >?(?:-json|--json|--run|--(?:test-)?reporter(?:-destination)?=\S+|\S*{re.escape(REPORT_PATH)})(?=\s|$)| --(?= --(?:run|json))"
)
"""What a command is given for the report's sake alone."""
Word = Annotated[str, Field(min_length=1, max_length=4000)]


class ChecksFileError(ValueError):
    """The file does not parse. It is never taken for an absent one: no check is made by guesswork."""


class CheckCommand(BaseModel):
    """One command, the file of JUnit results it writes if it writes one, and a time limit of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    command: Annotated[tuple[Word, ...], Field(min_length=1, max_length=100)]
    junit: Annotated[str, Field(max_length=500)] = ""
    timeout_s: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """`tests: pytest -q` and `tests: [pytest, -q]` mean `tests: {command: …}`."""
        return {"command": value} if isinstance(value, str | list) else value

    @field_validator("command", mode="before")
    @classmethod
    def _in_words(cls, value: Any) -> Any:
        if isinstance(value, str):
            return _words(value)
        return tuple(value) if isinstance(value, list) else value

    @field_validator("junit")
    @classmethod
    def _inside(cls, value: str) -> str:
        path = PurePosixPath(value)
        if path.is_absolute() or ".." in path.parts or ".git" in path.parts or "\0" in value:
            raise ValueError("must be a path inside the repository")
        return value

    @property
    def is_pytest(self) -> bool:
        """Whether the checker runs this as its own guarded pytest, which always leaves a report."""
        return any(self.command[: len(words)] == words for words in _PYTEST)

    @property
    def by_exit_code(self) -> bool:
        """Whether there is nothing to judge it by but its exit code."""
        return not self.junit and not self.is_pytest

    @property
    def is_own_report(self) -> bool:
        """Whether Overlord asked for the report itself: where none is written, the exit code tells all there is."""
        return self.junit == REPORT_PATH

    @property
    def words(self) -> str:
        """What a person would type."""
        words = self.command[-1] if self.command[:2] == ("sh", "-c") else " ".join(self.command)
        return _FOR_THE_REPORT.sub("", words) if self.is_own_report else words

    def limit_s(self, most_s: int) -> int:
        return min(self.timeout_s or most_s, most_s)


class ChecksFile(BaseModel):
    """The whole file; what it leaves out is found by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    tests: CheckCommand | None = None
    lint: CheckCommand | None = None


def parse_checks(content: bytes | None) -> ChecksFile | None:
    """The file as it is at base; None when there is none. Raises ChecksFileError with a sentence that names the key."""
    if content is None:
        return None
    try:
        loaded = read_yaml(content, CHECKS_PATH)
        return ChecksFile.model_validate({} if loaded is None else loaded)
    except ValidationError as error:
        raise ChecksFileError(f"{CHECKS_PATH}: {first_problem(error)}") from None
    except UntrustedYamlError as error:
        raise ChecksFileError(str(error)) from None


def _words(line: str) -> tuple[str, ...]:
    if _NEEDS_SHELL.search(line):
        return ("sh", "-c", line)
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise ValueError(f"cannot be read as a command: {error}") from None
