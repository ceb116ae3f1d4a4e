"""The settings of the operator's page."""

from typing import Annotated

from pydantic import Field, field_validator

from overlord.settings.model import Section


class Page(Section):
    """Where people watch and answer in a browser; off while `address` is empty."""

    address: Annotated[str, Field(pattern=r"^$|^off$|^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$")]
    """`host:port`, as 127.0.0.1:8711 or [::1]:8711; port 0 takes any free one; empty or `off` for none."""

    @field_validator("address")
    @classmethod
    def _has_a_port(cls, value: str) -> str:
        if value in {"", "off"}:
            return ""
        if int(value.rpartition(":")[2]) > 65_535:
            raise ValueError("a port is at most 65535")
        return value

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)
