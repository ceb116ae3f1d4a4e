"""The sections of a Markdown text: each heading with the lines under it.

Lines are read one by one instead of by a Markdown parser: one that builds a tree takes more than a second for a file of some hundred
kilobytes that is made to be slow, and nothing else is judged meanwhile.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from overlord.domain.text.plain import visible

MOST_LINE = 2_000
"""Characters of a line that are looked at; nobody's heading is longer."""
_MARKS = " \t#*_`~:."
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t](.*))?")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_NO_TEXT = re.compile(r"(?: {4}|\t| {0,3}(?:>|[-*+][ \t]|#{1,6}[ \t]))")
"""A line that no heading's text is on: indented code, a quote, a list."""


@dataclass(slots=True, kw_only=True)
class Section:
    """A heading, and what stands until the next one, of whatever level."""

    number: int
    """Its place in the text, from 1; 0 is what stands before the first heading."""
    heading: str = ""
    lines: list[str] = field(default_factory=list)
    """Without those in hidden comments; those of code are among them."""


def sections(text: str) -> Iterator[Section]:
    """Every section, in order. No heading is in code, quotes or hidden comments."""
    fence, is_hidden, above = "", False, ""
    now = Section(number=0)
    for line in (line[:MOST_LINE] for line in text.splitlines()):
        mark = _FENCE.fullmatch(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            above = ""
        elif is_hidden or line.lstrip().startswith("<!--"):
            is_hidden, above = "-->" not in line, ""
            continue
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence, above = mark[1], ""
        elif found := _ATX.fullmatch(line):
            yield now
            now, above = (
                Section(number=now.number + 1, heading=(found[1] or "").strip().rstrip("#").rstrip()),
                "",
            )
            continue
        elif above and _UNDERLINE.fullmatch(line):
            now.lines.pop()
            yield now
            now, above = Section(number=now.number + 1, heading=above.strip()), ""
            continue
        else:
            above = "" if _NO_TEXT.match(line) else line.strip()
        now.lines.append(line)
    yield now


def headings(text: str) -> Iterator[str]:
    """The text of each heading (`## Title`, or underlined), in order."""
    return (section.heading for section in sections(text) if section.number)


def compared(heading: str) -> str:
    """What headings are compared by: no case, no marks round them, single spaces."""
    return " ".join(visible(heading).strip(_MARKS).casefold().split())
