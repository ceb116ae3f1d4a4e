"""The settings of models and budgets: endpoints, the names a session may ask for, prices, caps."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from overlord.domain.budget import NANO, Budget, Per, Unit
from overlord.domain.price import Price

Positive = Annotated[int, Field(gt=0)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Dollars = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """A part of the settings: frozen, and an unknown key is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class BudgetLimits(Section):
    session_tokens: Positive
    session_usd: Dollars | None
    job_tokens: Positive | None
    job_usd: Dollars | None
    space_day_tokens: Positive | None
    space_day_usd: Dollars | None
    day_tokens: Positive | None
    day_usd: Dollars | None
    completion_tokens: Positive

    def shared(self) -> tuple[Budget, ...]:
        """The caps over more than one session; a session carries its own."""
        found = []
        for per in (Per.JOB, Per.SPACE_DAY, Per.DAY):
            if tokens := getattr(self, f"{per}_tokens"):
                found.append(Budget(per=per, unit=Unit.TOKENS, limit=tokens))
            if usd := getattr(self, f"{per}_usd"):
                found.append(Budget(per=per, unit=Unit.USD, limit=round(usd * NANO)))
        return tuple(found)


class ModelEndpoint(Section):
    base_url: str
    name: str
    api_key: SecretStr
    timeout_s: Annotated[float, Field(gt=0)]
    limit_parameter: Literal["max_completion_tokens", "max_tokens"]


class SpareEndpoint(ModelEndpoint):
    """A further endpoint, named under `endpoints`; what it does not say is as for most."""

    name: str = ""
    api_key: SecretStr = SecretStr("")
    api_key_file: str = ""
    timeout_s: Annotated[float, Field(gt=0)] = 300.0
    limit_parameter: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"

    @model_validator(mode="before")
    @classmethod
    def _read_key(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not value.get("api_key_file"):
            return value
        if value.get("api_key"):
            raise ValueError("both api_key and api_key_file are set; keep one")
        file = Path(value["api_key_file"]).expanduser()
        try:
            return {**value, "api_key": file.read_text(encoding="utf-8").strip()}
        except OSError as error:
            raise ValueError(f"{file} cannot be read: {error.strerror}") from None


PRIMARY = "primary"
"""The endpoint of the `model` section."""


class Candidate(Section):
    """One model a request may go to: an endpoint's name, and a model's there if not the endpoint's own."""

    endpoint: str = PRIMARY
    model: str = ""


class Retries(Section):
    attempts: Positive
    first_wait_s: Annotated[float, Field(ge=0)]
    longest_wait_s: Annotated[float, Field(ge=0)]


class PriceRow(Section):
    """USD per million tokens."""

    input: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None
    output: Annotated[float, Field(ge=0)]

    def price(self) -> Price:
        cached = self.input if self.cached is None else self.cached
        return Price.per_million(input_usd=self.input, cached_usd=cached, output_usd=self.output)


class Environments(Section):
    """What repositories' environments are made with, and how long they are kept."""

    network: Annotated[str, Field(min_length=1)]
    time_s: Positive
    memory_mb: Annotated[int, Field(ge=64)]
    keep_days: Positive
    keep_gb: Positive
    variables: dict[VariableName, SecretStr]

    def signed_in(self) -> dict[str, str]:
        """Variables that hold a sign-in, as an index's address may: to be treated as secrets."""
        return {name: value for name, value in self._values().items() if "@" in value}

    def plain(self) -> dict[str, str]:
        return {name: value for name, value in self._values().items() if "@" not in value}

    def _values(self) -> dict[str, str]:
        given = {name: value.get_secret_value() for name, value in self.variables.items()}
        # uv installs, and reads none of pip's own variables.
        for theirs, pips in (("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), ("UV_INDEX", "PIP_EXTRA_INDEX_URL")):
            if pips in given:
                given.setdefault(theirs, given[pips])
        return given


def secrets_in(section: object) -> Iterator[str]:
    """Every secret value in a part of the settings."""
    if isinstance(section, Environments):
        yield from section.signed_in().values()
    elif isinstance(section, SecretStr):
        if value := section.get_secret_value():
            yield value
    elif isinstance(section, BaseModel):
        for name in type(section).model_fields:
            yield from secrets_in(getattr(section, name))
    elif isinstance(section, Mapping):
        for value in section.values():
            yield from secrets_in(value)
