"""Every kind of criterion: a new one is a file beside this one, and its class in `KINDS`."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag

from overlord.domain.contracts.criteria.diff_non_empty import DiffNonEmpty
from overlord.domain.contracts.criteria.evaluation_passed import EvaluationPassed
from overlord.domain.contracts.part import as_tuple

KINDS = (DiffNonEmpty, EvaluationPassed)


def _kind_of(value: Any) -> str | None:
    """The kind of a criterion as it is written: its one key."""
    if isinstance(value, dict):
        return next(iter(value), None) if len(value) == 1 else None
    return getattr(value, "kind", None)


def _from_word(value: Any) -> Any:
    """A criterion that has nothing to say but its name may be written as a word."""
    return {value: True} if isinstance(value, str) else value


AnyCriterion = Annotated[
    Annotated[DiffNonEmpty, Tag(DiffNonEmpty.kind)] | Annotated[EvaluationPassed, Tag(EvaluationPassed.kind)],
    Discriminator(
        _kind_of,
        custom_error_type="criterion",
        custom_error_message="no criterion is called so; known: " + ", ".join(item.kind for item in KINDS),
    ),
]
Criteria = Annotated[
    tuple[Annotated[AnyCriterion, BeforeValidator(_from_word)], ...],
    Field(max_length=50),
    BeforeValidator(as_tuple),
]
