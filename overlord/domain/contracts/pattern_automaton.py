"""Patterns of a scope as an automaton over characters, so that two of them can be compared exactly.

It accepts what `pathspec.GitIgnoreSpec` matches, pattern by pattern: the same steps as its translation into a regular expression,
from the root. States are bits of a number, and a set of states is a number: following a character is a few operations of integers.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath
from typing import TypeAlias

from minion.protocol import Scope, ScopeMode
from overlord.domain.contracts.path_place import SPECIAL, WORKFLOWS

_ANY, _IN_NAME = "any", "in name"
"""Edges for every character, and for every one but `/`."""
_Edge: TypeAlias = str | re.Pattern[str]
_NICE = "xayzmdcpqvjXAYZMDCPQVJ0123456789_-+,;=@%^&(){}'\"$|<>`"
_BRACKET = re.compile(r"\[[!^]?\]?[^\]]*\]")


MOST_STATES = 10_000
"""Of one scope: 500 patterns of 20 characters. A set of states is a number with as many bits."""
MOST_CHARACTERS = 1_500
"""That patterns name. Each is looked at wherever there is a bracket."""
INTRICATE = "the patterns are too intricate to be compared"


class TooManyStates(ValueError):
    """Patterns take more than there is for them."""


class Alphabet:
    """Characters of which one stands for all that no pattern tells apart."""

    def __init__(self, patterns: Iterable[str]) -> None:
        text = "".join(patterns)
        named = {*text, *SPECIAL, "/"} - {"\0", "\n"}
        around = {
            chr(code)
            for found in set(_BRACKET.findall(text))
            for char in found
            for code in _around(ord(char))
        }
        self.every = tuple(sorted(named | around))
        if len(self.every) > MOST_CHARACTERS:
            raise TooManyStates(INTRICATE)
        far = (chr(code) for code in range(0x4E00, 0x9FFF))
        self.other = next(char for char in chain(_NICE, far) if char not in named and char not in around)
        """Stands for every character that is named nowhere."""


def _around(code: int) -> Iterator[int]:
    """A character and its neighbours: between two of those, a range of a bracket begins and ends nowhere."""
    yield from (near for near in (code - 1, code, code + 1) if 0x20 <= near < 0xD800 and near != 0x7F)


class Automaton:
    """What the patterns of a scope match, without what is protected."""

    def __init__(self, scope: Scope, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self._epsilon: list[list[int]] = [[]]
        self._edges: list[list[tuple[_Edge, int]]] = [[]]
        self._rows: dict[int, tuple[dict[str, int], int]] = {}
        self.accepting = self.opening = self.endless = 0
        """Sets of states: where a path may end; where one may end that a protected directory is opened for; where it may go on
        with anything."""
        for pattern in ("**",) if scope.mode is ScopeMode.UNRESTRICTED else scope.patterns:
            begin = self._state()
            self._epsilon[0].append(begin)
            self._add(pattern, begin, is_exact=scope.mode is ScopeMode.EXPLICIT)
        self._closures: dict[int, int] = {}
        self.start = self._closure(0)

    def row(self, states: int) -> tuple[dict[str, int], int]:
        """The states that follow for each character that matters, and those for every other one."""
        known = self._rows.get(states)
        if known is None:
            known = self._rows[states] = self._follow(states)
        return known

    def _follow(self, states: int) -> tuple[dict[str, int], int]:
        literal: dict[str, int] = {}
        brackets: list[tuple[re.Pattern[str], int]] = []
        anything = in_name = 0
        while states:
            lowest = states & -states
            states ^= lowest
            for edge, target in self._edges[lowest.bit_length() - 1]:
                reached = self._closure(target)
                if edge is _ANY:
                    anything |= reached
                elif edge is _IN_NAME:
                    in_name |= reached
                elif isinstance(edge, str):
                    literal[edge] = literal.get(edge, 0) | reached
                else:
                    brackets.append((edge, reached))
        rest = anything | in_name
        named = {char: reached | (anything if char == "/" else rest) for char, reached in literal.items()}
        if in_name:
            named.setdefault("/", anything)
        if brackets:
            for char in self._alphabet.every:
                also = sum_of(reached for bracket, reached in brackets if bracket.match(char))
                named[char] = named.get(char, rest) | also
            rest |= sum_of(reached for bracket, reached in brackets if bracket.match(self._alphabet.other))
        return named, rest

    def _state(self) -> int:
        if len(self._edges) > MOST_STATES:
            raise TooManyStates(INTRICATE)
        self._epsilon.append([])
        self._edges.append([])
        return len(self._edges) - 1

    def _closure(self, state: int) -> int:
        """The state, and those that are come to without a character."""
        found = self._closures.get(state)
        if found is None:
            reached, waiting = {state}, [state]
            while waiting:
                new = set(self._epsilon[waiting.pop()]) - reached
                reached |= new
                waiting += new
            found = self._closures[state] = sum_of(1 << item for item in reached)
        return found

    def _edge(self, state: int, edge: _Edge) -> int:
        target = self._state()
        self._edges[state].append((edge, target))
        return target

    def _add(self, pattern: str, begin: int, *, is_exact: bool) -> None:
        opens = f"{pattern.strip('/')}/".startswith(f"{WORKFLOWS}/")
        if is_exact:
            self._accept(self._literal(begin, str(PurePosixPath(pattern.lstrip("/")))), accepts=True)
        if opens:  # what opens a protected directory is taken as a name and as a pattern
            self._accept(self._literal(begin, pattern), opens=True)
        if is_exact and not opens:
            return
        ended = self._glob(pattern, begin)
        if ended is not None:
            end, is_below = ended
            if not is_below:
                self._accept(end, accepts=not is_exact, opens=opens)
            self._go_on(self._edge(end, "/"), accepts=not is_exact, opens=opens)

    def _accept(self, state: int, *, accepts: bool = False, opens: bool = False) -> None:
        self.accepting |= accepts << state
        self.opening |= opens << state

    def _go_on(self, state: int, *, accepts: bool = True, opens: bool = False) -> None:
        """Anything may follow."""
        self._edges[state].append((_ANY, state))
        self._accept(state, accepts=accepts, opens=opens)
        self.endless |= accepts << state

    def _literal(self, state: int, text: str) -> int:
        for char in text:
            state = self._edge(state, char)
        return state

    def _glob(self, pattern: str, begin: int) -> tuple[int, bool] | None:
        """Where a pattern ends, and whether only what is below counts. None where nothing is left to do."""
        segments, is_whole = _segments(pattern)
        if is_whole:
            if segments:  # a file in a directory, whichever
                self._edges[begin].append((_ANY, begin))
                return begin, True
            self._go_on(begin)
            return None
        if not segments or any(_atoms(item) is None for item in segments if item not in {"*", "**"}):
            return None
        state, needs_slash, last = begin, False, len(segments) - 1
        for index, segment in enumerate(segments):
            if segment == "**":
                if index == last:
                    return state, True
                state, needs_slash = self._directories(state, is_first=index == 0), index > 0
                continue
            state = self._edge(state, "/") if needs_slash else state
            state, needs_slash = self._segment(state, segment), True
        return state, False

    def _directories(self, state: int, *, is_first: bool) -> int:
        """Any number of directories, none too: those that begin a path end in a slash, those inside begin with one."""
        end = self._state()
        self._epsilon[state].append(end)
        inside = self._edge(state if is_first else self._edge(state, "/"), _ANY)
        self._edges[inside].append((_ANY, inside))
        if is_first:
            self._edges[inside].append(("/", end))
        else:
            self._epsilon[inside].append(end)
        return end

    def _segment(self, state: int, segment: str) -> int:
        if segment == "*":
            state = self._edge(state, _IN_NAME)
            self._edges[state].append((_IN_NAME, state))
            return state
        for atom in _atoms(segment) or ():
            if atom == "*":
                looping = self._state()
                self._epsilon[state].append(looping)
                self._edges[looping].append((_IN_NAME, looping))
                state = looping
            else:
                state = self._edge(state, atom[1] if isinstance(atom, tuple) else atom)
        return state


def sum_of(sets: Iterable[int]) -> int:
    """The states that are in any of the sets."""
    found = 0
    for states in sets:
        found |= states
    return found


def _segments(pattern: str) -> tuple[list[str], bool]:
    """The parts of a pattern between slashes, and whether it stands for every file (none left) or every file in a directory."""
    text = f"/{pattern.lstrip('/')}"
    text = text if text.endswith("\\ ") else text.rstrip()
    if text == "/":
        return [], False
    segments = text.split("/")[1:]
    is_directory = not segments[-1]
    if is_directory:
        segments[-1] = "**"
    segments = [
        item for index, item in enumerate(segments) if item != "**" or segments[index - 1 : index] != ["**"]
    ]
    if segments in (["**"], ["**", "*"]):
        return (segments, True) if is_directory and segments == ["**"] else ([], True)
    if segments == ["**", "*", "**"]:
        return segments, True
    return segments, False


@lru_cache(maxsize=10_000)
def _atoms(segment: str) -> tuple[str | tuple[str, _Edge], ...] | None:
    """The characters, stars and brackets of one part; None for a bracket that is never closed, which matches nothing."""
    found: list[str | tuple[str, _Edge]] = []
    index = 0
    while index < len(segment):
        char = segment[index]
        index += 1
        if char == "\\":
            found.append(("literal", segment[index : index + 1]))
            index += 1
        elif char == "[":
            bracket = _BRACKET.match(segment, index - 1)
            if bracket is None:
                return None
            found.append(("bracket", _bracket(bracket[0])))
            index = bracket.end()
        else:
            found.append("*" if char == "*" else ("any", _IN_NAME) if char == "?" else ("literal", char))
    return tuple(found)


@lru_cache(maxsize=10_000)
def _bracket(text: str) -> re.Pattern[str]:
    inside = text[1:]
    negated = inside.startswith(("!", "^"))
    return re.compile("[" + ("^" if negated else "") + inside[negated:].replace("\\", "\\\\"))
