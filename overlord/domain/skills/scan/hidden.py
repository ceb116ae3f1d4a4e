"""What people who read a skill's file do not see, or do not see as it is."""

import re
from collections.abc import Iterator

from overlord.domain.skills.finding import SkillFinding, shown_finding
from overlord.domain.skills.scan.line import LONGEST
from overlord.domain.skills.scan.rule import Level
from overlord.domain.text.hidden_character import unseen
from overlord.domain.text.secret_detection import find_secrets

MOST_LINES = 3_000
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS = frozenset("\u200e\u200f\u061c")
_FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_OFF_SCREEN = re.compile(r"\S[ \t]{80,}\S|^[ \t]{160,}\S")
_MANY_EMPTY = 30
_OPAQUE = re.compile(r"(?<![\w/+])[A-Za-z0-9+/_-]{160,}={0,2}(?![\w/+])")


def hidden_in(text: str) -> Iterator[SkillFinding]:
    """What there is of that in a text."""
    empty, is_turned = 0, _FROM_RIGHT.search(text) is not None
    for number, line in enumerate(text.split("\n")[:MOST_LINES], 1):
        empty = 0 if line.strip() else empty + 1
        if empty == _MANY_EMPTY:
            yield shown_finding(
                "skill/hidden-text", Level.FLAG, "So many empty lines hide what comes after them.", number, ""
            )
        yield from _unseen_in(line, number, is_turned=is_turned)
        if _OFF_SCREEN.search(line):
            message = "So many blanks push what comes after them out of sight."
            yield shown_finding("skill/hidden-text", Level.FLAG, message, number, line)
        if len(line) > LONGEST:
            message = f"A line of {len(line):,} characters is none that people read."
            yield shown_finding("skill/hidden-text", Level.FLAG, message, number, line)
        if _OPAQUE.search(line):
            yield shown_finding(
                "skill/disguise", Level.FLAG, "Nobody can read what is encoded here.", number, line
            )
        for secret in find_secrets(line):
            if secret.certain:
                message = f"This line holds what looks like a secret: {secret.kind}."
                yield shown_finding("skill/secret", Level.REJECT, message, number, line)
    if text.count("\n") >= MOST_LINES:
        yield shown_finding("skill/hidden-text", Level.REJECT, "It has more lines than are read.", None, "")


def _unseen_in(line: str, number: int, *, is_turned: bool) -> Iterator[SkillFinding]:
    """`is_turned`: the file has letters of a script that is written from right to left."""
    for found in unseen(line):
        chars = set(line[found.start : found.end])
        if chars <= _MARKS and is_turned:
            continue
        if chars & _TURNS and is_turned and not chars & frozenset("\u202d\u202e"):
            level, message = (
                Level.FLAG,
                "Characters here turn the direction in which a part of the line is read.",
            )
        elif chars & _TURNS:
            level, message = Level.REJECT, "Characters here turn round what the line says."
        elif chars <= {"\ufeff"} and number == 1 and found.start == 0:
            continue
        elif chars <= {"\xad"}:
            level, message = Level.FLAG, "A character here is not seen."
        else:
            level, message = Level.REJECT, f"Characters here are not seen; they say {found.seen_as[:80]!r}."
        yield shown_finding("skill/hidden-text", level, message, number, line)
