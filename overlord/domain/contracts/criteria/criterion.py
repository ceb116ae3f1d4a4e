"""What every criterion is: a value in a contract that says which files and commands it looks at, and judges what they show.

A criterion never does anything itself: the engine reads the files, a check session runs the steps, and `judge` is pure.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from minion.protocol import CheckStep, StepResult
from overlord.domain.contracts.part import Part
from overlord.domain.scope.check import Change


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

    @abstractmethod
    def judge(self, seen: Seen) -> CriterionResult:
        """Whether it is met by what was seen."""
