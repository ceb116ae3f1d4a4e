"""Regular expressions that can take longer than anybody waits: a repeated group whose body repeats, with nothing between that must be there.

`(\\w+\\.?)+` reads a text in as many ways as it can be cut; `(\\w+\\.)+` in one. Read by hand, as no library here tells it of a text
that is only perhaps an expression.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_GROUPS = 40
LONGEST = 400
_MANY = re.compile(r"[*+]|\{\d{0,6},\}|\{\d{0,6},\d{3,6}\}")
_SOME = re.compile(r"\?|\{\d{1,6}\}|\{\d{0,6},\d{1,2}\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\\n])*\]")
_OPENING = re.compile(r"\((?:\?(?:[:>]|P?<\w+>))?")


@dataclass(slots=True)
class _Item:
    """A part of a sequence: whether it repeats without end, whether it may be missing, whether its own body is as bad."""

    repeats: bool = False
    may_be_missing: bool = False
    is_open: bool = False
    """A group whose body comes to one repeated thing."""


def slow_patterns(text: str) -> Iterator[tuple[int, str]]:
    """Where such a group begins in a line, and how it is written."""
    left = MOST_GROUPS
    for opening in re.finditer(r"(?<!\\)\(", text):
        if not left:
            return
        left -= 1
        closing = _closing(text, opening.start())
        if closing and _MANY.match(text, closing) and _is_open(text[opening.start() : closing]):
            found = _MANY.match(text, closing)
            yield opening.start(), text[opening.start() : found.end() if found else closing]


def _closing(text: str, start: int) -> int:
    """Where the group that begins at `start` is over; 0 when it is not, soon enough."""
    depth, at, end = 0, start, min(len(text), start + LONGEST)
    while at < end:
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == "[" and (inside := _CLASS.match(text, at)):
            at = inside.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if not depth:
            return at
    return 0


def _is_open(group: str) -> bool:
    """Whether a group, once it repeats, can read one text in many ways: an alternative of it is one repeated thing, and the rest of
    it may be missing."""
    return any(_comes_to_one(items) for items in _alternatives(group))


def _comes_to_one(items: list[_Item]) -> bool:
    many = [item for item in items if item.repeats or item.is_open]
    return bool(many) and all(item.may_be_missing for item in items if item is not many[0])


def _alternatives(group: str) -> list[list[_Item]]:
    opening = _OPENING.match(group)
    at, end = opening.end() if opening else 1, len(group) - 1
    found: list[list[_Item]] = [[]]
    while at < end:
        item = _Item()
        if group[at] == "|":
            found.append([])
            at += 1
            continue
        if group[at] in "^$" or group.startswith(("\\b", "\\B"), at):
            at += 1 if group[at] in "^$" else 2
            continue
        at = _read_item(group, at, item)
        if many := _MANY.match(group, at):
            item.repeats, item.may_be_missing, at = True, many[0][:2] in {"*", "{,", "{0"}, many.end()
            at += group.startswith("?", at)
        elif some := _SOME.match(group, at):
            item.may_be_missing, at = some[0] == "?" or some[0].startswith(("{0", "{,")), some.end()
        found[-1].append(item)
    return found


def _read_item(group: str, at: int, item: _Item) -> int:
    """One thing of a sequence: where it is over."""
    if group[at] == "\\":
        return at + 2
    if group[at] == "[" and (inside := _CLASS.match(group, at)):
        return inside.end()
    if group[at] == "(" and (closing := _closing(group, at)):
        item.is_open = _is_open(group[at:closing])
        return closing
    return at + 1
