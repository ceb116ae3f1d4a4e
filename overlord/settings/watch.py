"""The settings of what lets people watch Overlord itself: its log, and the traces it sends."""

from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, field_validator

from overlord.settings.model import Section

LogFormat = Literal["auto", "plain", "json", "console"]


class Log(Section):
    """Lines on standard error."""

    format: LogFormat
    """`auto`: `plain` on a terminal, one sentence for each event; else `json`. `console`: every field of each, for people."""
    level: Literal["debug", "info", "warning", "error"]


class Tracing(Section):
    """Where spans are sent by OTLP over HTTP; off while `endpoint` is empty."""

    endpoint: str
    headers: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,100}$")], SecretStr]
    timeout_s: Annotated[float, Field(gt=0)]

    @field_validator("headers", mode="before")
    @classmethod
    def _as_the_variable_has_them(cls, value: Any) -> Any:
        """`name=value,other=value`, each percent-encoded, as OTEL_EXPORTER_OTLP_HEADERS is written."""
        if not isinstance(value, str):
            return value
        pairs = [part.partition("=") for part in value.split(",") if part.strip()]
        return {name.strip(): unquote(raw.strip()) for name, _, raw in pairs}

    @field_validator("endpoint")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.username):
            raise ValueError(
                "must be http://HOST:PORT or https://HOST of a collector; sign in by tracing.headers"
            )
        return value.rstrip("/")

    @property
    def is_on(self) -> bool:
        return bool(self.endpoint)
