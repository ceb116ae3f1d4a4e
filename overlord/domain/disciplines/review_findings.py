"""The findings of a review as its worker writes them, one a line: `CRITICAL: what is wrong at src/calc.py:12`.

The form is read with patience: bullets, bold letters, backticks, and a place in front are taken too. A finding without a place is
one still, and is told.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

MOST_LINE = 4_000
MOST_FINDINGS = 500


class FindingSeverity(StrEnum):
    """How much a finding weighs."""

    CRITICAL = "critical"
    WARNING = "warning"
    SUGGESTION = "suggestion"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFinding:
    """One finding. Untrusted."""

    severity: FindingSeverity
    text: str
    path: str = ""
    """Empty where it names no place."""
    line: int = 0
    last_line: int = 0
    """As `line`, where it is about one line."""

    @property
    def place(self) -> str:
        """As it is written: `calc.py:3`, `calc.py:3-5`."""
        return f"{self.path}:{self.line}" + (f"-{self.last_line}" if self.last_line != self.line else "")


_FINDING = re.compile(
    r"[\s>*_`#\-+\d.)(\[]*\b(CRITICAL|WARNING|SUGGESTION)\b[\])*_`]*\s*:[*_`]*\s*(.*)", re.IGNORECASE
)
_PLACE = re.compile(
    r"(?<![\w/.:@-])(?P<path>[\w.@+][\w./@+ \-\[\]()]{0,400}?|[\w.@+])[:#]L?(?P<line>\d{1,9})(?:[-–]L?(?P<last>\d{1,9}))?(?![\w/])"
)
_BARE_PLACE = re.compile(
    r"(?<![\w/.:@-])(?P<path>[\w.@+][\w./@+\-\[\]]{0,400}?)[:#]L?(?P<line>\d{1,9})(?:[-–]L?(?P<last>\d{1,9}))?(?![\w/])"
)
"""A place whose path has no blank in it."""
_AT = re.compile(r"\bat\s+[`\"'(*]*(?=[^\s])")


def findings_in(output: str) -> tuple[ReviewedFinding, ...]:
    """Every finding of a review's output, in order."""
    return tuple(_read(output))


def _read(output: str) -> Iterator[ReviewedFinding]:
    for number, match in enumerate(
        found for line in output.splitlines() if (found := _FINDING.fullmatch(line[:MOST_LINE]))
    ):
        if number == MOST_FINDINGS:
            return
        severity, text = FindingSeverity(match[1].lower()), match[2].strip()
        place = _place(text)
        if place is None:
            yield ReviewedFinding(severity=severity, text=text)
            continue
        line = int(place["line"])
        yield ReviewedFinding(
            severity=severity,
            text=text,
            path=place["path"].removeprefix("./"),
            line=line,
            last_line=int(place["last"] or line),
        )


def _place(text: str) -> re.Match[str] | None:
    """The place that a finding names: after its last `at`, else the last one that has no blank in it."""
    for start in reversed([match.end() for match in _AT.finditer(text)]):
        if found := _PLACE.match(text, start):
            return found
    places = list(_BARE_PLACE.finditer(text))
    return places[-1] if places else None


def line_count(content: bytes) -> int:
    """How many lines a file has; one without a line break at its end counts its last one too."""
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))


def has_line(content: bytes, first: int, last: int | None = None) -> bool:
    """Whether a line, or a range of them, exists in a file."""
    return 1 <= first <= (first if last is None else last) <= line_count(content)
