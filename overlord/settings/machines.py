"""The settings of sessions on other machines than the daemon's own."""

import re
from typing import Annotated

from pydantic import Field, field_validator

from overlord.settings.model import Positive, Section

_CONSTRAINT = re.compile(r"(node|engine)\.[\w.-]+\s*(==|!=)\s*\S+")


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
