"""Which lines of which files a session's model was shown, by the transcript: the gateway's own record, and nothing a worker says.

A line counts as read where an answer to a call that names its file holds it, with its number or in its place, as it is in the file.
So it does not matter which agent asked, and by which of its tools; a form that is not known here, and what was cut, is not read.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from overlord.domain.transcript import Call, exchange_of

LineRange = tuple[int, int]
"""The first line and the last one, counted from 1."""

_NUMBERED = re.compile(r"\s{0,10}0{0,9}([1-9]\d{0,8})(?:\t|→|\||:)( ?)(.*)", re.DOTALL)
"""A line as `read_file`, other agents' tools for reading and `cat -n`, `nl`, `grep -n` print it."""
_SED = re.compile(r"\bsed\s+-n\s+['\"\\]{0,2}(\d{1,9}),(\d{1,9})p")
_HEAD = re.compile(r"\bhead\s+-(?:n\s{0,4})?(\d{1,9})\b")
_TAIL = re.compile(r"\btail\s+-n\s{0,4}\+(\d{1,9})\b")
_LAST = 10**9
MOST_PARTS = 200
"""Of a file that one command asks for; what it asks for beyond them does not count as read."""


def files_read(lines: Iterable[str], files: Mapping[str, str]) -> Mapping[str, tuple[LineRange, ...]]:
    """The lines that the model was shown of each of the files, whose texts are given as they were and as a transcript has them, which
    is redacted."""
    wanted = [_File(path, text) for path, text in files.items()]
    calls: dict[str, Call] = {}
    for line in lines:
        exchange = exchange_of(line)
        if exchange is None or exchange.explores:
            continue
        for words in exchange.instructions:  # some agents send files whole, with no call
            for file in wanted:
                if file.is_named_in(words):
                    file.find_whole(_Output(words))
        for identifier, text in exchange.outputs:
            if (call := calls.get(identifier)) is not None:
                _look(wanted, call, text)
        calls.update({call.id: call for call in exchange.calls})
    return {file.path: file.ranges for file in wanted}


def is_whole(ranges: tuple[LineRange, ...], text: str) -> bool:
    """Whether the lines are all that a file has."""
    count = len(lines_of(text))
    return not count or ranges == ((1, count),)


def lines_of(text: str) -> list[str]:
    """A file's lines as they are numbered."""
    return text.removesuffix("\n").split("\n") if text else []


def _look(wanted: Iterable["_File"], call: Call, text: str) -> None:
    asked = call.raw or json.dumps(call.arguments, ensure_ascii=False)
    named = [file for file in wanted if file.is_named_in(asked)]
    if not named:
        return
    output = _Output(text)
    for file in named:
        file.find_numbered(output)
        file.find_whole(output)
        file.find_parts(asked, output)


class _Output:
    """What a call was answered with, line by line."""

    def __init__(self, text: str) -> None:
        self.lines = _plain(text).split("\n")
        self._joined = "\n".join(("", *(line.rstrip() for line in self.lines), ""))

    @cached_property
    def numbered(self) -> tuple[tuple[int, tuple[str, str]], ...]:
        """Its lines that begin with a number: that, and what may be the line of the file. Read once, however many files it names."""
        found = filter(None, map(_NUMBERED.fullmatch, self.lines))
        return tuple((int(one[1]), (one[3].rstrip(), (one[2] + one[3]).rstrip())) for one in found)

    def holds(self, lines: Iterable[str]) -> bool:
        """Whether it has these lines, one after the other."""
        return "\n".join(("", *lines, "")) in self._joined


def _plain(text: str) -> str:
    """What a command printed; some agents send it inside JSON."""
    if not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    printed = value.get("output") if isinstance(value, dict) else None
    return printed if isinstance(printed, str) else text


class _File:
    """A file, and what was seen of it. White space at the end of a line does not count: tools leave it out."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._name = PurePosixPath(path).name
        self._lines = [line.rstrip() for line in lines_of(text)]
        self._seen: set[int] = set()

    @property
    def ranges(self) -> tuple[LineRange, ...]:
        found: list[LineRange] = []
        for number in sorted(self._seen):
            if found and found[-1][1] == number - 1:
                found[-1] = (found[-1][0], number)
            else:
                found.append((number, number))
        return tuple(found)

    def is_named_in(self, words: str) -> bool:
        return self._name in words

    def find_numbered(self, output: _Output) -> None:
        for number, forms in output.numbered:
            if number <= len(self._lines) and self._lines[number - 1] in forms:
                self._seen.add(number)

    def find_whole(self, output: _Output) -> None:
        self._find(1, len(self._lines), output)

    def find_parts(self, asked: str, output: _Output) -> None:
        """The lines that a command asked for, as it prints them without their numbers."""
        parts = (
            *((int(found[1]), int(found[2])) for found in _SED.finditer(asked)),
            *((1, int(found[1])) for found in _HEAD.finditer(asked)),
            *((int(found[1]), _LAST) for found in _TAIL.finditer(asked)),
        )
        for first, last in tuple(dict.fromkeys(parts))[:MOST_PARTS]:
            self._find(first, min(last, len(self._lines)), output)

    def _find(self, first: int, last: int, output: _Output) -> None:
        if 1 <= first <= last and output.holds(self._lines[first - 1 : last]):
            self._seen.update(range(first, last + 1))
