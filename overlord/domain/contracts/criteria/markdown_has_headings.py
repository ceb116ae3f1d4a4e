"""`markdown_has_headings`: a Markdown file has the headings that its reader will look for."""

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from overlord.domain.contracts.criteria.criterion import MOST_BYTES, Criterion, CriterionResult, Seen, named
from overlord.domain.contracts.criteria.path import RepositoryPath
from overlord.domain.contracts.part import Part, as_tuple
from overlord.domain.text.markdown_sections import MOST_LINE, compared, headings


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
