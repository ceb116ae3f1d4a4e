"""A Markdown text cut into what is code, what is text and what is raw HTML, as GitHub's flavour has it.

Only as much of the grammar as decides where HTML is HTML and where it is shown. Indented code counts as text: what
looks hidden in it is treated as hidden. Linear in the text's length.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class BlockKind(StrEnum):
    """How a part of the text is read."""

    CODE = "code"
    TEXT = "text"
    HTML = "html"


@dataclass(slots=True)
class Block:
    """A part of the text, by its offsets."""

    start: int
    end: int
    kind: BlockKind


@dataclass(frozen=True, slots=True)
class Footnote:
    """Where a footnote's definition stands."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Container:
    """A quote (width 0), or a list item or footnote by the indentation of what belongs to it."""

    width: int
    start: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class _LineStart:
    """The first character that is no blank of what is left of a line, how far it is indented, and its column."""

    at: int
    columns: int
    column: int


_DEEPEST = 60
_FENCE = re.compile(r"(`{3,}+(?=[^`\n]*+$)|~{3,}+)", re.MULTILINE)
_RULE = re.compile(r"([-*_])[ \t]*+(?>(?:\1[ \t]*+){2,})$", re.MULTILINE)
_UNDERLINE = re.compile(r"(?:=++|-++)[ \t]*+$", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}+(?:[ \t]|$)", re.MULTILINE)
_ITEM = re.compile(r"(?:[-+*]|(?P<number>\d{1,9})[.)])(?=[ \t]|$)", re.MULTILINE)
_FOOTNOTE = re.compile(r"\[\^(?P<label>[^\]\s]{1,200}+)\]:")
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    "|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
    "|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|source|summary|table|tbody|td|tfoot|th|thead|title"
    "|tr|track|ul"
)
_BLANK = re.compile(r"(?!)")
_HTML = (
    (re.compile(r"<(?:script|pre|style|textarea)(?:[\s>]|$)", re.I | re.M), re.compile(r"</(?:script|pre|style|textarea)>", re.I)),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", re.I | re.M), _BLANK),
)  # fmt: skip
"""How raw HTML begins, and what a line has that ends it; `_BLANK`, which nothing matches, stands for an empty line."""
_ALONE = re.compile(
    r"<(?:/[a-z][a-z0-9-]*+[ \t]*+|[a-z][a-z0-9-]*+"
    r"(?>(?:[ \t]++[a-z_:][\w.:-]*+(?>(?:[ \t]*+=[ \t]*+(?:[^\s\"'=<>`]++|'[^'\n]*+'|\"[^\"\n]*+\"))?))*)[ \t]*+/?)>[ \t]*+$",
    re.IGNORECASE | re.MULTILINE,
)
"""Any tag that has a line to itself."""


def blocks(text: str) -> tuple[list[Block], list[Footnote]]:
    """The parts of a text in order, and its footnotes. Lines end with `\\n`."""
    reader = _Reader(text)
    start = 0
    while start < len(text) and not reader.is_lost:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        reader.read(start, end)
        start = end + 1
    reader.finish(start)
    return reader.blocks, reader.footnotes


class _Reader:
    """What is open between two lines: containers, and in the innermost a fence, raw HTML or a paragraph."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.footnotes: list[Footnote] = []
        self.containers: list[_Container] = []
        self.fence = ""
        self.html: re.Pattern[str] | None = None
        self.is_paragraph = False
        self.is_empty_item = False
        self.is_lost = False

    def read(self, start: int, end: int) -> None:
        place, matched = self._inside(start, end)
        is_blank = place.at == end
        if matched == len(self.containers) and self._goes_on(place, end):
            return
        if self.is_empty_item and is_blank and self.containers:
            self._close(len(self.containers) - 1, start)
        self.is_empty_item = False
        if is_blank:
            self._close(matched, start)
            self._end_leaf()
            return
        if self._opens(place, end, matched):
            return
        self._add(start, end)

    def finish(self, start: int) -> None:
        """The text is over; what was nested too deeply to be followed is all taken for HTML."""
        if self.is_lost and start < len(self.text):
            self.blocks.append(Block(start, len(self.text), BlockKind.HTML))
        self._close(0, len(self.text))

    def _place(self, at: int, end: int, column: int = 0) -> _LineStart:
        begins = column
        while at < end and self.text[at] in " \t":
            column += 1 if self.text[at] == " " else 4 - column % 4
            at += 1
        return _LineStart(at, column - begins, column)

    def _inside(self, start: int, end: int) -> tuple[_LineStart, int]:
        """How many of the open containers a line belongs to, and where the rest of it begins."""
        place = self._place(start, end)
        for number, container in enumerate(self.containers):
            if not container.width:
                if place.columns > 3 or place.at == end or self.text[place.at] != ">":
                    return place, number
                place = self._after_quote(place, end)
            elif place.at != end:
                if place.columns < container.width:
                    return place, number
                place = _deeper(place, container.width)
        return place, len(self.containers)

    def _after_quote(self, place: _LineStart, end: int) -> _LineStart:
        rest = self._place(place.at + 1, end, place.column + 1)
        return _deeper(rest, 1) if rest.columns else rest

    def _goes_on(self, place: _LineStart, end: int) -> bool:
        """Take a line into the fence or the HTML that is open."""
        if self.fence:
            self.blocks[-1].end = end
            line = self.text[place.at : end].rstrip(" \t")
            if place.columns <= 3 and line.startswith(self.fence) and set(line) == set(self.fence):
                self._end_leaf()
            return True
        if self.html is None:
            return False
        if self.html is _BLANK and place.at == end:
            self._end_leaf()
            return True
        self.blocks[-1].end = end
        if self.html.search(self.text, place.at, end):
            self._end_leaf()
        return True

    def _opens(self, place: _LineStart, end: int, matched: int) -> bool:
        """Whether a line begins something that is no paragraph; containers it begins are opened."""
        interrupts = self.is_paragraph and matched == len(self.containers)
        is_new = False
        while place.columns <= 3 and place.at < end:
            if self._opens_leaf(place, end, interrupts, matched):
                return True
            container = self._container(place, end, interrupts)
            if container is None:
                break
            self._close(matched, place.at)
            self._end_leaf()
            interrupts, is_new = False, True
            self.containers.append(container)
            matched = len(self.containers)
            if matched > _DEEPEST:
                self.is_lost = True
                self.blocks.append(Block(place.at, end, BlockKind.HTML))
                return True
            place = self._content(place, end, container)
        if place.at == end:
            self.is_empty_item = is_new and self.containers[-1].width > 0
            return True
        if self.is_paragraph and not is_new:
            return False  # it goes on, were it lazily
        self._close(matched, place.at)
        self._end_leaf()
        self._add(place.at, end)
        self.is_paragraph = place.columns <= 3
        return True

    def _opens_leaf(self, place: _LineStart, end: int, interrupts: bool, matched: int) -> bool:
        text, at = self.text, place.at
        if interrupts and _UNDERLINE.match(text, at, end):
            self._end_leaf()
            return True
        fence = _FENCE.match(text, at, end)
        html = None if fence else self._html(at, end, interrupts)
        is_line = (
            not fence and html is None and bool(_RULE.match(text, at, end) or _HEADING.match(text, at, end))
        )
        if not (fence or html or is_line):
            return False
        self._close(matched, at)
        self._end_leaf()
        if fence:
            self.fence = fence[0]
            self.blocks.append(Block(at, end, BlockKind.CODE))
        elif html:
            self.blocks.append(Block(at, end, BlockKind.HTML))
            self.html = None if html.search(text, at, end) else html
        else:
            self.blocks.append(Block(at, end, BlockKind.TEXT))
        return True

    def _html(self, at: int, end: int, interrupts: bool) -> re.Pattern[str] | None:
        if self.text[at] != "<":
            return None
        for begins, ends in _HTML:
            if begins.match(self.text, at, end):
                return ends
        return _BLANK if not interrupts and _ALONE.match(self.text, at, end) else None

    def _container(self, place: _LineStart, end: int, interrupts: bool) -> _Container | None:
        text, at = self.text, place.at
        if text[at] == ">":
            return _Container(0)
        note = None if interrupts else _FOOTNOTE.match(text, at, end)
        if note:
            return _Container(4, at, note["label"])
        item = _ITEM.match(text, at, end)
        if not item:
            return None
        rest = self._place(item.end(), end, place.column + len(item[0]))
        is_empty = rest.at == end
        if interrupts and (is_empty or int(item["number"] or 1) != 1):
            return None
        blanks = rest.columns if not is_empty and rest.columns <= 4 else 1
        return _Container(place.columns + len(item[0]) + blanks)

    def _content(self, place: _LineStart, end: int, container: _Container) -> _LineStart:
        """What follows the mark with which a container begins."""
        if not container.width:
            return self._after_quote(place, end)
        mark = (_FOOTNOTE if container.label else _ITEM).match(self.text, place.at, end)
        length = len(mark[0]) if mark else 0
        rest = self._place(place.at + length, end, place.column + length)
        return _deeper(rest, rest.columns if container.label or rest.columns <= 4 else 1)

    def _add(self, start: int, end: int) -> None:
        """A line of a paragraph; what is indented like code stands for itself."""
        if self.is_paragraph and self.blocks and self.blocks[-1].kind is BlockKind.TEXT:
            self.blocks[-1].end = end
        else:
            self.blocks.append(Block(start, end, BlockKind.TEXT))

    def _end_leaf(self) -> None:
        self.fence, self.html, self.is_paragraph = "", None, False

    def _close(self, count: int, at: int) -> None:
        """Leave all but so many containers."""
        while len(self.containers) > count:
            last = self.containers.pop()
            if last.label:
                self.footnotes.append(Footnote(last.label, last.start, at))


def _deeper(place: _LineStart, width: int) -> _LineStart:
    """The same, with so many columns of its indentation taken for its container's."""
    return _LineStart(place.at, place.columns - width, place.column)
