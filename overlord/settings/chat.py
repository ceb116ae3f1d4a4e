"""The settings of the chat: where it is, how Overlord signs in, who may give commands, when the briefing comes."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from overlord.domain.cron import Cron, check_zone
from overlord.settings.model import Section

Approver = Annotated[str, Field(pattern=r"^([UWST][A-Z0-9]{2,30}|github:[A-Za-z0-9][A-Za-z0-9_-]{0,99})$")]
"""The id of a user (U…, W…), of a user group (S…), or of a whole workspace (T…); `github:LOGIN` of who signs in to the page."""
EVERYWHERE = "0.0.0.0"  # noqa: S104 - an address that is compared with
"""Every address, also those that others reach."""
NO_CHAT = {"bot_token": "", "app_token": "", "signing_secret": "", "page": ""}
"""The overrides of an Overlord that talks with nobody, whatever the environment says."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Slack(Section):
    """Slack; off while there is no bot token. With an app token by Socket Mode, else by signed requests to the listener."""

    api_url: str
    bot_token: SecretStr
    app_token: SecretStr
    signing_secret: SecretStr
    channel: Annotated[str, Field(pattern=r"^$|^[CGD][A-Z0-9]{2,30}$")]
    approvers: tuple[Approver, ...]
    four_eyes: bool
    plain_language: bool
    """Whether a model reads what is no command."""
    timeout_s: Annotated[float, Field(gt=0)]
    page: Annotated[str, Field(pattern=r"^$|^off$|^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$")]
    """Where `overlord serve` offers the stand-in as long as there is no token: `host:port` of this machine; empty or `off` for
    nowhere. `0.0.0.0:port` is for a container, which publishes that port on its machine's loopback; elsewhere it is not opened."""

    @field_validator("api_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise ValueError("must be an https address; http only to this machine itself")
        return value if value.endswith("/") else f"{value}/"

    @field_validator("page")
    @classmethod
    def _is_here(cls, value: str) -> str:
        if value in {"", "off"}:
            return ""
        host, _, port = value.rpartition(":")
        if host.strip("[]") not in {*LOOPBACK, EVERYWHERE} or int(port) > 65_535:
            raise ValueError("must be host:port of this machine itself, as 127.0.0.1:8713")
        return value

    @property
    def is_on(self) -> bool:
        return bool(self.bot_token.get_secret_value())

    @property
    def by_socket(self) -> bool:
        """Whether Overlord calls Slack to receive requests (Socket Mode), and Slack does not call us."""
        return bool(self.app_token.get_secret_value())

    def problem(self) -> str:
        """Why nobody can talk with this, in a sentence; empty when they can, or when nothing was given."""
        lines = [name for name in ("bot_token", "app_token", "signing_secret") if self._has(name)]
        if not lines:
            return ""
        if "bot_token" not in lines:
            return "slack: a bot token is missing; set SLACK_BOT_TOKEN (slack.bot_token)"
        if len(lines) == 1:
            return (
                "slack: set SLACK_APP_TOKEN (slack.app_token) for Socket Mode, or SLACK_SIGNING_SECRET"
                " (slack.signing_secret) and listen.address for signed requests"
            )
        if not self.channel:
            return "slack: say in which channel Overlord speaks: SLACK_CHANNEL_ID (slack.channel), as C0123456789"
        for name, start in (("bot_token", "xoxb-"), ("app_token", "xapp-")):
            if self._has(name) and not getattr(self, name).get_secret_value().startswith(start):
                return f"slack.{name}: this is another kind of token; it begins with {start}"
        return ""

    def _has(self, name: str) -> bool:
        secret: SecretStr = getattr(self, name)
        return bool(secret.get_secret_value())


class Briefing(Section):
    """The morning briefing; off without an hour."""

    hour: Annotated[int, Field(ge=0, le=23)] | None
    zone: str

    @field_validator("zone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        return check_zone(value)

    @property
    def cron(self) -> Cron | None:
        """When it comes; None for never."""
        return None if self.hour is None else Cron(expression=f"0 {self.hour} * * *", zone=self.zone)
