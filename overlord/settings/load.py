"""Defaults from the package, one YAML file, the environment: merged into one frozen Settings, or refused with the key's name."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from overlord.config_files import packaged
from overlord.domain.budgets.price import Price, longest
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.contracts.contract import Contract
from overlord.domain.repositories.extent import Extent
from overlord.domain.text.plain_yaml import load_yaml
from overlord.domain.text.problem import first_problem
from overlord.domain.text.reference import is_full_name
from overlord.errors import SettingsError
from overlord.settings.agents import AgentsByName, McpName, McpSettings
from overlord.settings.chat import Briefing, Slack
from overlord.settings.disciplines import Disciplines, check_named
from overlord.settings.env import ENVIRONMENT, check_socket_path, from_environment, home_of, reason_of
from overlord.settings.file import RawSettings, found_at, has_at, merged_over, put_at, read_yaml
from overlord.settings.hooks import HooksSettings
from overlord.settings.machines import Kubernetes, Swarm
from overlord.settings.model import (
    PRIMARY,
    BudgetLimits,
    Candidate,
    Disk,
    Environments,
    Fetch,
    ForgeEndpoint,
    Keep,
    Listen,
    ModelEndpoint,
    Positive,
    PriceRow,
    Retries,
    Section,
    SpareEndpoint,
    secrets_in,
)
from overlord.settings.page import Page
from overlord.settings.portfolio import Autonomy, Portfolio
from overlord.settings.session_listener import SessionListenerSettings
from overlord.settings.space import (
    RepositoryText,
    SpaceSettings,
    caps_in_dollars,
    check_chosen,
    check_merge,
    completed,
    keys_of,
    place_for_all,
    refuse_what_is_of_all,
)
from overlord.settings.suggestion import near_setting
from overlord.settings.watch import Log, Tracing
from overlord.settings.work import (
    Checks,
    Delivery,
    DockerEngine,
    Intake,
    Labels,
    ProcessSessions,
    Proposals,
    Questions,
    Sessions,
    Skills,
)

BUILT_IN_CONTRACTS = ("default", "approve-scope", "plan-first", "red-green", "crew")
"""What `contract` may say in place of a file's path."""


class Settings(Section):
    """Everything Overlord is told before it starts. `home` comes from OVERLORD_HOME alone."""

    home: Path
    repositories: tuple[RepositoryText, ...]
    runner: Literal["auto", "docker", "process", "swarm", "kubernetes"]
    contract: str
    merge: str
    infer_scope: bool
    vet_skills: bool | Literal["every"]
    poll_s: Positive
    labels: Labels
    sessions: Sessions
    checks: Checks
    questions: Questions
    skills: Skills
    budget: BudgetLimits
    environments: Environments
    fetch: Fetch
    intake: Intake
    delivery: Delivery
    model: ModelEndpoint
    endpoints: dict[str, SpareEndpoint]
    models: dict[str, Annotated[tuple[Candidate, ...], Field(min_length=1)]]
    discipline_models: dict[str, str]
    retries: Retries
    prices: dict[str, PriceRow]
    forge: ForgeEndpoint
    listen: Listen
    session_listener: SessionListenerSettings
    page: Page
    keep: Keep
    disk: Disk
    slack: Slack
    briefing: Briefing
    log: Log
    tracing: Tracing
    proposals: Proposals
    portfolio: Portfolio
    autonomy: Autonomy
    hooks: HooksSettings
    disciplines: Disciplines
    docker: DockerEngine
    process: ProcessSessions
    kubernetes: Kubernetes
    swarm: Swarm
    agent: str
    agents: AgentsByName
    mcp: dict[McpName, McpSettings]
    spaces: dict[RepositoryText, SpaceSettings]
    _raw: RawSettings = PrivateAttr(default_factory=RawSettings)
    _any_space: SpaceSettings = PrivateAttr()
    _spaces: dict[str, SpaceSettings] = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _complete_spaces(cls, value: Any) -> Any:
        spaces = value.get("spaces") if isinstance(value, dict) else None
        if not isinstance(spaces, Mapping):
            return value
        refuse_what_is_of_all(spaces)
        whole = {
            name: completed(own, value) if isinstance(own, Mapping) else own for name, own in spaces.items()
        }
        return {**value, "spaces": whole}

    @field_validator("merge")
    @classmethod
    def _is_manual(cls, value: str) -> str:
        return check_merge(value)

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

    @model_validator(mode="after")
    def _agents_exist(self) -> "Settings":
        check_chosen(self.agent, self.spaces, self.agents)
        return self

    @model_validator(mode="after")
    def _models_exist(self) -> "Settings":
        asked = {"checks.review_model": self.checks.review_model}
        asked |= {f"agents.{name}.model": own.model for name, own in self.agents.items() if own.model}
        for name, own in self.spaces.items():
            asked |= {f"spaces.{name}.model": own.model}
            asked |= {f"spaces.{name}.checks.review_model": own.checks.review_model}
        for key, model in asked.items():
            if model not in self.models:
                raise ValueError(f"{key}: models.yaml has no {model!r}; it has {', '.join(self.models)}")
        check_named(self.discipline_models, self.models)
        return self

    def model_post_init(self, _context: Any) -> None:
        self._spaces = {name.casefold(): own for name, own in self.spaces.items()}
        self._any_space = SpaceSettings.model_validate(completed({}, self.model_dump()))

    def space(self, name: str) -> SpaceSettings:
        """Everything a repository is worked on by; the forge does not mind upper and lower case, so neither does this."""
        return self._spaces.get(name.casefold(), self._any_space)

    def keys_of(self, name: str) -> frozenset[str]:
        """What a repository's own section says, as `approvers` or `budget.job_usd`."""
        spaces = self._raw.merged.get("spaces", {})
        return frozenset(
            key
            for space, own in spaces.items()
            if space.casefold() == name.casefold()
            for key in keys_of(own)
        )

    def approvers(self, name: str) -> tuple[str, ...]:
        """Who may decide for a repository in the chat; of no repository, those for all."""
        return self.space(name).approvers

    def extent(self, name: str) -> Extent:
        """How much of a repository is fetched."""
        return self.space(name).extent()

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


@cache
def _defaults() -> dict[str, Any]:
    return {**load_yaml(packaged("overlord.yaml")), **load_yaml(packaged("models.yaml"))}


def load(environment: Mapping[str, str], **overrides: Any) -> Settings:
    """Settings from defaults, file, environment and `overrides` (nested dicts, for `demo` and tests).

    Raises SettingsError with the key and the place it came from.
    """
    home = home_of(environment)
    path = file_of(environment)
    file = read_yaml(path, required=bool(environment.get("OVERLORD_CONFIG")))
    merged = merged_over(merged_over(_defaults(), file), from_environment(environment))
    if "token" in overrides.get("forge", {}):
        # An embedded forge's: it stands in place of whatever people sign in with.
        merged = merged_over(merged, {"forge": {"app_id": "", "private_key_file": ""}})
    merged = {**merged_over(merged, overrides), "home": home}
    return _made(
        RawSettings(merged=merged, file=file, path=path, environment=environment, overrides=overrides)
    )


def reloaded(settings: Settings) -> Settings:
    """The settings as they are by now, from the same file, environment and overrides. Raises SettingsError."""
    return load(settings._raw.environment, **settings._raw.overrides)


def added_repositories(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """The repositories that are managed by Overlord by command, and what was said of each."""
    return settings._raw.added


def source_of(settings: Settings, space: str, key: str) -> str:
    """Where it is said what a repository is worked on by, under one key of its section."""
    raw, folded = settings._raw, space.casefold()
    own = raw.file.get("spaces") or {}
    if any(key in keys_of(added) for name, added in raw.added.items() if name.casefold() == folded):
        return "command"
    if any(key in keys_of(added or {}) for name, added in own.items() if name.casefold() == folded):
        return f"spaces.{space} in the file"
    path = place_for_all(key)
    return "the file" if path and has_at(raw.file, path) else "default"


def file_read(settings: Settings) -> Path:
    """The file they were read from, which need not be there."""
    return settings._raw.path


def with_earlier(settings: Settings, began: Settings, paths: Iterable[tuple[str, ...]]) -> Settings:
    """Settings with what stands at these paths as it was in others. Raises SettingsError."""
    merged: dict[str, Any] = dict(settings._raw.merged)
    for path in paths:
        merged = put_at(merged, path, found_at(began._raw.merged, path))
    return _made(replace(settings._raw, merged=merged))


def file_of(environment: Mapping[str, str]) -> Path:
    """The user's own file, which need not be there."""
    explicit = environment.get("OVERLORD_CONFIG")
    return Path(explicit).expanduser() if explicit else home_of(environment) / "overlord.yaml"


def rebuilt(settings: Settings, **over: Any) -> Settings:
    """The same settings with these (nested dicts) over them. Raises SettingsError."""
    raw = settings._raw
    overrides = merged_over(raw.overrides, over)
    return _made(replace(raw, merged=merged_over(raw.merged, over), overrides=overrides))


def with_added(settings: Settings, added: Mapping[str, Mapping[str, Any]]) -> Settings:
    """The same settings with the repositories that people added by command, and what they said of each. Of one that is in
    Overlord's care by the settings themselves, these alone count.

    Raises SettingsError for what a section cannot have.
    """
    raw = settings._raw
    known = {name.casefold() for name in settings.repositories}
    added = {name: own for name, own in added.items() if name.casefold() not in known}
    if not added:
        return settings
    if odd := next((name for name in added if not is_full_name(name)), ""):
        raise SettingsError(f"{odd} can be no repository's name: `overlord space remove {odd}`")
    spelt = {name.casefold(): name for name in settings.spaces}
    over = {
        "repositories": [*settings.repositories, *added],
        "spaces": {spelt.get(name.casefold(), name): own for name, own in added.items()},
    }
    return _made(replace(raw, merged=merged_over(raw.merged, over), added=added))


def _made(raw: RawSettings) -> Settings:
    try:
        settings = Settings.model_validate(raw.merged)
    except ValidationError as error:
        raise SettingsError(_explain(error, raw)) from None
    settings._raw = raw
    if problem := settings.forge.problem() or settings.slack.problem() or settings.page.problem():
        raise SettingsError(problem)
    check_socket_path(settings.home)
    if settings.model.name:
        check_prices(settings)
    return settings


def check_prices(settings: Settings, contract: Contract | None = None) -> None:
    """Raises SettingsError for a cap in USD over a model without a price: it could not be kept."""
    capped = caps_in_dollars(
        {"": settings, **{f"spaces.{name}.": own for name, own in settings.spaces.items()}}
    )
    if contract is not None and contract.lifetime is not None and contract.lifetime.usd is not None:
        capped.append("lifetime.usd")
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
    name = settings.space(space).contract
    if name in BUILT_IN_CONTRACTS:
        return built_in_contract(name)
    try:
        return load_contract(Path(name).read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        why = f"{reason_of(error)}; built in are {', '.join(BUILT_IN_CONTRACTS)}"
        raise SettingsError(f"contract: {name} cannot be read: {why}") from None


@cache
def built_in_contract(name: str) -> Contract:
    """A contract of the package, by its name."""
    return load_contract(packaged(f"contracts/{name}.yaml"), f"the built-in contract {name}")


def _explain(error: ValidationError, raw: RawSettings) -> str:
    environment = raw.environment
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
    text = first_problem(error).removeprefix("the document: ")
    text += near_setting(Settings, location) if text.startswith("unknown key") else ""
    is_added = location[:1] == ["spaces"] and location[1:2] and location[1] in raw.added
    return f"{variable or ('`overlord space`' if is_added else raw.path)}: {text}"
