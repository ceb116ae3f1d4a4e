"""A skill's text in the lines it is understood in: a command with what continues it, a sentence with what was wrapped.

Line breaks within a paragraph mean nothing to whoever reads it, so that nothing may hang on where they stand.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

LONGEST = 2_000
"""A logical line is read in pieces of so many characters, so that no pattern takes long."""
_OVERLAP = 300
_MOST_JOINED = 12
_CONTINUED = re.compile(r"(?<!\\)\\[ \t]*$")
_GOES_ON = re.compile(r"(?:(?<!\\)\\|\||&&)[ \t]*$")
_BLOCK = re.compile(r"[ \t]*+(?>(?:-[ \t]++)*)(?>(?:[\"'\w-]++:)?)[ \t]*+\|[ \t]*+$")
"""Where YAML begins a block of text."""
_ROW = re.compile(r"[ \t]*\|")
_BEGINS_WITHIN = re.compile(r"^[ \t]*(?:\|(?![^\n]*\|[ \t]*$)|&&)")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_CODE = re.compile(r"(?: {4}|\t)")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_ALONE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\|)")
"""A heading, and a row of a table: no part of a paragraph."""
_QUOTE = re.compile(r"^[ \t]*>[ \t]?")
_COMMENT = re.compile(r"^[ \t]*(?:#+|//+|--)[ \t]+(?=\S)")


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """One line, or several that continue each other, and where it begins in the file."""

    number: int
    text: str
    header: str = ""
    """What introduces the list this is an item of."""
    seams: tuple[tuple[int, int], ...] = ()
    """Where in the text which of the lines it was made of begins."""
    last: int = 0
    """The last of those lines."""
    is_code: bool = False
    """Whether its lines are those of a program, which line breaks part."""

    def number_at(self, at: int) -> int:
        """The line of the file that a place in the text is on."""
        found = bisect_right(self.seams, (at, LONGEST**2))
        return self.seams[found - 1][1] if found else self.number

    @property
    def continued(self) -> Iterator[tuple[int, str]]:
        """The lines that begin within a sentence, by all that is seen of them, and the end of what precedes each."""
        if not self.is_code:
            for at, number in self.seams[1:]:
                before = self.text[max(at - 40, 0) : at].rstrip()
                if before[-1:] not in ".!?:;" and self.text[at : at + 1].islower():
                    yield number, before

    def span_at(self, at: int) -> tuple[int, int]:
        """The lines a place may be on: one, but where the lines of a value are not those of the file."""
        return (self.number_at(at),) * 2 if self.seams else (self.number, self.last)


def logical_lines(text: str, first: int = 1) -> Iterator[LogicalLine]:
    """Lines with those that go on joined, in pieces of a readable length; each knows where it begins."""
    joined: list[str] = []
    start, header, introduced = first, "", ""
    lines = text.split("\n")
    for number, line in enumerate(lines, first):
        introduced = _introduction(line, introduced)
        header = _header(line, introduced, header)
        start = number if not joined else start
        following = lines[number - first + 1] if number - first + 1 < len(lines) else ""
        is_structure = _BLOCK.match(line) or _ROW.match(line)
        goes_on = _GOES_ON.search(line) and following.strip() and not is_structure
        joined.append(line)
        if (goes_on or _BEGINS_WITHIN.match(following)) and len(joined) < _MOST_JOINED:
            continue
        yield from _as_one(joined, start, header)
        joined = []


def _as_one(joined: list[str], start: int, header: str) -> Iterator[LogicalLine]:
    """Lines that go on as one; and as a shell has it, to which a line's end after a backslash is nothing at all."""
    item = header if _ITEM.match(joined[0]) else ""
    if len(joined) == 1:
        yield from _pieces(_made([_unbroken(joined[0])], start, header=item))
        return
    yield from _pieces(_made([_unbroken(part).strip() for part in joined], start, header=item))
    if any(_CONTINUED.search(part) for part in joined[:-1]):
        parts = [_unbroken(part) if _CONTINUED.search(part) else f"{part} " for part in joined]
        yield from _pieces(_made([part.lstrip() for part in parts], start, header=item, by=""))


def _unbroken(line: str) -> str:
    return _CONTINUED.sub("", line)


def _introduction(line: str, before: str) -> str:
    """What a paragraph says up to this line of it."""
    if not line.strip() or _BLOCK.match(line):
        return ""
    return line.strip() if _ITEM.match(line) or not before else f"{before} {line.strip()}"[-LONGEST:]


def _header(line: str, introduced: str, before: str) -> str:
    """What introduces a list; it holds until a line that is no item of one."""
    if line.rstrip().endswith(":"):
        return introduced
    return before if _ITEM.match(line) or not line.strip() or _CODE.match(line) else ""


def paragraphs(text: str, first: int = 1) -> Iterator[LogicalLine]:
    """The paragraphs of a text that have several lines, each as one, and those of its programs; items with what introduces them."""
    header, introduced = "", ""
    for start, lines, is_code in _blocks(text):
        before, header = header, ""
        introduced = " ".join(line.strip() for line in lines)
        if introduced.endswith(":"):
            header = introduced
        elif _ITEM.match(lines[0]) or is_code:
            header = before
        item = before if _ITEM.match(lines[0]) else ""
        if len(lines) > 1 or item:
            bare = [_without_comment(line, is_code=is_code) for line in lines]
            for made in _joins(bare, first + start, item):
                yield from _pieces(replace(made, is_code=is_code))


def _joins(parts: list[str], number: int, header: str) -> Iterator[LogicalLine]:
    """A paragraph; of lines that are long only where they meet others, for they are read by themselves too."""
    run: list[str] = []
    for place, part in enumerate(parts):
        if len(part) <= 2 * _OVERLAP:
            run.append(part)
            continue
        yield _made([*run, part[:_OVERLAP]], number + place - len(run), header=header)
        run = [part[-_OVERLAP:]]
    if len(run) > 1 or len(parts) == 1:
        yield _made(run, number + len(parts) - len(run), header=header)


def comments(text: str) -> Iterator[LogicalLine]:
    """Lines one after another that begin as comments do, as one without their marks."""
    run: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if _COMMENT.match(line):
            run.append(_COMMENT.sub("", line))
            continue
        if len(run) > 1:
            yield from _pieces(replace(_made(run, number - len(run)), is_code=True))
        run = []


def _without_comment(line: str, *, is_code: bool) -> str:
    return _COMMENT.sub("", line).strip() if is_code else _unbroken(_QUOTE.sub("", line)).strip()


def _blocks(text: str) -> Iterator[tuple[int, list[str], bool]]:
    """Each run of lines that belong together, where it begins, and whether it is a program."""
    block: list[str] = []
    start, is_code, is_fenced = 0, False, False
    for number, line in enumerate(text.split("\n")):
        is_fence = _FENCE.match(line) is not None
        if block and (is_fence or not line.strip() or (not is_code and _begins(line, block[-1]))):
            yield start, block, is_code
            block = []
        if is_fence:
            is_fenced = not is_fenced
        elif line.strip():
            if not block:
                start, is_code = number, is_fenced or _CODE.match(line) is not None
            block.append(line)
    if block:
        yield start, block, is_code


def _begins(line: str, before: str) -> bool:
    """Whether a line is none that continues the one before it."""
    return bool(_ITEM.match(line) or _ALONE.match(line) or _ALONE.match(before))


def _made(parts: list[str], number: int, *, header: str = "", by: str = " ") -> LogicalLine:
    seams, at = [], 0
    for place, part in enumerate(parts):
        seams.append((at, number + place))
        at += len(part) + len(by)
    return LogicalLine(number, by.join(parts), header, tuple(seams), number + len(parts) - 1)


def _pieces(line: LogicalLine) -> Iterator[LogicalLine]:
    for at in range(0, max(len(line.text), 1), LONGEST - _OVERLAP):
        seams = tuple((max(place - at, 0), number) for place, number in line.seams)
        yield replace(
            line, number=line.number_at(at), text=line.text[at : at + LONGEST], seams=_last_of_each(seams)
        )


def _last_of_each(seams: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return tuple(dict(seams).items())
