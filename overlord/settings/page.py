"""The settings of the operator's page."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from overlord.settings.chat import LOOPBACK
from overlord.settings.model import Section

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?")


class Page(Section):
    """Where people watch and answer in a browser; off while `address` is empty."""

    address: Annotated[str, Field(pattern=r"^$|^off$|^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$")]
    """`host:port`, as 127.0.0.1:8711 or [::1]:8711; port 0 takes any free one; empty or `off` for none."""
    url: str
    """What people type to reach it, where that is another address: a proxy's, as https://overlord.example.org; without a path."""
    github_client_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,100}$")]
    """Of the GitHub App, or of an OAuth app, with which people sign in; empty for none."""
    github_client_secret: SecretStr

    @field_validator("address")
    @classmethod
    def _has_a_port(cls, value: str) -> str:
        if value in {"", "off"}:
            return ""
        if int(value.rpartition(":")[2]) > 65_535:
            raise ValueError("a port is at most 65535")
        return value

    @field_validator("url")
    @classmethod
    def _is_an_origin(cls, value: str) -> str:
        """As browsers write an origin: in lower case, without the port that goes without saying."""
        if not value:
            return ""
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not _HOST.fullmatch(parts.netloc):
            raise ValueError("must be an address, as https://overlord.example.org")
        if parts.path not in {"", "/"} or parts.query or parts.fragment:
            raise ValueError("must be an address without a path: the page has its whole name for itself")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ValueError("must be an https address; http only to this machine itself")
        name = parts.hostname or ""
        host = f"[{name}]" if ":" in name else name
        usual = {"http": 80, "https": 443}[parts.scheme]
        port = "" if parts.port in {None, usual} else f":{parts.port}"
        return f"{parts.scheme}://{host}{port}"

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def offers_github(self) -> bool:
        """Whether people can sign in with their account at GitHub."""
        return bool(self.github_client_id and self.github_client_secret.get_secret_value() and self.url)

    def problem(self) -> str:
        """Why nobody can sign in with GitHub, in a sentence; empty when they can, or when nothing of it was given."""
        given = {
            "GITHUB_APP_CLIENT_ID (page.github_client_id)": bool(self.github_client_id),
            "GITHUB_APP_CLIENT_SECRET (page.github_client_secret)": bool(
                self.github_client_secret.get_secret_value()
            ),
        }
        if not any(given.values()):
            return ""
        given["OVERLORD_PAGE_URL (page.url)"] = bool(self.url)
        missing = [name for name, is_given in given.items() if not is_given]
        return f"page: to sign in with GitHub, set {' and '.join(missing)} as well" if missing else ""
