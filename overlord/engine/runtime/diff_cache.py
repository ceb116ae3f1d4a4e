"""Differences between two commits that were read a moment ago: every check of an evaluation looks at the same one.

Commits never change, so what is here is never wrong; it is bounded, because a diff may be large.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from overlord.domain.identifiers import RepositoryName, Sha
from overlord.domain.scope.check import Change

MOST_CHARS = 32_000_000
"""Of diffs that are remembered, together. One has 4 MB at most."""
MOST_DIFFS = 64
Key = tuple[RepositoryName, Sha, Sha]
"""A repository, the commit before and the commit after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What differs between two commits, path by path and line by line."""

    changes: Sequence[Change]
    diff: str


@dataclass(slots=True)
class DiffCache:
    """The differences that were used last."""

    _known: OrderedDict[Key, Difference] = field(default_factory=OrderedDict)

    def get(self, key: Key) -> Difference | None:
        if (found := self._known.get(key)) is not None:
            self._known.move_to_end(key)
        return found

    def put(self, key: Key, difference: Difference) -> None:
        self._known[key] = difference
        self._known.move_to_end(key)
        while len(self._known) > MOST_DIFFS or (len(self._known) > 1 and self._chars() > MOST_CHARS):
            self._known.popitem(last=False)

    def _chars(self) -> int:
        return sum(len(item.diff) for item in self._known.values())
