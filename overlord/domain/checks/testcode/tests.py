"""What a function of a test file proves, as its syntax shows: its assertions and how strong they are, its rows, its stand-ins.

One form for every language, made by `testcode_python`, `testcode_script` and `testcode_go`, compared by `testcode_compare`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

Tolerances = Mapping[str, float]
TIGHTER_WHEN_LARGER = frozenset({"places", "decimal", "significant", "digits"})
STRICTEST = {
    "rel": 1e-6,
    "rtol": 1e-5,
    "rel_tol": 1e-9,
    "places": 7.0,
    "decimal": 7.0,
    "significant": 7.0,
    "digits": 2.0,
}
"""What a tolerance is where none is given; for the others it is 0: exact."""


class Strength(IntEnum):
    """How much a value is held to by an assertion."""

    NOTHING = 0
    """It holds whatever the code does."""
    SHAPE = 1
    """That there is one, of some type, or true in some way."""
    PART = 2
    """Where it lies, or what is in it."""
    EXACT = 3


class Suspension(StrEnum):
    """What keeps an assertion from counting."""

    SWALLOWED = "assertion-swallowed"
    CONDITIONAL = "assertion-conditional"
    UNREACHED = "test-skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """One thing a test asserts."""

    text: str
    """Its words without its message: the same for the same assertion, however it is laid out."""
    subject: str
    """What is looked at."""
    expected: str = ""
    """What it must be, if that is said."""
    strength: Strength
    line: int
    tolerances: Tolerances = field(default_factory=dict)
    suspensions: frozenset[Suspension] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCode:
    """One function of a test file, a test or what tests call; or what stands outside of all, whose name is empty."""

    name: str
    line: int
    is_test: bool
    text: str
    """All its words: equal where nothing but the looks differ."""
    asserts: Sequence[Assertion] = ()
    rows: Sequence[str] = ()
    """The cases it is run with, where they are written out."""
    stand_ins: Mapping[str, int] = field(default_factory=dict)
    """Names it puts something else in the place of, each with the line."""

    @property
    def bare_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def proves(self) -> bool:
        """Whether something is asserted that the code could fail, and reached."""
        return any(one.strength > Strength.NOTHING and not one.suspensions for one in self.asserts)

    @property
    def asserts_constants(self) -> bool:
        """Whether it ends the same whatever the code does: it asserts constants, or says that it fails, and nothing leads past that."""
        if not self.asserts:
            return bool(_RAISES.search(self.text)) and not _BRANCHES.search(self.text)
        for one in self.asserts:
            is_fail = _FAILS.fullmatch(one.text) is not None and not _BRANCHES.search(self.text)
            if one.strength > Strength.NOTHING and not is_fail and not _CONSTANT.fullmatch(one.text):
                return False
        return True


_CONSTANT = re.compile(r"(?:not )*(?:True|False|None|\d+|'[^']*'|\"[^\"]*\")")
_FAILS = re.compile(r"fails|(?:pytest|self) \. fail \(.*\)", re.DOTALL)
_RAISES = re.compile(r"\braise AssertionError\b")
_BRANCHES = re.compile(r"\b(?:if|try|except|for|while|with|match|case|switch|select|and|or)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """One thing that makes tests weaker, and where."""

    rule: str
    message: str
    file: str
    line: int | None = None
    evidence: str = ""


def is_looser(name: str, value: float, than: float) -> bool:
    """Whether a tolerance lets more through than another of the same name."""
    return value < than if name in TIGHTER_WHEN_LARGER else value > than
