"""What an architect is given to go by: the rules in plain words, and contracts that fit the kind of project."""

from collections.abc import Mapping

from overlord.config_files import packaged
from overlord.domain.discovery.question import ProjectKind, RepositoryState

FOLDER = "bootstrap"
EMPTY = "empty.yaml"
"""The example for what has no code yet: a scaffold comes first."""


def rules_text() -> str:
    """The rules, and how to choose roles, phases and gates, as Markdown."""
    return packaged(f"{FOLDER}/rules.md")


def examples_for(kind: ProjectKind, state: RepositoryState) -> Mapping[str, str]:
    """Contracts by the names of their files, the one that fits best first: where there is no code yet, how one begins comes before
    what the project grows into."""
    own = f"{kind.value}.yaml"
    names = (own,) if state is RepositoryState.HAS_CODE else (EMPTY, own)
    return {name: packaged(f"{FOLDER}/examples/{name}") for name in names}
