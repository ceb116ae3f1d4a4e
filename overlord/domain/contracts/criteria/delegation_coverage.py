"""`delegation_coverage`: a plan gives every role that comes later something to do, or says that it has nothing to do."""

from typing import ClassVar

from overlord.domain.contracts.criteria.criterion import MOST_BYTES, Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.path import RepositoryPath
from overlord.domain.contracts.delegation import Delegation
from overlord.domain.text.plain import count


class DelegationCoverage(Criterion):
    """That a delegation can be read and leaves nobody out."""

    kind: ClassVar[str] = "delegation_coverage"

    delegation_coverage: RepositoryPath

    def describe(self) -> str:
        return named(self.kind, self.delegation_coverage)

    def files(self) -> tuple[str, ...]:
        return (self.delegation_coverage,)

    def judge(self, seen: Seen) -> CriterionResult:
        path = self.delegation_coverage
        content = seen.texts.get(path)
        if content is None:
            return self.result(False, f"There is no file {path}: write it.", file=path)
        try:
            delegation = Delegation.parse(content[:MOST_BYTES], path)
        except ValueError as error:
            return self.result(False, f"{error}.", file=path)
        if problems := delegation.problems(seen.assignees):
            return self.result(False, f"{path}: {problems[0]}", file=path, evidence="\n".join(problems))
        given = count(len(delegation.assignments), "assignment")
        return self.result(True, f"{given} for {', '.join(delegation.order)}.", file=path)
