"""What a rule about a skill's text is, and how grave what it finds is."""

import re
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """What a finding does to the verdict; a note does nothing, people see it."""

    REJECT = "reject"
    FLAG = "flag"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern of one reading of a line. `unless` is what makes it harmless, found in the same sentence."""

    name: str
    level: Level
    pattern: re.Pattern[str]
    message: str
    unless: re.Pattern[str] | None = None


def rule(name: str, level: Level, message: str, *patterns: str, unless: str = "") -> Rule:
    """A rule that any of its patterns finds. They do not mind case, but where `(?-i:…)` says so."""
    found = re.compile("|".join(patterns), re.IGNORECASE)
    return Rule(name, level, found, message, re.compile(unless, re.IGNORECASE) if unless else None)


def any_of(*words: str) -> str:
    """One of several patterns, parted by blanks in what is given."""
    return f"(?:{'|'.join(word for line in words for word in line.split())})"
