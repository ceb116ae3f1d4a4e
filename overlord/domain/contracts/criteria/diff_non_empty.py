"""`diff_non_empty`: the role's work changed something, in the repository or in the plan."""

from typing import ClassVar, Literal

from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen


class DiffNonEmpty(Criterion):
    """That a session changed at least one file."""

    kind: ClassVar[str] = "diff_non_empty"

    diff_non_empty: Literal[True] = True

    def describe(self) -> str:
        return self.kind

    def judge(self, seen: Seen) -> CriterionResult:
        is_met = bool(seen.own) or seen.plan_changed
        message = (
            "The work changed something."
            if is_met
            else "Nothing was changed: make the change, or end with task_blocked."
        )
        return self.result(is_met, message)
