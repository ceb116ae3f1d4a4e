"""The rules of a review and what each weighs: Overlord's own, from `config/rubric.yaml`, never a branch's or a model's."""

from enum import StrEnum
from functools import cache
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from overlord.domain.text.plain_yaml import load_yaml
from overlord.domain.text.problem import first_problem
from overlord.errors import SettingsError


class Severity(StrEnum):
    """What a finding of a rule does to the score."""

    FAIL = "fail"
    NEEDS_REVISION = "needs_revision"
    NOTE = "note"


class Rule(BaseModel):
    """One thing a review looks for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{1,40}$")]
    severity: Severity
    question: Annotated[str, Field(min_length=10, max_length=500)]


class Rubric(BaseModel):
    """Every rule there is; a finding of any other is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: Annotated[tuple[Rule, ...], Field(min_length=1, max_length=60)]

    @field_validator("rules")
    @classmethod
    def _named_once(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        names = [rule.id for rule in rules]
        if doubles := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"the same rule is listed twice: {', '.join(sorted(doubles))}")
        return rules

    @property
    def severities(self) -> dict[str, Severity]:
        return {rule.id: rule.severity for rule in self.rules}


@cache
def load_rubric(text: str, source: str) -> Rubric:
    """Read a rubric's YAML. Raises SettingsError that names the key and the place it came from."""
    try:
        return Rubric.model_validate(load_yaml(text))
    except yaml.YAMLError as error:
        raise SettingsError(f"{source} cannot be read as YAML: {error}") from None
    except ValidationError as error:
        raise SettingsError(f"{source}: {first_problem(error)}") from None
