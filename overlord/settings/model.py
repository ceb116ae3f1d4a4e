"""The settings of external services and budgets: endpoints, sign-ins, the names a session may ask for, prices, caps."""

import base64
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from overlord.domain.budgets.budget import NANO, Budget, Per, Unit
from overlord.domain.budgets.price import Price
from overlord.domain.disk import Least
from overlord.domain.wires.wire import Wire

Positive = Annotated[int, Field(gt=0)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Dollars = Annotated[float, Field(gt=0)]
Wires = Annotated[
    tuple[Wire, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    Field(min_length=1),
]
"""One wire, or a list of them."""


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


class Listen(Section):
    """The operator's listener; off while `address` is empty."""

    address: Annotated[str, Field(pattern=r"^$|^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$")]
    """`host:port`, as 127.0.0.1:8712 or [::1]:8712; port 0 takes any free one."""
    webhook_secret: SecretStr
    metrics_token: SecretStr = SecretStr("")
    """What who asks for /metrics must show; without it whoever reaches the listener itself may ask."""

    @field_validator("address")
    @classmethod
    def _has_a_port(cls, value: str) -> str:
        if value and int(value.rpartition(":")[2]) > 65_535:
            raise ValueError("a port is at most 65535")
        return value

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)


class ForgeEndpoint(Section):
    """GitHub, and one of two ways to sign in there: a token, or an App's id and private key."""

    api_url: str
    token: SecretStr
    app_id: Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
    private_key_file: str
    private_key: SecretStr = Field(default=SecretStr(""), validate_default=True)
    """What the file holds; never given by itself."""
    timeout_s: Annotated[float, Field(gt=0)]

    @field_validator("private_key_file")
    @classmethod
    def _holds_a_key(cls, value: str) -> str:
        if value:
            read_key(value)
        return value

    @field_validator("private_key", mode="before")
    @classmethod
    def _of_the_file(cls, value: Any, info: ValidationInfo) -> Any:
        if value != SecretStr(""):
            raise ValueError("a key is not written into settings: name its file in private_key_file")
        file = info.data.get("private_key_file")
        return read_key(file) if file else value

    def signs_in(self) -> bool:
        return bool(self.app_id or self.token.get_secret_value())

    def problem(self) -> str:
        """Why nobody can sign in with this, in a sentence; empty when they can, or when nothing was given."""
        app, token = (self.app_id, self.private_key_file), self.token.get_secret_value()
        names = "GITHUB_APP_ID (forge.app_id) and GITHUB_APP_PRIVATE_KEY_FILE (forge.private_key_file)"
        if any(app) and token:
            return (
                f"forge: both a token and a GitHub App are given; keep GITHUB_TOKEN (forge.token), or {names}"
            )
        if any(app) and not all(app):
            return (
                f"forge: a GitHub App needs both {names}; {'the key' if self.app_id else 'the id'} is missing"
            )
        return ""


def read_key(file: str) -> str:
    """The RSA private key in a PEM file. Raises ValueError without a word of what the file holds."""
    path = Path(file).expanduser()
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        text = ""
    found = PEM.fullmatch(text)
    if found is None:
        raise ValueError(f"{path} holds no private key in PEM form; download one from the App's page")
    body = "".join(found["body"].split())
    if found["kind"] == "ENCRYPTED " or "ENCRYPTED" in body:
        raise ValueError(f"{path} is protected by a passphrase; take it off with `openssl rsa`")
    try:
        der = base64.b64decode(body, validate=True)
    except ValueError:
        raise ValueError(f"{path} holds a private key that is cut short or damaged") from None
    if found["kind"] not in {"", "RSA "} or (not found["kind"] and RSA not in der[:40]):
        raise ValueError(f"{path} holds a private key that is no RSA key; GitHub's Apps have RSA keys")
    return text


PEM = re.compile(
    r"-----BEGIN (?P<kind>[A-Z ]*)PRIVATE KEY-----\s(?P<body>.+)\s-----END (?P=kind)PRIVATE KEY-----",
    re.DOTALL,
)
RSA = bytes.fromhex("06092a864886f70d010101")
"""How a key's own envelope says that it is one of RSA: the object identifier 1.2.840.113549.1.1.1."""


class ModelEndpoint(Section):
    base_url: str
    name: str
    api_key: SecretStr
    timeout_s: Annotated[float, Field(gt=0)]
    limit_parameter: Literal["max_completion_tokens", "max_tokens"]
    wire: Wires = (Wire.CHAT,)
    """What it speaks. A request in one of these is passed on as it is; any other one is translated to `chat`."""


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
    give_up_s: Annotated[float, Field(gt=0, le=570)]
    """Less than the ten minutes after which a session gives up by itself."""


class PriceRow(Section):
    """USD per million tokens."""

    input: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None
    cache_write: Annotated[float, Field(ge=0)] | None = None
    output: Annotated[float, Field(ge=0)]

    def price(self) -> Price:
        cached = self.input if self.cached is None else self.cached
        return Price.per_million(
            input_usd=self.input,
            cached_usd=cached,
            output_usd=self.output,
            cache_write_usd=self.cache_write,
        )


class Fetch(Section):
    """How much of a repository is fetched, where a space says nothing else."""

    history_depth: Annotated[int, Field(ge=0)]
    submodules: bool
    lfs: bool


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
        values = {name: value.get_secret_value() for name, value in self.variables.items()}
        # uv installs, and reads none of pip's own variables.
        for theirs, pips in (("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), ("UV_INDEX", "PIP_EXTRA_INDEX_URL")):
            if pips in values:
                values.setdefault(theirs, values[pips])
        return values


class Keep(Section):
    """How long things are kept that nobody works with any more."""

    evidence_days: Positive
    evidence_gb: Annotated[float, Field(gt=0)]
    transcripts_days: Positive
    rows_days: Positive
    mirrors_days: Positive
    downloads_days: Positive


class Disk(Section):
    """What there is to be free for new work to begin."""

    least_free_gb: Annotated[float, Field(ge=0)]
    least_free_files: Annotated[int, Field(ge=0)]

    @property
    def least(self) -> Least:
        return Least(gb=self.least_free_gb, files=self.least_free_files)


def secrets_in(section: object) -> Iterator[str]:
    """Every secret value in a part of the settings."""
    if section is None or isinstance(section, (str, int, float)):
        return  # most of what there is; what comes below asks more of a type than its name
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
