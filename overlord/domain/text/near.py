"""What somebody may have meant by a name that nobody knows."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

_FARTHER = 0.2
"""How much less alike than the nearest name another one may be and is still said."""


def did_you_mean(word: str, known: Iterable[str], *, prefix: str = "") -> str:
    """`; did you mean base_branch?`, or nothing where no known name is like it. `prefix` is what all of them begin with, which
    would make them alike: both the word and the names come without it."""
    near = get_close_matches(word, sorted(known), n=3)
    like = [SequenceMatcher(None, name, word).ratio() for name in near]
    found = [f"{prefix}{name}" for name, ratio in zip(near, like, strict=True) if ratio >= like[0] - _FARTHER]
    return f"; did you mean {' or '.join(found)}?" if found else ""
