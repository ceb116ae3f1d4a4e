"""The settings of sessions on other machines than Overlord's own."""

import re
from ipaddress import ip_network
from typing import Annotated

from pydantic import Field, field_validator

from overlord.settings.model import Positive, Section

_CONSTRAINT = re.compile(r"(node|engine)\.[\w.-]+\s*(==|!=)\s*\S+")


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
    copies_claim: str
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
                ip_network(text)
            except ValueError as error:
                raise ValueError(f"write networks as 10.1.0.0/16: {error}") from error
        return value


class Swarm(Section):
    address: str
    """A manager's, as `DOCKER_HOST` would have it; empty for the usual engine."""
    constraints: tuple[str, ...]
    registry: str
    engines: tuple[str, ...]
    start_s: Positive
    idle_s: Annotated[float, Field(ge=0)]

    @field_validator("constraints")
    @classmethod
    def _are_constraints(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if not _CONSTRAINT.fullmatch(text):
                raise ValueError(f"{text!r} is no constraint of nodes, as node.labels.sessions==yes is one")
        return value

    @field_validator("engines")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if "://" not in text:
                raise ValueError(f"{text!r} is no engine's address, as tcp://10.0.0.5:2376 is one")
        return value

    @field_validator("registry")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if "://" in value:
            raise ValueError("a registry is host:port or host/path, without https://")
        return value
