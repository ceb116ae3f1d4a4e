"""Settings of sessions on other machines: the listener they come to, and the cluster they run in."""

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from overlord.settings.model import Positive, Section

PLACE = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}"


class SessionListenerSettings(Section):
    """The TLS listener for sessions on other machines; off while `address` is empty."""

    address: Annotated[str, Field(pattern=rf"^$|^{PLACE}$")]
    """`host:port` as sessions reach it; port 0 takes any free one. The host is what its certificate is for."""
    listen: Annotated[str, Field(pattern=rf"^$|^{PLACE}$")]
    """`host:port` it is bound to; empty for every address of this machine, with the port of `address`."""
    certificate: str
    """A file in PEM with the operator's certificate and those that signed it; empty for one that Overlord makes."""
    key: str
    """The file with its private key."""
    authority: str
    """A file with what sessions trust; empty for the certificates that signed the operator's, or its own where it stands alone."""

    @field_validator("address", "listen")
    @classmethod
    def _has_a_port(cls, value: str) -> str:
        if value and not int(value.rpartition(":")[2]) <= 65_535:
            raise ValueError("a port is at most 65535")
        return value

    @field_validator("address")
    @classmethod
    def _can_be_reached(cls, value: str) -> str:
        host, _ = split(value)
        if host in {"0.0.0.0", "::"}:  # noqa: S104 - refused here
            raise ValueError(
                f"{host} is no address that sessions reach: name this machine's own; `listen` may be that"
            )
        return value

    @field_validator("certificate", "key", "authority")
    @classmethod
    def _is_a_file(cls, value: str) -> str:
        if value and not Path(value).expanduser().is_file():
            raise ValueError(f"there is no file {value}")
        return value

    @model_validator(mode="after")
    def _has_both(self) -> "SessionListenerSettings":
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key go together: give both or neither")
        if self.authority and not self.certificate:
            raise ValueError("authority is that of `certificate`, which is empty")
        return self

    @property
    def is_on(self) -> bool:
        return bool(self.address)

    @property
    def host(self) -> str:
        """What its certificate is for."""
        return split(self.address)[0]

    @property
    def bound(self) -> tuple[str | None, int]:
        """The host and port it is bound to; None for every address."""
        host, port = split(self.listen or self.address)
        return (host if self.listen else None), port

    def url(self, port: int) -> str:
        """Where sessions find it; `port` is what it listens on, for who asked for any."""
        host, _, asked = self.address.rpartition(":")
        return f"https://{host}:{int(asked) or port}"


class Kubernetes(Section):
    """The cluster that sessions run in as Jobs."""

    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
    kubeconfig: str
    """A file that says how the cluster is reached; empty for the service account of the Pod Overlord runs in."""
    context: str
    image: str
    pull_secret: str
    runtime_class: str
    user_namespace: bool
    node_selector: dict[str, str]
    environments_claim: str
    daemon_namespace: str
    setup_reaches: tuple[str, ...]
    start_s: Positive
    node_lost_s: Positive
    timeout_s: Positive

    @field_validator("setup_reaches")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            try:
                ipaddress.ip_network(text)
            except ValueError as error:
                raise ValueError(f"write networks as 10.1.0.0/16: {error}") from error
        return value


def split(place: str) -> tuple[str, int]:
    """Host and port of `host:port`; a host that is an IPv6 address stands in brackets there."""
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port or 0)


def is_address(host: str) -> bool:
    """Whether this is an IP address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
