"""`diff_within_budget`: all of the phase's work changes no more than so many files and lines."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.part import Part
from overlord.domain.text.plain import count


class DiffBudget(Part):
    """What a phase's work may change at most; what is absent is not counted."""

    files: Annotated[int, Field(gt=0, le=1_000_000)] | None = None
    """Files changed."""
    lines: Annotated[int, Field(gt=0, le=100_000_000)] | None = None
    """Lines added and lines removed, together. A binary file has none."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.files is None and self.lines is None:
            raise ValueError("say how many files, lines or both: `{files: 60, lines: 2000}`")
        return self


class DiffWithinBudget(Criterion):
    """That the phase's work is small enough."""

    kind: ClassVar[str] = "diff_within_budget"

    diff_within_budget: DiffBudget

    def describe(self) -> str:
        budget = self.diff_within_budget
        parts = {"files": budget.files, "lines": budget.lines}
        return named(self.kind, ", ".join(f"{key} {most}" for key, most in parts.items() if most is not None))

    def judge(self, seen: Seen) -> CriterionResult:
        budget = self.diff_within_budget
        files = len(seen.phase)
        lines = sum(change.added + change.removed for change in seen.phase)
        sized = f"{count(files, 'file')} and {count(lines, 'line')}"
        over = [
            count(most, word)
            for word, number, most in (("file", files, budget.files), ("line", lines, budget.lines))
            if most is not None and number > most
        ]
        if not over:
            return self.result(True, f"The phase's work changes {sized}.")
        most = " and ".join(over)
        return self.result(
            False, f"The phase's work changes {sized}, and may change {most} at most: change less."
        )
