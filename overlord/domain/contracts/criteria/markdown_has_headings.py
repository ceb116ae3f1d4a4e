"""`markdown_has_headings`: a Markdown file has the headings that its reader will look for.

Lines are read one by one instead of by a Markdown parser: one that builds a tree takes more than a second for a file of this
size that is made to be slow, and nothing else is judged meanwhile.
"""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from overlord.domain.contracts.criteria.criterion import MOST_BYTES, Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.path import RepositoryPath
from overlord.domain.contracts.part import Part, as_tuple
from overlord.domain.text.plain import visible

MOST_LINE = 2_000
"""Characters of a line that are looked at; nobody's heading is longer."""
_MARKS = " \t#*_`~:."
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t](.*))?")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_NO_TEXT = re.compile(r"(?: {4}|\t| {0,3}(?:>|[-*+][ \t]|#{1,6}[ \t]))")
"""A line that no heading's text is on: indented code, a quote, a list."""


def _heading(value: str) -> str:
    if not compared(value):
        raise ValueError("a heading has words")
    return value


Heading = Annotated[str, Field(min_length=1, max_length=200)]


class Headings(Part):
    """A file, and the headings it has to have, in any order and of any level."""

    path: RepositoryPath
    """The file."""
    headings: Annotated[
        tuple[Annotated[Heading, BeforeValidator(_heading)], ...],
        Field(min_length=1, max_length=50),
        BeforeValidator(as_tuple),
    ]
    """Their words; case and marks do not matter."""


class MarkdownHasHeadings(Criterion):
    """That a file has certain headings."""

    kind: ClassVar[str] = "markdown_has_headings"

    markdown_has_headings: Headings

    def describe(self) -> str:
        wanted = self.markdown_has_headings
        return named(self.kind, f"{wanted.path}: {', '.join(wanted.headings)}")

    def files(self) -> tuple[str, ...]:
        return (self.markdown_has_headings.path,)

    def judge(self, seen: Seen) -> CriterionResult:
        path = self.markdown_has_headings.path
        content = seen.texts.get(path)
        if content is None:
            return self.result(False, f"There is no file {path}: write it.", file=path)
        found = list(headings(content[:MOST_BYTES].decode(errors="replace")))
        known = {compared(heading) for heading in found}
        missing = [name for name in self.markdown_has_headings.headings if compared(name) not in known]
        evidence = "\n".join(found)[:MOST_LINE]
        if not missing:
            return self.result(True, f"{path} has every heading.", file=path, evidence=evidence)
        message = f"{path} has no heading {', '.join(missing)}: add it, as `## {missing[0]}`."
        if len(content) >= MOST_BYTES:
            message += f" The first {MOST_BYTES:,} bytes of the file were read."
        return self.result(False, message, file=path, evidence=evidence)


def headings(text: str) -> Iterator[str]:
    """The text of each heading (`## Title`, or underlined), in order: none of those in code, quotes or hidden comments."""
    fence, is_hidden, above = "", False, ""
    for line in (line[:MOST_LINE] for line in text.splitlines()):
        mark = _FENCE.fullmatch(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            above = ""
        elif is_hidden or line.lstrip().startswith("<!--"):
            is_hidden, above = "-->" not in line, ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence, above = mark[1], ""
        elif found := _ATX.fullmatch(line):
            yield (found[1] or "").strip().rstrip("#").rstrip()
            above = ""
        elif above and _UNDERLINE.fullmatch(line):
            yield above.strip()
            above = ""
        else:
            above = "" if _NO_TEXT.match(line) else line.strip()


def compared(heading: str) -> str:
    """What headings are compared by: no case, no marks round them, single spaces."""
    return " ".join(visible(heading).strip(_MARKS).casefold().split())
