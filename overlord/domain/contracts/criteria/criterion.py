"""What every criterion is: a value in a contract that says which files and commands it looks at, and judges what they show.

A criterion never does anything itself: the engine reads the files, a check session runs the steps, and `judge` is pure.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from minion.protocol import CheckStep, StepResult
from overlord.domain.contracts.part import Part
from overlord.domain.scope.check import Change
from overlord.domain.text.plain import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a criterion may look at."""

    paths: frozenset[str]
    """Every file of the job's head, and the artifacts of its plan."""
    texts: Mapping[str, bytes] = field(default_factory=dict)
    """The content of the files that criteria asked for, where they are there; cut at `MOST_BYTES`."""
    own: Sequence[Change] = ()
    """What the role's work changed in this phase, without the plan."""
    phase: Sequence[Change] = ()
    """What all of the phase's work changed, without the plan."""
    plan_changed: bool = False
    """Whether the role's work changed artifacts of the plan."""
    assignees: tuple[str, ...] = ()
    """The roles that a delegation may give work to."""
    results: Mapping[str, StepResult] = field(default_factory=dict)
    """What its own steps came to, by the names it gave them."""
    evaluation: bool | None = None
    """Whether the evaluation passed; None where it was not made."""


MOST_BYTES = 200_000
"""Of a file that a criterion reads."""
MOST_EVIDENCE = 16_000
"""Characters of a command's output that are kept with a result: its end."""
MOST_SHOWN = 200
"""Characters of a value that a criterion is named by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionResult:
    """What a criterion says. `is_met` is None where it could not be judged, which is never a pass."""

    name: str
    """The criterion as people write it: `command_succeeds: npm test`."""
    is_met: bool | None
    message: str
    """One sentence: what was seen, and where it is not met what would meet it."""
    file: str | None = None
    step: str = ""
    """The step of the check session that it rests on."""
    evidence: str = ""
    """What was seen at length: the end of a command's output."""
    command: str = ""
    """What it has run, as a person would type it; empty for a kind that runs nothing."""
    exit_code: int | None = None
    duration_s: float | None = None

    @property
    def kind(self) -> str:
        """The criterion's kind, with which its name begins."""
        return self.name.partition(":")[0]


class Criterion(Part):
    """One criterion. Its kind is the name of its one field, which is the key in a contract."""

    kind: ClassVar[str]
    is_static: ClassVar[bool] = True
    """Whether it needs no session: preconditions are of these alone."""

    @abstractmethod
    def describe(self) -> str:
        """The criterion as people write it: `artifact_exists: plan/acceptance.md`."""

    def files(self) -> tuple[str, ...]:
        """The paths of the files whose content it judges."""
        return ()

    def steps(self) -> tuple[CheckStep, ...]:
        """What a check session has to run for it, by names of its own."""
        return ()

    def command(self) -> str:
        """What its steps run, as a person would type it; empty where they run nothing."""
        return ""

    def result(
        self, is_met: bool | None, message: str, *, file: str | None = None, evidence: str = ""
    ) -> CriterionResult:
        """What it says, as far as no command was run for it."""
        return CriterionResult(
            name=self.describe(),
            is_met=is_met,
            message=message,
            file=file,
            evidence=evidence,
            command=self.command(),
        )

    def step_result(self, is_met: bool | None, message: str, step: StepResult | None) -> CriterionResult:
        """What it says, with the command that it rests on: its exit code, its duration and the end of its output."""
        said = self.result(is_met, message)
        if step is None:
            return said
        return replace(
            said,
            step=step.name,
            evidence=step.output[-MOST_EVIDENCE:],
            exit_code=step.exit_code,
            duration_s=step.duration_s,
        )

    @abstractmethod
    def judge(self, seen: Seen) -> CriterionResult:
        """Whether it is met by what was seen."""


def named(kind: str, value: str) -> str:
    """A criterion in one line, as people write it, cut where its value is long."""
    line = " ".join(visible(value).split())
    return f"{kind}: {line if len(line) <= MOST_SHOWN else line[: MOST_SHOWN - 1].rstrip() + '…'}"
