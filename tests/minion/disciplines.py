"""Sessions of disciplines, as tests brief them."""

from typing import Any

from minion.discipline import DisciplineTask
from overlord.domain.disciplines.catalog import KINDS, DisciplineName

PAGE = """\
# A discipline

You work by laws.

## Laws
1. Read before you write.

## Output contract
- `message`: one line.

## Rules
1. Be brief.
"""


def discipline(name: str = "review", **more: Any) -> DisciplineTask:
    """The task of a discipline, with the tools its kind has."""
    kind = KINDS[DisciplineName(name)]
    given: dict[str, Any] = {
        "name": kind.name.value,
        "phase": kind.phase.value,
        "skill": kind.skill,
        "page": PAGE,
        "task": f"phase: {kind.phase}\nproject_root: /home/ada/calc",
        "tools": kind.tools,
    }
    return DisciplineTask(**(given | more))
