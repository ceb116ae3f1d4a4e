"""The settings of sessions on other machines than Overlord's own."""

from ipaddress import ip_network
from typing import Annotated

from pydantic import Field, field_validator

from overlord.settings.model import Positive, Section


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
                ip_network(text)
            except ValueError as error:
                raise ValueError(f"write networks as 10.1.0.0/16: {error}") from error
        return value
