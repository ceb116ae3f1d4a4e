"""Whether scopes allow the same path, decided exactly: the shortest path that all of them match, or proof that there is none.

The scopes are followed together, character by character, breadth first (the product of their automata). What is asked to be left out is
followed beside them, as a set of states, because only the whole set tells that a path is *not* matched. Sampling of paths was not
good enough: a rule that says "never" needs every path.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from minion.protocol import Scope, ScopeMode
from overlord.domain.contracts.path_place import PathPlace, telling
from overlord.domain.contracts.pattern_automaton import INTRICATE, Alphabet, Automaton, TooManyStates

_PLAIN = re.compile(r"(?:[\w*?-][\w.*?-]*/)*[\w*?-][\w.*?-]*", re.ASCII)
MOST_STATES = 20_000
"""That are looked at for one contract: some tenths of a second. Patterns that need more are made to need it."""

_Point: TypeAlias = tuple[tuple[int, ...], int, PathPlace]
"""The states of the automata, those of what is left out, and where in a path that is."""


class Overlaps:
    """Comparisons of scopes whose patterns are known beforehand."""

    def __init__(self, patterns: Collection[str]) -> None:
        self._alphabet = Alphabet(patterns)
        self._automata: dict[Scope, Automaton] = {}
        self._left = MOST_STATES

    def shortest(
        self, *scopes: Scope, without: Collection[str] = (), is_protected_too: bool = False
    ) -> str | None:
        """The shortest path that every scope allows and no pattern of `without` matches; None where there is none.

        `is_protected_too`: what no scope ever allows counts as well, for patterns that are no scope. Raises TooManyStates."""
        if len(scopes) == 2 and _are_apart(*scopes, frozenset(without)):
            return None
        search = _Search(
            [self._automaton(scope) for scope in scopes],
            self._automaton(Scope(mode=ScopeMode.DIRECTORY, patterns=tuple(without))),
            self._alphabet.other,
            is_protected_too=is_protected_too,
        )
        try:
            return search.path(self._left)
        finally:
            self._left -= search.looked_at

    def leaves_out(self, pattern: str, without: Collection[str]) -> bool:
        """Whether a path that a plain pattern matches is matched by others too, which decides most questions at once."""
        automaton = self._automaton(Scope(mode=ScopeMode.DIRECTORY, patterns=tuple(without)))
        states = automaton.start
        for char in pattern.replace("*", "?").replace("?", self._alphabet.other):
            named, rest = automaton.row(states)
            states = named.get(char, rest)
        return bool(states & automaton.accepting)

    def _automaton(self, scope: Scope) -> Automaton:
        if scope not in self._automata:
            self._automata[scope] = Automaton(scope, self._alphabet)
        return self._automata[scope]


def overlap(first: Scope, second: Scope, *, without: Collection[str] = ()) -> str | None:
    """The shortest path that both scopes allow and no pattern of `without` matches. Raises TooManyStates."""
    return Overlaps((*first.patterns, *second.patterns, *without)).shortest(first, second, without=without)


class _Search:
    """One walk through the product of automata."""

    def __init__(
        self, automata: Sequence[Automaton], without: Automaton, other: str, *, is_protected_too: bool
    ) -> None:
        self._automata, self._without, self._other = automata, without, other
        self._is_protected_too = is_protected_too
        self.looked_at = 0

    def path(self, most: int) -> str | None:
        """The shortest path that is accepted. Raises TooManyStates beyond as many points."""
        start: _Point = (tuple(item.start for item in self._automata), self._without.start, PathPlace())
        came: dict[_Point, tuple[_Point, str] | None] = {start: None}
        waiting = deque([start])
        while waiting:
            point = waiting.popleft()
            self.looked_at += 1
            if self.looked_at > most:
                raise TooManyStates(INTRICATE)
            for char, target in self._following(point):
                if target not in came:
                    came[target] = (point, char)
                    if self._accepts(target):
                        return _spelled(came, target)
                    waiting.append(target)
        return None

    def _following(self, point: _Point) -> Iterator[tuple[str, _Point]]:
        states, without, place = point
        rows = [item.row(mine) for item, mine in zip(self._automata, states, strict=True)]
        left_out, left_out_else = self._without.row(without)
        characters = self._characters(rows, left_out, place)
        self.looked_at += len(characters) // 64
        for char in characters:
            reached = tuple(named.get(char, rest) for named, rest in rows)
            after = place.after(char)
            if after is None or not all(reached):
                continue
            if char == "/" and place.is_protected and not self._is_protected_too:
                continue
            excluded = left_out.get(char, left_out_else)
            if not excluded & self._without.endless:
                yield char, (reached, excluded, after)

    def _characters(
        self, rows: Sequence[tuple[dict[str, int], int]], left_out: dict[str, int], place: PathPlace
    ) -> Sequence[str]:
        """The characters to follow: those an automaton asks for, else all that anybody tells apart and one for the others."""
        asked = [named for named, rest in rows if not rest]
        if asked:
            return min((tuple(named) for named in asked), key=len)
        named = {*left_out, *telling(place, self._other), *(char for row, _ in rows for char in row)}
        return (self._other, *sorted(named - {self._other}))

    def _accepts(self, point: _Point) -> bool:
        states, without, place = point
        if not place.is_end or without & self._without.accepting:
            return False
        if self._is_protected_too or not (place.is_protected or place.needs_naming):
            return all(mine & item.accepting for item, mine in zip(self._automata, states, strict=True))
        if place.is_protected:
            return False
        return all(
            mine & item.accepting and mine & item.opening
            for item, mine in zip(self._automata, states, strict=True)
        )


def _spelled(came: dict[_Point, tuple[_Point, str] | None], point: _Point) -> str:
    found: list[str] = []
    while (step := came[point]) is not None:
        point, char = step
        found.append(char)
    return "".join(reversed(found))


def _are_apart(first: Scope, second: Scope, without: frozenset[str]) -> bool:
    """Whether the beginnings of all patterns differ, but for those that are left out as they stand. That decides most comparisons
    at once."""
    if ScopeMode.UNRESTRICTED in {first.mode, second.mode}:
        return False
    ours, theirs = (
        sorted({beginning(item) for item in scope.patterns if item not in without or not is_plain(item)})
        for scope in (first, second)
    )
    return not (_some_begins_as(ours, theirs) or _some_begins_as(theirs, ours))


def _some_begins_as(texts: Sequence[str], starts: Sequence[str]) -> bool:
    """Whether one of the texts, which are sorted, begins with one of others."""
    found = ((start, bisect_left(texts, start)) for start in starts)
    return any(place < len(texts) and texts[place].startswith(start) for start, place in found)


def is_plain(pattern: str) -> bool:
    """Whether a pattern certainly matches something, and something that is not protected: with a letter for each of its marks."""
    return _PLAIN.fullmatch(pattern) is not None


@lru_cache(maxsize=10_000)
def beginning(pattern: str) -> str:
    """The characters that every path begins with which the pattern matches."""
    clean = pattern.lstrip("/").rstrip()
    ends = [place for char in "*?[\\" if (place := clean.find(char)) >= 0]
    return clean[: min(ends)] if ends else clean.rstrip("/")
