"""The sections of a document: its headings with what stands under each, in Markdown or reStructuredText.

Lines are read one by one, so that no text makes it slow. Headings in fenced code and in comments are none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from overlord.domain.text.plain import visible

MOST_LINE = 2_000
"""Characters of a line that are looked at to see whether it is a heading."""
_MARKS = " \t#*_`~:.!?"
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?")
_UNDERLINE = re.compile(r"([=\-~^\"'+#*])\1{2,}[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_NUMBER = re.compile(r"(?:\d{1,3}[.)])+(?:\d{1,3})?[ \t]+")
_NO_TEXT = re.compile(r"(?: {4}|\t| {0,3}(?:>|[-*+][ \t]|\||\.\.[ \t]))")
"""A line that no heading's text is on: indented code, a quote, a list, a table, a directive."""


@dataclass(slots=True)
class Section:
    """A heading, and the lines up to the next one."""

    title: str
    level: int
    """1 for the highest; 0 for what stands before the first heading."""
    lines: list[str] = field(default_factory=list)

    @property
    def body(self) -> str:
        return "\n".join(self.lines).strip()


def sections(text: str) -> tuple[Section, ...]:
    """Every section in order, the first of them what stands before any heading."""
    found = [Section("", 0)]
    levels: list[str] = []
    for line, is_plain in _lines(text):
        atx = _ATX.fullmatch(line[:MOST_LINE]) if is_plain else None
        if atx:
            found.append(Section((atx[2] or "").strip().rstrip("#").strip(), len(atx[1])))
            continue
        mark = _UNDERLINE.fullmatch(line[:MOST_LINE]) if is_plain else None
        if mark and _is_title(found[-1].lines):
            title = found[-1].lines.pop().strip()
            if found[-1].lines and _UNDERLINE.fullmatch(found[-1].lines[-1][:MOST_LINE]):
                found[-1].lines.pop()  # reStructuredText may draw a line above a title too
            found.append(Section(title, _level(mark[1], levels)))
            continue
        found[-1].lines.append(line)
    return tuple(found)


def compared(title: str) -> str:
    """What headings are compared by: no case, no number or marks round them, single spaces."""
    words = " ".join(visible(title[:MOST_LINE]).strip(_MARKS).casefold().split())
    return _NUMBER.sub("", words, count=1).strip(_MARKS)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether a heading may be on it."""
    fence, is_hidden, above = "", False, ""
    for line in text.splitlines():
        mark = _FENCE.fullmatch(line[:MOST_LINE])
        if mark and not fence and _underlines(mark, above):
            mark = None
        above = line
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            yield line, False
        elif is_hidden or line.lstrip().startswith("<!--"):
            is_hidden = "-->" not in line
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
            yield line, False
        else:
            yield line, True


def _underlines(fence: re.Match[str], above: str) -> bool:
    """Whether what could open fenced code is reStructuredText's line under a title: as long as the title is."""
    words = above.strip()
    return fence[1][0] == "~" and not fence[2].strip() and 0 < len(words) <= len(fence[1])


def _is_title(lines: list[str]) -> bool:
    """Whether the last line can be the text of an underlined heading: it begins a paragraph, and ends it."""
    if not lines or not lines[-1].strip() or len(lines[-1]) > 200 or _NO_TEXT.match(lines[-1]):
        return False
    if _UNDERLINE.fullmatch(lines[-1]):
        return False
    before = lines[-2].strip() if len(lines) > 1 else ""
    return not before or _UNDERLINE.fullmatch(before) is not None


def _level(mark: str, levels: list[str]) -> int:
    """Markdown's two marks have their levels; of others the first that is met is the highest."""
    if mark in "=-" and not levels:
        return "=-".index(mark) + 1
    if mark not in levels:
        levels.append(mark)
    return min(levels.index(mark) + 1, 6)
