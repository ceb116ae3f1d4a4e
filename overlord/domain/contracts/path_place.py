"""Where in a path one stands, character by character: whether a path may end or go on there, and what is protected of it.

The same as `minion.protocol.is_protected` says of a whole path, for who builds paths from their first character.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from minion.protocol import PROTECTED_ALWAYS, PROTECTED_UNLESS_NAMED

(WORKFLOWS,) = PROTECTED_UNLESS_NAMED
_FIRST = frozenset(PROTECTED_ALWAYS)
_ANYWHERE = frozenset({".git", "git~1"})
_NAMES = (*sorted(_FIRST | _ANYWHERE), "..")
_LETTERS = {*"".join(_NAMES), *WORKFLOWS, " "}
SPECIAL = frozenset(
    {
        *_LETTERS,
        *"".join(_LETTERS).upper(),
        "\N{LATIN SMALL LETTER LONG S}",
        "\N{KELVIN SIGN}",
        "\N{LATIN SMALL LIGATURE FL}",
    }
)
"""The characters that names of protected places are written with, and those that are the same without case."""
_INSIDE = len(WORKFLOWS) + 1


@dataclass(frozen=True, slots=True)
class PathPlace:
    """What matters of the characters so far."""

    is_first: bool = True
    """Whether it is in the first name."""
    name: str | None = ""
    """The name so far, while it can become one that matters."""
    workflows: int = 0
    """How many characters are those of the directory that a scope has to name; -1 for none."""

    @property
    def is_end(self) -> bool:
        """Whether a path may end here."""
        return self.name not in {"", ".", ".."}

    @property
    def is_protected(self) -> bool:
        """Whether what ends here, and all that is below it, is closed to every session."""
        return self.name in _ANYWHERE or (self.is_first and self.name in _FIRST)

    @property
    def needs_naming(self) -> bool:
        """Whether what ends here is closed to sessions whose scope does not name it."""
        return self.workflows >= len(WORKFLOWS)

    def after(self, char: str) -> "PathPlace | None":
        """The place after one more character; None where no path goes on so."""
        if char != "/":
            return _after(self, char)
        if not self.is_end:
            return None
        return replace(self, is_first=False, name="", workflows=_next(self.workflows, "/"))


@lru_cache(maxsize=10_000)
def _after(place: PathPlace, char: str) -> PathPlace:
    name, workflows = place.name, place.workflows
    for folded in char.casefold():
        name, workflows = _longer(name, folded), _next(workflows, folded)
    return replace(place, name=name, workflows=workflows)


def _longer(name: str | None, char: str) -> str | None:
    if name is None or (name in _FIRST | _ANYWHERE and char in ". "):
        return name  # dots and spaces at its end do not make it another name
    longer = name + char
    return longer if any(known.startswith(longer) for known in _NAMES) else None


def _next(count: int, char: str) -> int:
    if count == _INSIDE or count < 0:
        return count
    if count == len(WORKFLOWS):
        return _INSIDE if char == "/" else -1
    return count + 1 if WORKFLOWS[count] == char else -1


@lru_cache(maxsize=10_000)
def telling(place: PathPlace, other: str) -> tuple[str, ...]:
    """The characters that lead elsewhere than any other one does."""
    usual = place.after(other)
    return ("/", *sorted(char for char in SPECIAL - {"/"} if place.after(char) != usual))
