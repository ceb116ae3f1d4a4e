"""Writes the state diagram of ARCHITECTURE.md from TRANSITIONS: `python -m tests.architecture.diagram`."""

import re
from pathlib import Path

from overlord.domain.job import state_diagram

PAGE = Path(__file__).parents[2] / "ARCHITECTURE.md"
_PLACE = re.compile(r"(<!-- state diagram: [^\n]*-->\n).*?(<!-- end of state diagram -->)", re.DOTALL)


def drawn(page: str) -> str:
    """The page with the diagram as it should be."""
    return _PLACE.sub(lambda match: f"{match[1]}```mermaid\n{state_diagram()}\n```\n{match[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
