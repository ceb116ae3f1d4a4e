"""The checks that a pass needs: scope and integrity always, and beside them what the contract wants of this work."""

from overlord.domain.evaluation import REQUIRED, CheckName
from overlord.engine.contracts.judge import Wanted
from overlord.engine.runtime.parts import Parts
from overlord.store.checks.evaluations import EvaluationRow


def required(parts: Parts, space: str, row: EvaluationRow, wanted: Wanted) -> tuple[CheckName, ...]:
    """The checks a pass needs here."""
    first = (CheckName.SCOPE, CheckName.INTEGRITY)
    criteria = (CheckName.CRITERIA,) if wanted.has_terms else ()
    if not wanted.evaluation:
        return (*first, *criteria)
    review = (CheckName.REVIEW,) if is_reviewed(parts, space, row) else ()
    return (*first, *criteria, *REQUIRED[len(first) :], *review)


def is_reviewed(parts: Parts, space: str, row: EvaluationRow) -> bool:
    """Whether a review comes last here. What a draft became is always reviewed, once the check for it was begun."""
    return parts.settings.space(space).checks.review or row.made(CheckName.SKILL)
