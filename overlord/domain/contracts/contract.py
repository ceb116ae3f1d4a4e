"""The rules a job runs under: roles, phases, gates and budgets, as written in a contract's YAML."""

from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from minion.protocol import Scope, ScopeError, ScopeMode
from overlord.domain.text.plain_yaml import load_yaml
from overlord.errors import ContractError

MAX_LIFETIME_H = 24 * 366.0
"""A job that outlives a year is forgotten, not worked on; rule 4.3 wants an end that comes."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScopeRule(_Part):
    """What a role may write. A space's own scope narrows it further."""

    mode: Literal[ScopeMode.UNRESTRICTED, ScopeMode.DIRECTORY, ScopeMode.EXPLICIT]
    patterns: tuple[str, ...] = ()
    approval: Literal["none", "required"] = "none"
    """`required`: where neither settings nor issue say what may be written, a person does before a session begins. Only for an
    unrestricted scope."""

    @model_validator(mode="after")
    def _approval_is_of_something(self) -> Self:
        if self.asks_first and self.mode is not ScopeMode.UNRESTRICTED:
            raise ValueError(
                f"approval: a {self.mode} scope says what may be written, so there is nothing to ask"
            )
        return self

    @property
    def asks_first(self) -> bool:
        """Whether a person is asked before a session may write any file."""
        return self.approval == "required"

    def scope(self) -> Scope:
        return Scope.parse(Scope(mode=self.mode, patterns=self.patterns).to_json())


class SessionBudget(_Part):
    """Where one session of a role ends. Absent numbers come from `sessions` and `budget` in the settings."""

    tokens: Annotated[int, Field(gt=0)] | None = None
    usd: Annotated[float, Field(gt=0)] | None = None
    turns: Annotated[int, Field(gt=0)] | None = None
    time_s: Annotated[int, Field(gt=0)] | None = None
    on_exhausted: Literal["ask"] = "ask"
    """A person may add to it, take over or drop the job."""


class Role(_Part):
    """Who works: with which scope, tools and budget."""

    scope: ScopeRule | None = None
    budget: SessionBudget | None = None
    tools: tuple[str, ...] = ()
    """Empty means every tool."""


class Phase(_Part):
    """A step with completion criteria; `next` is absent for the last one."""

    role: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    attempts: Annotated[int, Field(ge=1, le=3)] = 3
    """Sessions a round may have: the first and its revisions."""
    next: str | None = None


class Gate(_Part):
    """A decision the contract demands before a transition."""

    after: str
    kind: Literal["person", "check"]
    answered_by: Literal["person", "code"]
    approve: str
    reject: str


class Contract(_Part):
    """One contract. `start` names the first phase."""

    name: str
    version: Literal[1]
    lifetime_h: Annotated[float, Field(gt=0, le=MAX_LIFETIME_H)] | None = None
    merge: Literal["manual"] = "manual"
    start: str
    roles: dict[str, Role]
    phases: dict[str, Phase]
    gates: dict[str, Gate] = {}

    @classmethod
    def parse(cls, text: str, source: str) -> Self:
        """Read a contract's YAML; raises ContractError with the key that is wrong."""
        try:
            return cls.model_validate(load_yaml(text))
        except yaml.YAMLError as error:
            raise ContractError(f"{source} is not YAML: {yaml_problem(error)}") from None
        except ValidationError as error:
            raise ContractError(f"{source}: {first_problem(error)}") from None

    def phase(self, name: str) -> Phase:
        try:
            return self.phases[name]
        except KeyError:
            raise ContractError(f"contract {self.name} has no phase {name!r}") from None

    def role_of(self, phase: str) -> Role:
        name = self.phase(phase).role
        try:
            return self.roles[name]
        except KeyError:
            raise ContractError(
                f"contract {self.name}: phase {phase} names an unknown role {name!r}"
            ) from None


def first_problem(error: ValidationError) -> str:
    """The first thing pydantic holds against an input, as `key: what is wrong`."""
    problem = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(str(part) for part in problem["loc"]) or "the document"
    if problem["type"] in {"extra_forbidden", "unexpected_keyword_argument"}:
        return f"unknown key {key!r}"
    return f"{key}: {problem['msg'].removeprefix('Value error, ')}"


def yaml_problem(error: yaml.YAMLError) -> str:
    """What is wrong with a YAML document and on which line; never the line itself, which may hold a secret."""
    problem = "an unknown tag or alias, or a character YAML does not allow"
    if isinstance(error, yaml.scanner.ScannerError | yaml.parser.ParserError) and error.problem:
        problem = error.problem
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem


def scope_problem(rule: ScopeRule) -> str | None:
    """What is wrong with a declared scope, or None."""
    try:
        rule.scope()
    except ScopeError as error:
        return str(error)
    return None
