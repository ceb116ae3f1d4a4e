"""A discipline: a page of ours that says how one kind of thinking is done, by laws, an output contract and rules.

The pages are in `config/prompts/disciplines/`. Whoever uses one takes the sections that are meant for them: a lead is told how a task is
specified, and not what a file of a specification has to hold.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

LAWS = "Laws"
OUTPUT_CONTRACT = "Output contract"
RULES = "Rules"
AS_A_TOOL = "As a tool"
"""How a worker that was called over MCP hands over what it made."""
A_TASK = "A task"
"""Of specification: what a lead is told."""
WORKED = (
    "red",
    "green",
    "refactor",
    "review",
    "debug",
    "specification",
    "retrospective",
    "trainer-reader",
    "trainer-writer",
)
"""Pages that a model works by; each says how its result is handed over."""
NAMES = (*WORKED, "brain", "tier", "session-log")
"""Those that there are, each a page of its name. The last three are for whoever calls the tools of those names."""
_NUMBERED = re.compile(r"^\d+\. +", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """A page that was read."""

    name: str
    title: str
    opening: str
    """What whoever follows it does, in a sentence or two."""
    sections: Mapping[str, str] = field(default_factory=dict)
    """By heading, in the page's order."""

    @property
    def laws(self) -> tuple[str, ...]:
        return _numbered(self.sections[LAWS])

    @property
    def rules(self) -> tuple[str, ...]:
        return _numbered(self.sections[RULES])

    def text(self, *headings: str) -> str:
        """The page with these sections alone, in the page's order; without any named, all of it."""
        wanted = headings or tuple(self.sections)
        parts = [f"## {heading}\n\n{text}" for heading, text in self.sections.items() if heading in wanted]
        return "\n\n".join([f"# {self.title}", self.opening, *parts])


def read_discipline(name: str, page: str) -> Discipline:
    """Read a page. Raises ValueError for one that lacks a part."""
    head, *parts = re.split(r"^## +", page.strip(), flags=re.MULTILINE)
    title, _, opening = head.partition("\n")
    sections = dict[str, str]()
    for part in parts:
        heading, _, text = part.partition("\n")
        sections[heading.strip()] = text.strip()
    found = Discipline(
        name=name, title=title.removeprefix("# ").strip(), opening=opening.strip(), sections=sections
    )
    missing = [heading for heading in (LAWS, OUTPUT_CONTRACT, RULES) if not sections.get(heading)]
    if missing or not found.opening or not title.startswith("# "):
        raise ValueError(f"the page of {name} lacks {', '.join(missing) or 'its title or its opening'}")
    if not (found.laws and found.rules):
        raise ValueError(f"the laws and the rules of {name} are numbered lists")
    return found


def _numbered(text: str) -> tuple[str, ...]:
    """The items of a numbered list, each in one line."""
    return tuple(" ".join(item.split()) for item in _NUMBERED.split(text)[1:])
