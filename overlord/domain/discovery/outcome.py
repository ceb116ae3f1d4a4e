"""What discovery has to leave behind: `vision.md` and `architecture.md`, with their headings and every decision that was made."""

import re
from collections.abc import Iterator, Mapping, Sequence

from overlord.domain.discovery.question import NOT_DECIDED, Discovery, Kind, Question
from overlord.domain.discovery.sections import Section, compared, sections

VISION = "vision.md"
ARCHITECTURE = "architecture.md"
VISION_HEADINGS = ("Problem", "Users", "Solution", "Scope", "Success")
ARCHITECTURE_HEADINGS = ("Overview", "Structure", "Decisions", "Tests")
DECISION_LINES = ("Decision", "Rationale", "Alternatives")
"""How the lines under a decision begin, each with a colon after it."""
MOST_CHARS = 200_000
"""Of a document, that are looked at."""
_DECISIONS = "decisions"
_LINE = re.compile(
    r"[ \t]{0,8}(?:[-*+][ \t]{1,4})?(?:\*\*|__)?(decision|rationale|alternatives)(?:\*\*|__)?[ \t]*[:：](?:\*\*|__)?(.*)",
    re.IGNORECASE,
)


def misses(discovery: Discovery, files: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each thing that is missing; none where the documents are whole. `files` are all that have one of the two names,
    by their paths; where a repository has several, the one that is nearest to whole is meant."""
    found: list[str] = []
    for name, wanted in ((VISION, VISION_HEADINGS), (ARCHITECTURE, ARCHITECTURE_HEADINGS)):
        there: list[list[str]] = [
            _missing(discovery, path, text)
            for path, text in sorted(files.items())
            if path.rpartition("/")[2].casefold() == name and text.strip()
        ]
        if not there:
            found.append(f"There is no {name}: write it, with the headings {', '.join(wanted)}.")
        else:
            found += _shortest(there)
    return tuple(found)


def _shortest(found: list[list[str]]) -> list[str]:
    return min(found, key=len)


def _missing(discovery: Discovery, path: str, text: str) -> list[str]:
    parts = sections(text[:MOST_CHARS])
    if path.rpartition("/")[2].casefold() == VISION:
        return list(_without_headings(path, parts, VISION_HEADINGS))
    headings = _without_headings(path, parts, ARCHITECTURE_HEADINGS)
    return [*headings, *_without_decisions(discovery, path, parts)]


def decisions(discovery: Discovery) -> tuple[Question, ...]:
    """The questions that architecture.md has to have as decisions."""
    return tuple(
        item
        for item in discovery.questions
        if item.kind is Kind.DECISION and item.answer and item.answer != NOT_DECIDED
    )


def _without_headings(name: str, parts: Sequence[Section], wanted: Sequence[str]) -> Iterator[str]:
    known = {compared(part.title) for part in parts if part.level}
    for heading in wanted:
        if compared(heading) not in known:
            yield f"{name} has no heading {heading}: add it, as `## {heading}`."


def _without_decisions(discovery: Discovery, path: str, parts: Sequence[Section]) -> Iterator[str]:
    written = _entries(parts)
    for item in decisions(discovery):
        entry = next((part for part in written if f"`{item.id}`" in part.title), None)
        if entry is None:
            yield (
                f"{path} does not name the decision `{item.id}` ({item.section}): add"
                f" `### {item.section} (`{item.id}`)` under Decisions, with the lines"
                f" {', '.join(f'{line}:' for line in DECISION_LINES)} below it."
            )
            continue
        missing = [line for line in DECISION_LINES if line.casefold() not in _said(entry)]
        if missing:
            yield f"{path}: the decision `{item.id}` has no line `{missing[0]}: …`" + (
                f", and no {' and no '.join(f'`{line}: …`' for line in missing[1:])}." if missing[1:] else "."
            )


def _entries(parts: Sequence[Section]) -> list[Section]:
    """The sections below Decisions. What has deeper headings of its own is one with them."""
    found: list[Section] = []
    level = 0
    for part in parts:
        if level and part.level > level:
            if found and part.level > found[-1].level and "`" not in part.title:
                found[-1].lines.extend(part.lines)
            else:
                found.append(Section(part.title, part.level, list(part.lines)))
        elif part.level:
            level = part.level if compared(part.title) == _DECISIONS else 0
    return found


def _said(entry: Section) -> set[str]:
    """Which of the lines a decision has, with words behind the colon or on the lines that follow."""
    said: set[str] = set()
    last = ""
    for line in entry.lines:
        mark = _LINE.fullmatch(line[:2_000])
        if mark:
            last = mark[1].casefold()
        words = mark[2] if mark else line
        if last and words.strip(" \t*_.…-"):
            said.add(last)
    return said
