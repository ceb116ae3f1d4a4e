"""`evaluation_passed`: integrity, tests, lint and review judged all of the job's work and found it good."""

from typing import ClassVar, Literal

from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen


class EvaluationPassed(Criterion):
    """That the whole evaluation passed. It is made where a phase asks for it, and always before the work is delivered."""

    kind: ClassVar[str] = "evaluation_passed"
    is_static: ClassVar[bool] = False

    evaluation_passed: Literal[True] = True

    def describe(self) -> str:
        return self.kind

    def judge(self, seen: Seen) -> CriterionResult:
        said = {
            None: "The evaluation was not made.",
            True: "The evaluation passed.",
            False: "The evaluation did not pass.",
        }
        return self.result(seen.evaluation, said[seen.evaluation])
