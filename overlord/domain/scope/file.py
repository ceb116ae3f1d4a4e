"""`.nebulus/scope.yaml`: what a repository says itself of where changes go, read at base.

It opens more to the sessions of issues that have a label, never a protected place, and it is written by no session. What it
does not understand it refuses, in a sentence that names the key.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from minion.protocol import Scope, ScopeError
from overlord.domain.scope.path_kind import opens_protected
from overlord.domain.text.problem import first_problem
from overlord.domain.text.untrusted_yaml import UntrustedYamlError, read_yaml

SCOPE_PATH = ".nebulus/scope.yaml"


class ScopeFileError(ValueError):
    """The file does not parse. It is never taken for an absent one: no scope is told by guesswork."""


def _pattern(value: str) -> str:
    if not value.isprintable():
        raise ValueError("control characters are not allowed")
    if opens_protected(value):
        raise ValueError(f"{value!r} is protected: only a person's grant opens it, for one job")
    try:
        Scope.parse(Scope(patterns=(value,)).to_json())
    except ScopeError:
        raise ValueError(f"{value!r} is no pattern of paths inside the repository") from None
    return value


def _as_tuple(value: Any) -> Any:
    """One pattern where a list is meant, and a list as the tuple it becomes."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Pattern = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)]
Patterns = Annotated[tuple[Pattern, ...], Field(min_length=1, max_length=100), BeforeValidator(_as_tuple)]
Label = Annotated[str, Field(min_length=1, max_length=100)]


class ScopeFile(BaseModel):
    """Where changes go, by the labels of an issue."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, title=SCOPE_PATH)

    labels: Annotated[dict[Label, Patterns], Field(max_length=200)] = Field(
        default={},
        description="Patterns that the sessions of an issue with this label may write, read as in a .gitignore from the"
        ' root: `"area: cli": [src/cli/**]`.',
    )
    always: Annotated[tuple[Pattern, ...], Field(max_length=100), BeforeValidator(_as_tuple)] = Field(
        default=(),
        description="Patterns that go with every scope that is told from an issue, such as a changelog.",
    )


def parse_scope_file(content: bytes | None) -> ScopeFile:
    """The file as it is at base; an empty one when there is none. Raises ScopeFileError with a sentence that names the key."""
    if content is None:
        return ScopeFile()
    try:
        loaded = read_yaml(content, SCOPE_PATH)
        return ScopeFile.model_validate({} if loaded is None else loaded)
    except ValidationError as error:
        raise ScopeFileError(f"{SCOPE_PATH}: {first_problem(error)}") from None
    except UntrustedYamlError as error:
        raise ScopeFileError(str(error)) from None


def scope_file_schema() -> dict[str, Any]:
    """What is published for editors as `config/scope.schema.json`."""
    schema = ScopeFile.model_json_schema()
    properties = schema["properties"]
    for listed in (properties["always"], properties["labels"]["additionalProperties"]):
        many = {key: listed.pop(key) for key in ("type", "items", "minItems", "maxItems") if key in listed}
        listed["anyOf"] = [many, many["items"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
