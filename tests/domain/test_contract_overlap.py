"""Overlap of scopes, decided exactly: held against brute force over generated trees, which asks `Scope.allows` of each path."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minion.protocol import (
    PROTECTED_ALWAYS,
    PROTECTED_UNLESS_NAMED,
    Scope,
    ScopeError,
    ScopeMode,
    is_protected,
)
from overlord.domain.contracts.overlap import Overlaps, is_plain, overlap
from overlord.domain.contracts.path_place import PathPlace
from overlord.domain.contracts.pattern_automaton import TooManyStates

NAMES = ("a", "b", "ab", "a.b", ".git", ".nebulus", ".github", "workflows", "c")
TREE = tuple("/".join(parts) for depth in (1, 2, 3) for parts in product(NAMES, repeat=depth))
PIECES = ("a", "b", "c", "*", "?", "[ab]", "[!a]", "[a-b]", ".", "\\a", "[]a]")
SEGMENT = st.one_of(
    st.sampled_from((*NAMES, "*", "**", ".git*", ".*", "", "[a", "[.]git", "*.b", "a**b")),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join),
)
PATTERN = st.builds(
    lambda segments, slash: "/".join(segments) + slash,
    st.lists(SEGMENT, min_size=1, max_size=4),
    st.sampled_from(("", "", "", "/", " ")),
)
PATTERNS = st.lists(PATTERN, min_size=1, max_size=3)


def is_read(scope: Scope) -> bool:
    try:
        Scope.parse(scope.to_json())
        return True
    except ScopeError:
        return False


SCOPE = st.one_of(
    st.just(Scope.unrestricted()),
    *(
        PATTERNS.map(lambda patterns, mode=mode: Scope(mode=mode, patterns=tuple(patterns)))  # type: ignore[misc]
        for mode in (ScopeMode.DIRECTORY, ScopeMode.DIRECTORY, ScopeMode.EXPLICIT)
    ),
).filter(is_read)
WITHOUT = st.lists(PATTERN, max_size=2).filter(lambda some: is_read(Scope(patterns=(*some, "a"))))


def left_out(without: list[str], path: str) -> bool:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines("/" + pattern.lstrip("/") for pattern in without).match_file(path)


@settings(max_examples=100)
@given(first=SCOPE, second=SCOPE, without=WITHOUT)
def test_what_is_found_is_allowed_by_both_and_what_is_not_found_is_nowhere_in_a_tree(
    first: Scope, second: Scope, without: list[str]
) -> None:
    found = overlap(first, second, without=without)
    both = (
        path for path in TREE if first.allows(path) and second.allows(path) and not left_out(without, path)
    )
    if found is None:
        assert next(both, None) is None
    else:
        assert first.allows(found) and second.allows(found) and not left_out(without, found)
        assert all(len(found) <= len(path) for path in both)


@given(scope=SCOPE, path=st.sampled_from(TREE))
def test_a_path_is_an_overlap_of_a_scope_with_itself_named(scope: Scope, path: str) -> None:
    exact = Scope(mode=ScopeMode.EXPLICIT, patterns=(path,))
    assert overlap(scope, exact) == (path if scope.allows(path) and exact.allows(path) else None)


@given(pattern=PATTERN.filter(is_plain), without=WITHOUT)
def test_what_a_plain_pattern_tells_at_once_is_what_the_search_finds(
    pattern: str, without: list[str]
) -> None:
    comparisons = Overlaps((pattern, *without))
    assert comparisons.shortest(Scope(patterns=(pattern,))) is not None
    if not comparisons.leaves_out(pattern, without):
        assert comparisons.shortest(Scope(patterns=(pattern,)), without=without) is not None


LETTERS = st.text(
    st.sampled_from([*".git~1/ nebulus", "N", "K", "\u017f", "\u212a", "\ufb02", "x"]), max_size=12
)
PROTECTED = st.sampled_from((*PROTECTED_ALWAYS, *PROTECTED_UNLESS_NAMED, "git~1", ".github/work\ufb02ows"))


@given(st.one_of(LETTERS, st.builds(lambda a, b, c: a + b + c, LETTERS, PROTECTED, LETTERS)))
def test_what_is_protected_is_the_same_told_character_by_character(path: str) -> None:
    place: PathPlace | None = PathPlace()
    was_protected = False
    for char in path:
        was_protected |= char == "/" and place is not None and place.is_protected
        place = place and place.after(char)
    if any(part in {"", ".", ".."} for part in path.split("/")):
        assert place is None or not place.is_end
    else:
        assert place is not None
        assert (was_protected or place.is_protected or place.needs_naming) == is_protected(path)


@pytest.mark.parametrize(
    ("first", "second", "without", "path"),
    [
        (("src/**",), ("src/api/**",), (), "src/api/x"),
        (("src/api/**", "package.json"), ("src/web/**", "package.json"), (), "package.json"),
        (("src/api/**", "package.json"), ("src/web/**", "package.json"), ("package.json",), None),
        (("*.py",), ("test_*",), (), "test_.py"),
        (("docs",), ("docs/**/*.md",), (), "docs/.md"),
        (("**",), ("**",), ("**",), None),
        (("**",), (".nebulus/**",), (), None),
        (("**",), (".github/workflows/**",), (), None),
        ((".github/**", ".github/workflows"), (".github/workflows/ci.yml",), (), ".github/workflows/ci.yml"),
        (("[a-m]*",), ("[n-z]*",), (), None),
        (("[a-n]*",), ("[n-z]*",), (), "n"),
        (("\\*",), ("?",), (), "*"),
    ],
)
def test_the_shortest_path_is_the_witness(
    first: tuple[str, ...], second: tuple[str, ...], without: tuple[str, ...], path: str | None
) -> None:
    assert overlap(Scope(patterns=first), Scope(patterns=second), without=without) == path


def test_patterns_made_to_take_for_ever_are_refused() -> None:
    hard = Scope(patterns=(f"*a{'?' * 60}b",))
    other = Scope(patterns=(f"*b{'?' * 61}c",))
    with pytest.raises(TooManyStates):
        Overlaps((*hard.patterns, *other.patterns)).shortest(hard, other, without=(f"*{'a?' * 40}",))
    long = Scope(patterns=tuple(f"*{number}{'a' * 480}" for number in range(50)))
    with pytest.raises(TooManyStates):
        overlap(long, other)
    wide = Scope(
        patterns=tuple(f"[{''.join(map(chr, range(begin, begin + 90)))}]" for begin in range(1000, 5000, 90))
    )
    with pytest.raises(TooManyStates):
        overlap(wide, other)
