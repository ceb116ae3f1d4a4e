"""The settings of disciplines that other agents call over MCP."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from overlord.domain.disciplines.catalog import KINDS, SKILLS, DisciplineKind, DisciplineName
from overlord.settings.model import Section

DEFAULT = "default"
"""What `discipline_models` may name a model for, beside disciplines: all those that it does not name."""


class Disciplines(Section):
    """How a discipline's session works, and how long a call is waited for."""

    turns: Annotated[int, Field(ge=1, le=500)]
    """Replies of the model in one session."""
    time_s: Annotated[int, Field(ge=30, le=7200)]
    """One session."""
    wait_s: Annotated[float, Field(gt=0, le=280)]
    """After so long, a call answers with its handle, and is waited for by another tool: clients give a call a minute."""
    http: bool
    """Whether the listener serves MCP at /mcp, for those who come with a token."""


def check_named(models: Mapping[str, str], known: Mapping[str, object]) -> None:
    """Raises ValueError for a discipline that there is none of, and for a model that models.yaml does not have."""
    for name, model in models.items():
        if name not in {*DisciplineName, *SKILLS, DEFAULT}:
            every = ", ".join(dict.fromkeys((DEFAULT, *SKILLS, *DisciplineName)))
            raise ValueError(f"discipline_models: there is no discipline {name!r}; it may name {every}")
        if model not in known:
            raise ValueError(
                f"discipline_models.{name}: models.yaml has no {model!r}; it has {', '.join(known)}"
            )


def model_for(models: Mapping[str, str], discipline: DisciplineName) -> str:
    """The name of models.yaml that is set for a discipline: its own, its skill's, that of all; empty for the repository's."""
    kind: DisciplineKind = KINDS[discipline]
    return next((models[name] for name in (discipline, kind.skill, DEFAULT) if name in models), "")
