"""A unified diff as hunks, each tied to a change.

Names come from the list of changes, never from the text, where git quotes them and content may imitate them. Both are
in git's order, so the n-th section belongs to the n-th change; hunks are read by their counted lines, and the counts
must be the changes' own. A text that does not fit is no diff at all.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from overlord.domain.scope.check import Change

CUT = re.compile(r"\n\[cut: the diff is longer than \d+ bytes\]\n\Z")
"""The line the git port ends a diff with that it did not read to its end."""
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_HEADER = "diff --git "


class Line(NamedTuple):
    """A line of a hunk: sign `+`, `-` or a space, and its number in the file it is in (the new one if in both)."""

    sign: str
    text: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One hunk, with its text as git wrote it."""

    lines: tuple[Line, ...]
    text: str

    @property
    def blocks(self) -> Iterator[tuple[tuple[Line, ...], tuple[Line, ...]]]:
        """The runs of changed lines, each as what was removed and what was added."""
        for is_context, run in groupby(self.lines, key=lambda line: line.sign == " "):
            if not is_context:
                lines = tuple(run)
                yield (
                    tuple(line for line in lines if line.sign == "-"),
                    tuple(line for line in lines if line.sign == "+"),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One change and its part of the diff."""

    change: Change
    header: str
    hunks: tuple[Hunk, ...] = ()

    @property
    def text(self) -> str:
        return self.header + "".join(hunk.text for hunk in self.hunks)

    @property
    def added(self) -> Iterator[Line]:
        return self._signed("+")

    @property
    def removed(self) -> Iterator[Line]:
        return self._signed("-")

    def _signed(self, sign: str) -> Iterator[Line]:
        return (line for hunk in self.hunks for line in hunk.lines if line.sign == sign)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    header: str
    hunks: tuple[Hunk, ...]


def is_cut(diff: str) -> bool:
    """Whether the diff was not read to its end. No line of a file can look so: each begins with a sign."""
    return CUT.search(diff) is not None


def parse_diff(changes: Sequence[Change], diff: str) -> tuple[FileDiff, ...] | None:
    """Every change with its hunks, or None when text and changes do not tell the same story."""
    lines = diff.split("\n")
    if lines.pop():
        return None
    try:
        sections = list(_sections(lines))
        found = tuple(_join(change, sections) for change in changes)
    except (ValueError, IndexError):
        return None
    return None if sections else found


def _join(change: Change, sections: list[_Section]) -> FileDiff:
    """Take the change's section off the front: a change of type has two, one that removes and one that adds."""
    first = sections.pop(0)
    header, hunks = first.header, list(first.hunks)
    if change.status == "T":
        second = sections.pop(0)
        if hunks:
            hunks[-1] = replace(hunks[-1], text=hunks[-1].text + second.header)
        else:
            header += second.header
        hunks += second.hunks
    found = FileDiff(change=change, header=header, hunks=tuple(hunks))
    counted = (sum(1 for _ in found.added), sum(1 for _ in found.removed))
    if not change.binary and counted != (change.added, change.removed):
        raise ValueError("another change's lines")
    return found


def _sections(lines: list[str]) -> Iterator[_Section]:
    at = 0
    while at < len(lines):
        if not lines[at].startswith(_HEADER):
            raise ValueError("no section begins here")
        start = at
        at += 1
        while at < len(lines) and not lines[at].startswith((_HEADER, "@@ ")):
            at += 1
        header = _joined(lines[start:at])
        hunks: list[Hunk] = []
        while at < len(lines) and lines[at].startswith("@@ "):
            hunk, at = _hunk(lines, at)
            hunks.append(hunk)
        yield _Section(header=header, hunks=tuple(hunks))


def _hunk(lines: list[str], start: int) -> tuple[Hunk, int]:
    """The hunk whose header is at `start`, and where what follows it begins."""
    match = _HUNK.match(lines[start])
    if match is None:
        raise ValueError("no hunk's header")
    old, old_left, new, new_left = (int(group or 1) for group in match.groups())
    read: list[Line] = []
    at = start + 1
    while old_left or new_left:
        sign, text = lines[at][:1], lines[at][1:]
        at += 1
        if sign == "\\":
            continue
        if sign not in {"+", "-", " "}:
            raise ValueError("no line of a hunk")
        read.append(Line(sign, text, old if sign == "-" else new))
        old, old_left = (old, old_left) if sign == "+" else (old + 1, old_left - 1)
        new, new_left = (new, new_left) if sign == "-" else (new + 1, new_left - 1)
        if old_left < 0 or new_left < 0:
            raise ValueError("more lines than counted")
    if at < len(lines) and lines[at].startswith("\\"):
        at += 1
    return Hunk(lines=tuple(read), text=_joined(lines[start:at])), at


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
