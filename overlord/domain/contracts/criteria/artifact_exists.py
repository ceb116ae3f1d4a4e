"""`artifact_exists`: a file is there, in the job's head or in its plan."""

from typing import ClassVar

from overlord.domain.contracts.criteria.criterion import Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.path import PathPattern, is_there


class ArtifactExists(Criterion):
    """That at least one file matches a path or pattern. A directory is there when a file is in it."""

    kind: ClassVar[str] = "artifact_exists"

    artifact_exists: PathPattern

    def describe(self) -> str:
        return named(self.kind, self.artifact_exists)

    def judge(self, seen: Seen) -> CriterionResult:
        wanted = self.artifact_exists
        if is_there(wanted, seen.paths):
            return self.result(True, f"{wanted} is there.")
        return self.result(False, f"There is no file {wanted}: write it.", file=wanted)
