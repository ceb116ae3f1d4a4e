"""How alike texts are, in time proportional to their length: duplicates with small changes, and pairs that nobody can tell apart."""

import re
from collections import Counter, defaultdict
from itertools import pairwise

from overlord.domain.training.record import Record, normalised

NEAR = 0.85
"""The share of its runs of words that a record has in common with another one, from which on it is the same again."""
RUN = 3
"""Words of a run."""
LEAST_DIFFERENCE = 0.02
"""The share of its neighbouring words in which a better answer has to differ from a worse one."""
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"\w+|[^\w\s]")
_ORNAMENT = re.compile(r"[\s.,;!?\"'`]+")
"""What may differ between two answers that say the same."""


def words_of(text: str) -> list[str]:
    """The words of a text, as they are compared."""
    return _WORD.findall(normalised(text))


def share_within(text: str, other: str) -> float:
    """How much of a text's words stand in another text too: 0 to 1. A text without words is not in any."""
    words, there = Counter(words_of(text)), Counter(words_of(other))
    return (words & there).total() / words.total() if words else 0.0


def difference(one: str, other: str) -> float:
    """The share in which two texts differ: 0 for those that say the same, 1 for those with nothing in common."""
    if _ORNAMENT.sub("", normalised(one)) == _ORNAMENT.sub("", normalised(other)):
        return 0.0
    first, second = _pairs(one), _pairs(other)
    return 1 - 2 * (first & second).total() / max(first.total() + second.total(), 1)


def _pairs(text: str) -> Counter[tuple[str, str]]:
    pieces = ["", *_PIECE.findall(normalised(text)), ""]
    return Counter(pairwise(pieces))


class KnownRecords:
    """Records that are there already, found again when they come with small changes."""

    def __init__(self) -> None:
        self._digests = set[str]()
        self._runs = dict[int, int]()
        """How many runs of words each record has."""
        self._with = defaultdict[tuple[str, ...], list[int]](list)

    def add(self, record: Record) -> None:
        """Know this one from now on."""
        number, runs = len(self._runs), _runs(record)
        self._digests.add(record.digest)
        self._runs[number] = len(runs)
        for run in runs:
            self._with[run].append(number)

    def has(self, record: Record) -> bool:
        """Whether it is there, word for word."""
        return record.digest in self._digests

    def has_like(self, record: Record) -> bool:
        """Whether one that is nearly the same is there."""
        runs = _runs(record)
        shared = Counter(number for run in runs for number in self._with.get(run, ()))
        return any(
            number / (len(runs) + self._runs[other] - number) >= NEAR for other, number in shared.items()
        )


def _runs(record: Record) -> set[tuple[str, ...]]:
    """Runs of words of its texts; records of different kinds or labels have none in common."""
    mark = f"{record.kind}{record.label}"
    found = set[tuple[str, ...]]()
    for place, text in enumerate((record.prompt, *record.answers)):
        pieces = _PIECE.findall(normalised(text))
        count = max(len(pieces) - RUN + 1, 1)
        found |= {(mark, str(place), *pieces[at : at + RUN]) for at in range(count)}
    return found
