"""What somebody may have meant by a name that nobody knows."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str], *, prefix: str = "") -> str:
    """`; did you mean base_branch?`, or nothing where no known name is like it. `prefix` is what all of them begin with, which
    would make them alike: both the word and the names come without it."""
    found = [f"{prefix}{name}" for name in get_close_matches(word, sorted(known), n=3)]
    return f"; did you mean {' or '.join(found)}?" if found else ""
