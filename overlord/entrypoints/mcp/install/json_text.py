"""A JSON text of a person's, changed in one place: its order, its spaces and its comments stay as they are.

Agents' configuration is often JSON with comments and trailing commas. Parsing and writing it anew would lose them, so the text is read
into values that know where they stand, and only the characters of the one entry are exchanged.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DECODER = json.JSONDecoder()
_WORDS = {"true": True, "false": False, "null": None}
MOST_DEPTH = 100


class JsonTextError(ValueError):
    """Why a text is no JSON, or cannot be changed in one place; for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value, and the characters it is."""

    start: int
    end: int
    value: object
    members: tuple["Member", ...] = ()

    def member(self, name: str) -> "Member | None":
        """One of an object. Raises JsonTextError where it is there twice."""
        found = [item for item in self.members if item.name == name]
        if len(found) > 1:
            raise JsonTextError(f"{name!r} is in it twice")
        return found[0] if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A name in an object with its value, and the comma after it."""

    name: str
    start: int
    node: Node
    comma: int | None
    """Where the comma stands; None for none."""


class _Reader:
    """Reads one text."""

    def __init__(self, text: str, *, comments: bool) -> None:
        self._text, self._comments = text, comments

    def whole(self) -> Node:
        node = self._value(self._skip(0), 0)
        if self._skip(node.end) != len(self._text):
            raise self._wrong(self._skip(node.end), "something stands after the end")
        return node

    def _skip(self, at: int) -> int:
        """Past spaces, and comments where they are allowed."""
        while True:
            found = _SPACE.match(self._text, at)
            at = found.end() if found else at
            comment = _COMMENT.match(self._text, at) if self._comments else None
            if comment is None:
                return at
            at = comment.end()

    def _value(self, at: int, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise self._wrong(at, "it is nested too deep")
        start = self._text[at : at + 1]
        if start == "{":
            return self._object(at, depth)
        if start == "[":
            return self._array(at, depth)
        if start == '"':
            text, end = self._string(at)
            return Node(start=at, end=end, value=text)
        for word, value in _WORDS.items():
            if self._text.startswith(word, at):
                return Node(start=at, end=at + len(word), value=value)
        number = _NUMBER.match(self._text, at)
        if number is None:
            raise self._wrong(at, "a value is missing")
        return Node(start=at, end=number.end(), value=json.loads(number.group()))

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = _DECODER.raw_decode(self._text, at)
            return str(text), end
        except ValueError:
            raise self._wrong(at, "a text does not end, or holds what no text may") from None

    def _object(self, at: int, depth: int) -> Node:
        members: list[Member] = []
        here = self._skip(at + 1)
        while self._text[here : here + 1] != "}":
            if members and members[-1].comma is None:
                raise self._wrong(here, "a comma is missing")
            if self._text[here : here + 1] != '"':
                raise self._wrong(here, "a name in double quotes is missing")
            name, end = self._string(here)
            colon = self._skip(end)
            if self._text[colon : colon + 1] != ":":
                raise self._wrong(colon, "a colon is missing")
            node = self._value(self._skip(colon + 1), depth + 1)
            after = self._skip(node.end)
            comma = after if self._text[after : after + 1] == "," else None
            members.append(Member(name=name, start=here, node=node, comma=comma))
            here = self._skip(after + 1) if comma is not None else after
        self._check_end(here, is_open=bool(members) and members[-1].comma is not None)
        value = {item.name: item.node.value for item in members}
        return Node(start=at, end=here + 1, value=value, members=tuple(members))

    def _array(self, at: int, depth: int) -> Node:
        values: list[object] = []
        here, is_open = self._skip(at + 1), False
        while self._text[here : here + 1] != "]":
            if values and not is_open:
                raise self._wrong(here, "a comma is missing")
            node = self._value(here, depth + 1)
            values.append(node.value)
            here = self._skip(node.end)
            is_open = self._text[here : here + 1] == ","
            here = self._skip(here + 1) if is_open else here
        self._check_end(here, is_open=is_open)
        return Node(start=at, end=here + 1, value=values)

    def _check_end(self, at: int, *, is_open: bool) -> None:
        if is_open and not self._comments:
            raise self._wrong(at, "a comma stands after the last entry")

    def _wrong(self, at: int, why: str) -> JsonTextError:
        return JsonTextError(f"line {self._text.count(chr(10), 0, at) + 1}: {why}")


def read(text: str, *, comments: bool) -> Node:
    """A text as values that know where they stand. `comments`: whether comments and commas after the last entry are allowed.
    Raises JsonTextError."""
    return _Reader(text, comments=comments).whole()


def found(root: Node, path: Sequence[str]) -> Node | None:
    """The value at a path of names; None where there is none. Raises JsonTextError where something else than an object is on the way."""
    node = root
    for index, name in enumerate(path):
        if not isinstance(node.value, Mapping):
            where = ".".join(path[:index]) or "the whole"
            raise JsonTextError(f"{where} is no object")
        member = node.member(name)
        if member is None:
            return None
        node = member.node
    return node


def put(text: str, path: Sequence[str], value: object, *, comments: bool) -> str:
    """The text with a value at a path of names; objects on the way are made. Raises JsonTextError."""
    root = read(text, comments=comments)
    node = found(root, path)
    depth = len(path)
    if node is not None:
        dumped = _dumped(value, text, _indent_at(text, node.start))
        made = text[: node.start] + dumped + text[node.end :]
    else:
        while found(root, path[: depth - 1]) is None:
            depth -= 1
            value = {path[depth]: value}
        into = found(root, path[: depth - 1])
        assert into is not None
        made = _inserted(text, into, path[depth - 1], value)
    _check(text, made, path, comments=comments)
    return made


def remove(text: str, path: Sequence[str], *, comments: bool) -> str:
    """The text without what is at a path. Raises JsonTextError."""
    root = read(text, comments=comments)
    holder = found(root, path[:-1])
    member = holder.member(path[-1]) if holder is not None else None
    if holder is None or member is None:
        return text
    start, end = member.start, member.node.end
    start -= len(text[:start]) - len(text[:start].rstrip(" \t\r\n"))
    if member.comma is not None:
        end = member.comma + 1
    made = text[:start] + text[end:]
    before = holder.members[holder.members.index(member) - 1]
    if member.comma is None and before is not member and before.comma is not None:
        made = made[: before.comma] + made[before.comma + 1 :]
    if _line_comment_before(text, start) and not made[start : start + 1].isspace():
        made = made[:start] + _newline(text) + made[start:]
    _check(text, made, path, comments=comments)
    return made


def _inserted(text: str, into: Node, name: str, value: object) -> str:
    """A new last entry of an object, and a comma after the one before it."""
    newline, close = _newline(text), into.end - 1
    outer = _indent_at(text, into.start)
    indent = _indent_at(text, into.members[-1].start) if into.members else outer + _unit(text)
    if into.members and len(indent) <= len(outer):  # all of it is on one line
        indent = outer + _unit(text)
    tail = len(text[:close].rstrip(" \t\r\n"))
    entry = f"{newline}{indent}{json.dumps(name)}: {_dumped(value, text, indent)}"
    after = text[tail:] if "\n" in text[tail:close] else f"{newline}{outer}{text[close:]}"
    head = text[:tail]
    last = into.members[-1] if into.members else None
    if last is not None and last.comma is None:
        head = f"{text[: last.node.end]},{text[last.node.end : tail]}"
    return f"{head}{entry}{after}"


def _dumped(value: object, text: str, indent: str) -> str:
    """A value as the text around it is written."""
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return f"{_newline(text)}{indent}".join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """What one level is indented by."""
    first = re.search(r"\{[ \t]*\r?\n([ \t]+)", text)
    return first.group(1) if first else "  "


def _indent_at(text: str, at: int) -> str:
    """What the line is indented by that a character stands in."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_comment_before(text: str, at: int) -> bool:
    return "//" in text[text.rfind("\n", 0, at) + 1 : at]


def _check(text: str, made: str, path: Sequence[str], *, comments: bool) -> None:
    """Nothing but what is at the path may be different. Raises JsonTextError; a text is not changed in a way that was not meant."""
    before, after = read(text, comments=comments).value, read(made, comments=comments).value
    if _without(before, path) != _without(after, path):
        raise JsonTextError("it cannot be changed in one place")


def _without(value: object, path: Sequence[str]) -> object:
    """A value without what is at a path, and without objects on the way that have nothing else."""
    if not isinstance(value, Mapping) or not path:
        return value
    rest = {name: item for name, item in value.items() if name != path[0]}
    inside = value.get(path[0])
    if len(path) > 1 and isinstance(inside, Mapping) and (kept := _without(inside, path[1:])):
        rest[path[0]] = kept
    return rest
