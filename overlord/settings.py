"""Defaults from the package, one YAML file, the environment: merged into one frozen Settings, or refused with the key's name."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator

from minion.protocol import Scope, ScopeMode
from overlord.domain.constitution import load_contract
from overlord.domain.contract import Contract, first_problem, yaml_problem
from overlord.domain.extent import Extent
from overlord.domain.plain_yaml import load_yaml
from overlord.domain.price import Price, longest
from overlord.errors import SettingsError
from overlord.settings_chat import Approver, Briefing, Slack
from overlord.settings_environment import ENVIRONMENT, from_environment, reason_of
from overlord.settings_model import (
    PRIMARY,
    BudgetLimits,
    Candidate,
    Environments,
    Fetch,
    ForgeEndpoint,
    Listen,
    ModelEndpoint,
    Positive,
    PriceRow,
    Retries,
    Section,
    SpareEndpoint,
    VariableName,
    secrets_in,
)
from overlord.settings_watch import Log, Tracing

RepositoryText = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$")]

MAX_SOCKET_PATH = 107
"""A unix socket's path is limited to this many bytes by the kernel."""


class Labels(Section):
    work: str
    in_progress: str
    in_review: str
    attention: str
    priority: str


class Sessions(Section):
    concurrent: Positive
    turns: Positive
    time_s: Positive
    tool_errors: Positive
    command_s: Positive
    silent_s: Positive
    grace_s: Annotated[float, Field(ge=0)]
    context_tokens: Positive
    memory_mb: Annotated[int, Field(ge=64)]
    cpus: Annotated[float, Field(gt=0)]


class Checks(Section):
    tests_s: Positive
    lint_s: Positive
    review: bool
    review_model: str
    setup_s: Positive


class Questions(Section):
    per_session: Annotated[int, Field(ge=0)]
    wait_s: Positive


class Intake(Section):
    bots: tuple[str, ...]
    """The logins of bots whose labels and commands count, as `renovate[bot]`."""


class Delivery(Section):
    open_pulls: Positive
    rounds: Annotated[int, Field(ge=0)]
    """Of each kind: reviews that ask for changes, checks that fail, conflicts."""
    follow_checks: bool
    delete_branch: bool


class ProcessSessions(Section):
    python: str


class DockerEngine(Section):
    host: str
    image: str
    runtime: str
    timeout_s: Positive


class SpaceSettings(Section):
    """What one repository has of its own."""

    scope: tuple[str, ...] | None = None
    base_branch: str | None = None
    contract: str | None = None
    setup_secrets: dict[VariableName, SecretStr] = Field(default_factory=dict)
    """What its setup, and nothing else, is given as environment variables: a sign-in to a private index."""
    history_depth: Annotated[int, Field(ge=0)] | None = None
    submodules: bool | None = None
    lfs: bool | None = None
    approvers: tuple[Approver, ...] | None = None
    """Whose word counts for this repository, in place of `slack.approvers`."""
    issue_scopes: dict[int, tuple[str, ...]] = Field(default_factory=dict)
    """What single issues may write, by number, in place of `scope`."""

    @field_validator("scope")
    @classmethod
    def _parses(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None:
            Scope.parse(Scope(mode=ScopeMode.DIRECTORY, patterns=value).to_json())
        return value

    @field_validator("issue_scopes")
    @classmethod
    def _all_parse(cls, value: dict[int, tuple[str, ...]]) -> dict[int, tuple[str, ...]]:
        for patterns in value.values():
            cls._parses(patterns)
        return value

    def scope_of(self, issue: int) -> tuple[str, ...] | None:
        """What may be written for an issue; None when this repository narrows nothing."""
        return self.issue_scopes.get(issue, self.scope)


class Settings(Section):
    """Everything Overlord is told before it starts. `home` comes from OVERLORD_HOME alone."""

    home: Path
    repositories: tuple[RepositoryText, ...]
    runner: Literal["auto", "docker", "process"]
    contract: str
    poll_s: Positive
    labels: Labels
    sessions: Sessions
    checks: Checks
    questions: Questions
    budget: BudgetLimits
    environments: Environments
    fetch: Fetch
    intake: Intake
    delivery: Delivery
    model: ModelEndpoint
    endpoints: dict[str, SpareEndpoint]
    models: dict[str, Annotated[tuple[Candidate, ...], Field(min_length=1)]]
    retries: Retries
    prices: dict[str, PriceRow]
    forge: ForgeEndpoint
    listen: Listen
    slack: Slack
    briefing: Briefing
    log: Log
    tracing: Tracing
    docker: DockerEngine
    process: ProcessSessions
    spaces: dict[RepositoryText, SpaceSettings]

    @field_validator("repositories", "spaces")
    @classmethod
    def _named_once(cls, value: Collection[str]) -> Collection[str]:
        folded = [name.casefold() for name in value]
        if doubles := {name for name in folded if folded.count(name) > 1}:
            raise ValueError(f"the same repository is listed twice: {', '.join(sorted(doubles))}")
        return value

    @field_validator("models")
    @classmethod
    def _has_a_default(cls, value: dict[str, tuple[Candidate, ...]]) -> dict[str, tuple[Candidate, ...]]:
        if "default" not in value:
            raise ValueError("there must be one called default: it is what a Minion asks for")
        return value

    @model_validator(mode="after")
    def _endpoints_exist(self) -> "Settings":
        for name, candidates in self.models.items():
            for candidate in candidates:
                if candidate.endpoint not in {PRIMARY, *self.endpoints}:
                    raise ValueError(f"models.{name}: there is no endpoint {candidate.endpoint!r}")
                if candidate.endpoint != PRIMARY and not self.model_name(candidate):
                    raise ValueError(f"models.{name}: say which model of endpoint {candidate.endpoint}")
        if PRIMARY in self.endpoints:
            raise ValueError(f"endpoints.{PRIMARY}: this name is that of the model section")
        return self

    def space(self, name: str) -> SpaceSettings:
        """What a repository has of its own; the forge does not mind upper and lower case, so neither does this."""
        folded = name.casefold()
        return next(
            (own for space, own in self.spaces.items() if space.casefold() == folded), SpaceSettings()
        )

    def approvers(self, name: str) -> tuple[str, ...]:
        """Whose word counts for a repository in the chat; of no repository, those for all."""
        own = self.space(name).approvers
        return self.slack.approvers if own is None else own

    def extent(self, name: str) -> Extent:
        """How much of a repository is fetched: what its space says, else what is said for all."""
        given = self.space(name).model_dump(include=set(Fetch.model_fields), exclude_none=True)
        return Extent(**{**self.fetch.model_dump(), **given})

    def endpoint(self, name: str) -> ModelEndpoint:
        return self.model if name == PRIMARY else self.endpoints[name]

    def model_name(self, candidate: Candidate) -> str:
        """What the endpoint calls the model of a candidate."""
        return candidate.model or self.endpoint(candidate.endpoint).name

    def price(self, model: str) -> Price | None:
        """What a model costs; None when nobody said."""
        row = longest(self.prices, model)
        return row.price() if row is not None else None

    def unpriced(self) -> tuple[str, ...]:
        """The models a session can reach whose price nobody said."""
        names = {self.model_name(item) for candidates in self.models.values() for item in candidates}
        return tuple(sorted(name for name in names if name and self.price(name) is None))

    def secrets(self) -> tuple[str, ...]:
        """Every secret of these settings, so that it can be kept out of what is written down."""
        return tuple(secrets_in(self))


def packaged(name: str) -> str:
    """A text file of `overlord/config/`, from the installed package."""
    return (files("overlord") / "config" / name).read_text(encoding="utf-8")


@cache
def _defaults() -> dict[str, Any]:
    return {**load_yaml(packaged("overlord.yaml")), **load_yaml(packaged("models.yaml"))}


def load(environment: Mapping[str, str], **overrides: Any) -> Settings:
    """Settings from defaults, file, environment and `overrides` (nested dicts, for `demo` and tests).

    Raises SettingsError with the key and the place it came from.
    """
    home = Path(environment.get("OVERLORD_HOME") or Path.home() / ".overlord").expanduser().absolute()
    explicit = environment.get("OVERLORD_CONFIG")
    path = Path(explicit).expanduser() if explicit else home / "overlord.yaml"
    merged = _merge(_defaults(), _read_yaml(path, required=bool(explicit)))
    merged = _merge(merged, from_environment(environment))
    if "token" in overrides.get("forge", {}):
        # An embedded forge's: it stands in place of whatever people sign in with.
        merged = _merge(merged, {"forge": {"app_id": "", "private_key_file": ""}})
    merged = _merge(merged, overrides)
    try:
        settings = Settings.model_validate({**merged, "home": home})
    except ValidationError as error:
        raise SettingsError(_explain(error, path, environment)) from None
    if problem := settings.forge.problem() or settings.slack.problem():
        raise SettingsError(problem)
    check_socket_path(settings.home)
    if settings.model.name:
        check_prices(settings)
    return settings


def check_prices(settings: Settings, contract: Contract | None = None) -> None:
    """Raises SettingsError for a cap in USD over a model without a price: it could not be kept."""
    names = ("session_usd", "job_usd", "space_day_usd", "day_usd")
    capped = [f"budget.{name}" for name in names if getattr(settings.budget, name) is not None]
    for name, role in (contract.roles if contract is not None else {}).items():
        if role.budget is not None and role.budget.usd is not None:
            capped.append(f"roles.{name}.budget.usd")
    unpriced = settings.unpriced()
    if capped and unpriced:
        raise SettingsError(
            f"{capped[0]} caps dollars, and nobody said what {unpriced[0]} costs: add"
            f" `prices: {{{unpriced[0]}: {{input: …, output: …}}}}` (USD per million tokens), or cap tokens instead"
        )


def contract_for(settings: Settings, space: str) -> Contract:
    """The contract of a space, held against the constitution. Raises ContractError, or SettingsError for a missing file."""
    name = settings.space(space).contract or settings.contract
    if name == "default":
        return _default_contract()
    try:
        return load_contract(Path(name).read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"contract: {name} cannot be read: {reason_of(error)}") from None


@cache
def _default_contract() -> Contract:
    return load_contract(packaged("contracts/default.yaml"), "the built-in contract")


def check_socket_path(home: Path) -> None:
    """Raises SettingsError when a door's socket under this home would have too long a path."""
    length = len(str(home / "run" / "12345678" / "s").encode())
    if length > MAX_SOCKET_PATH:
        raise SettingsError(
            f"OVERLORD_HOME={home} is too long: its sockets would need {length} bytes, and a path may have"
            f" {MAX_SOCKET_PATH}. Choose a home at least {length - MAX_SOCKET_PATH} bytes shorter."
        )


def _read_yaml(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        value = load_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise SettingsError(f"OVERLORD_CONFIG names {path}, which does not exist") from None
        return {}
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} cannot be read as YAML: {yaml_problem(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {reason_of(error)}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SettingsError(f"{path} must be a mapping of settings, not a {type(value).__name__}")
    if "home" in value:
        raise SettingsError(f"{path}: home cannot be set in the file; set OVERLORD_HOME")
    return value


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        known = merged.get(key)
        merged[key] = (
            _merge(known, value) if isinstance(known, dict) and isinstance(value, Mapping) else value
        )
    return merged


def _explain(error: ValidationError, path: Path, environment: Mapping[str, str]) -> str:
    location = [str(part) for part in error.errors(include_url=False, include_context=False)[0]["loc"]]
    variable = next(
        (
            name
            for name, keys in ENVIRONMENT.items()
            if list(keys) == location[: len(keys)]
            and (environment.get(name) or environment.get(f"{name}_FILE"))
        ),
        None,
    )
    return f"{variable or path}: {first_problem(error)}"
