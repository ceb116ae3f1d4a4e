"""What a verification looks at, and what the engine has to fetch for it.

Paths of changes and files are from the repository's root; those of arguments and of workers are relative to `directory`, the project's
root in it. `Seen.path` makes the one of the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from minion.protocol import CheckReport, CheckStep, StepResult
from overlord.domain.checks.file import ChecksFile
from overlord.domain.disciplines.worker_result import WorkerResult
from overlord.domain.event import Json
from overlord.domain.scope.check import Change
from overlord.domain.session import Ending, EndKind

LineRange = tuple[int, int]
"""The first and the last line that were read, counted from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a check session has to run."""

    steps: tuple[CheckStep, ...] = ()
    """Empty: nothing is run, and what is seen already decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """The files whose content is looked at, from the repository's root: the engine reads those that are there."""

    base: frozenset[str] = frozenset()
    head: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What there is to see of a call. What a discipline does not look at may be left out."""

    result: WorkerResult
    """What the worker said."""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    """The call's, as they were checked."""
    directory: str = ""
    """The project's root in the repository; empty for the repository's own."""
    changes: Sequence[Change] = ()
    """What the worker changed."""
    checks: ChecksFile | None = None
    """The repository's own commands at base."""
    report: CheckReport | None = None
    """Of the check session that ran the plan; None where none was run, or none came."""
    ending: Ending | None = None
    """How that session ended; None where none was run."""
    base: Mapping[str, bytes] = field(default_factory=dict)
    """Contents at base, of the files that `needed` names and that are there."""
    head: Mapping[str, bytes] = field(default_factory=dict)
    """Contents with the change, of the same kind."""
    files_read: Mapping[str, Sequence[LineRange]] = field(default_factory=dict)
    """For a review: what the worker's tools showed it of each file, from the repository's root."""
    entries: Collection[str] = ()
    """For a retrospective: the ids of the entries it was given."""
    records: int = 0
    """For the trainer: how many records were written."""

    def text(self, name: str) -> str:
        """An argument that is a text; empty where it was left out."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    def path(self, relative: str) -> str:
        """A path of an argument, from the repository's root."""
        return within(self.directory, relative)

    def names(self, path: str) -> frozenset[str]:
        """How reports may name a file: from the repository's root, and from the project's."""
        return names_of(self.directory, path)

    @property
    def touched(self) -> frozenset[str]:
        """Every path that is changed."""
        return frozenset(path for change in self.changes for path in change.paths)

    def step(self, name: str) -> StepResult | None:
        """What a step came to."""
        steps = self.report.steps if self.report is not None else ()
        return next((step for step in steps if step.name == name), None)

    @property
    def trouble(self) -> str:
        """Why the check session tells nothing, as a sentence; empty where it does."""
        if self.ending is not None and self.ending.kind not in (EndKind.EXITED, EndKind.STOPPED):
            return f"The check session did not end by itself ({self.ending.kind.replace('_', ' ')})."
        if self.report is None:
            return "The check session ended without a report."
        return ""


def within(directory: str, relative: str) -> str:
    """A path of the project, from the repository's root."""
    return f"{directory}/{relative}" if directory else relative


def names_of(directory: str, path: str) -> frozenset[str]:
    """How reports may name a file of the repository."""
    inside = path.removeprefix(f"{directory}/") if directory else path
    return frozenset({path, inside})
