"""Hypotheses for an error, as a worker that debugs writes them, the likeliest first:

HYPOTHESIS 1 (likelihood: high): the list is empty
VERIFY: python -c 'import calc' → expected if correct: IndexError
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

FEWEST, MOST = 3, 5
LIKELIHOODS = ("high", "medium", "low")
MOST_READ = 50
MOST_LINE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One of them. Untrusted."""

    number: int
    likelihood: str
    """`high`, `medium` or `low`; empty where none of these is said."""
    text: str
    verify: str = ""
    """The command, or what is to be looked at."""
    expected: str = ""
    """What that shows if the hypothesis holds."""


_HEAD = re.compile(
    r"[\s>*_#-]*HYPOTHESIS\s+(\d{1,4})\b[\s*_]*(?:\(\s{0,9}(?:likelihood\s{0,9}:?\s{0,9})?([^)]{0,200})\))?[\s*_]*:?[\s*_]*(.*)",
    re.IGNORECASE,
)
_VERIFY = re.compile(r"\bVERIFY[*_]*\s*:[\s*_]*", re.IGNORECASE)
_EXPECTED = re.compile(r"\bexpected(?:\s+if\s+correct)?[*_]*\s*:[\s*_]*", re.IGNORECASE)
"""Searched for, and what stands before cut off by itself: as one pattern they would take time in proportion to the cube of a line's length."""
_ORNAMENT = "*_`>- \t\xa0"
_ARROWS = ("→", "->", "=>")


def hypotheses_in(output: str) -> tuple[Hypothesis, ...]:
    """The hypotheses of an output, in order, whatever lacks in them."""
    found: list[Hypothesis] = []
    for line in (line[:MOST_LINE] for line in output.splitlines()):
        head = _HEAD.fullmatch(line)
        if head and len(found) == MOST_READ:
            break
        if head:
            likelihood = (head[2] or "").strip().casefold()
            known = likelihood if likelihood in LIKELIHOODS else ""
            found.append(_with_line(Hypothesis(number=int(head[1]), likelihood=known, text=""), head[3]))
        elif found:
            found[-1] = _with_line(found[-1], line)
    return tuple(found)


def missing_in(found: Sequence[Hypothesis]) -> str:
    """What the form asks for and is not there, as a sentence; empty where all is."""
    if not FEWEST <= len(found) <= MOST:
        return f"There are {len(found)} hypotheses; {FEWEST} to {MOST} are asked for."
    lacks = [
        f"hypothesis {one.number} lacks {', '.join(missing)}"
        for one in found
        if (
            missing := [
                name
                for name, value in (
                    ("its likelihood (high, medium or low)", one.likelihood),
                    ("what it says", one.text),
                    ("VERIFY", one.verify),
                    ("what is expected if it is correct", one.expected),
                )
                if not value
            ]
        )
    ]
    if lacks:
        return f"H{'; '.join(lacks)[1:]}."
    order = [LIKELIHOODS.index(one.likelihood) for one in found]
    return "" if order == sorted(order) else "The likeliest hypothesis does not come first."


def _with_line(one: Hypothesis, line: str) -> Hypothesis:
    """A hypothesis with what one more line says."""
    text, verify, expected = line, "", ""
    if said := _VERIFY.search(text):
        text, verify = text[: said.start()].rstrip(_ORNAMENT), text[said.end() :]
        if shown := _EXPECTED.search(verify):
            verify, expected = _before(verify, shown), verify[shown.end() :]
    elif one.verify and (shown := _EXPECTED.search(text)):
        text, expected = "", text[shown.end() :]
    elif one.verify:
        text = ""
    return replace(
        one,
        text=_joined(one.text, text),
        verify=one.verify or verify.strip(" `*_"),
        expected=one.expected or expected.strip(" `*_"),
    )


def _before(text: str, shown: re.Match[str]) -> str:
    """What is to be run: all before the arrow to what is expected."""
    before = text[: shown.start()].rstrip(" \t*_")
    arrow = next((arrow for arrow in _ARROWS if before.endswith(arrow)), "")
    return before.removesuffix(arrow).rstrip(" \t*_")


def _joined(one: str, other: str) -> str:
    return " ".join(filter(None, (one, other.strip())))
