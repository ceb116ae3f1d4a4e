"""Merging two versions of a text that come from one: the regions both left alone are kept, and between them the side that changed
counts. Where both changed, and not in the same way, both stand between marks."""

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

OURS, MIDDLE, THEIRS = b"<<<<<<< ours\n", b"=======\n", b">>>>>>> theirs\n"


class _Kept(NamedTuple):
    """A run of lines that is the same in all three: where it begins in each, and how long it is."""

    base: int
    ours: int
    theirs: int
    size: int


def merge_texts(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """The merged text, and whether there was a conflict."""
    lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    merged, is_conflict = list[bytes](), False
    at = _Kept(0, 0, 0, 0)
    for kept in _kept(*lines):
        old = lines[0][at.base : kept.base]
        one = lines[1][at.ours : kept.ours]
        two = lines[2][at.theirs : kept.theirs]
        if one == two or two == old:
            merged += one
        elif one == old:
            merged += two
        else:
            merged += [OURS, *one, MIDDLE, *two, THEIRS]
            is_conflict = True
        merged += lines[0][kept.base : kept.base + kept.size]
        at = _Kept(kept.base + kept.size, kept.ours + kept.size, kept.theirs + kept.size, 0)
    return b"".join(merged), is_conflict


def _kept(base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]) -> Iterator[_Kept]:
    """The runs of base that both sides kept, in order; an empty one at the end of all."""
    one, two = (
        {block.a + n: block.b + n for block in _blocks(base, side) for n in range(block.size)}
        for side in (ours, theirs)
    )
    start = 0
    while start < len(base):
        size = 0
        while (
            start + size in one
            and start + size in two
            and one[start + size] - one[start] == size == two[start + size] - two[start]
        ):
            size += 1
        if size:
            yield _Kept(start, one[start], two[start], size)
        start += max(size, 1)
    yield _Kept(len(base), len(ours), len(theirs), 0)


def _blocks(base: Sequence[bytes], side: Sequence[bytes]) -> list[difflib.Match]:
    return difflib.SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
