"""Which setting a key may have been meant for that no setting has."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from overlord.domain.text.near import did_you_mean


def near_setting(root: type[BaseModel], location: Sequence[str]) -> str:
    """For the place of an unknown key, as pydantic has it: the names beside it that are like it, as half a sentence."""
    section: type[BaseModel] | None = root
    steps = list(location[:-1])
    while steps and section is not None:
        field = section.model_fields.get(steps.pop(0))
        section, is_named = _section_in(field.annotation) if field is not None else (None, False)
        if is_named and steps:
            steps.pop(0)  # a name of the user's own, as of a repository
    return did_you_mean(location[-1], section.model_fields) if section is not None and location else ""


def _section_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The section that a field holds, and whether it holds several by name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    is_named = isinstance(origin := get_origin(annotation), type) and issubclass(origin, Mapping)
    for part in get_args(annotation):
        found, is_deeper = _section_in(part)
        if found is not None:
            return found, is_named or is_deeper
    return None, False
