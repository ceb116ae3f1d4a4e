"""Markup that hides: comments, tags that render as nothing, elements that hide what they hold, unused definitions.

What stands in a fence or a code span is shown to people and is left alone. Linear in the text's length.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape

from overlord.domain.text.hidden_character import is_unseen
from overlord.domain.text.markdown_block import Block, BlockKind, Footnote, blocks


@dataclass(frozen=True, slots=True)
class Hidden:
    """A part of the text that people do not see, and what it says."""

    start: int
    end: int
    seen_as: str


@dataclass(frozen=True, slots=True)
class _Definition:
    label: str
    place: Hidden
    leads_on: bool
    """Whether what refers to it is a link to somewhere, or a footnote."""


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    name: str
    closes: bool
    hides: bool
    is_known: bool


_MARK = re.compile(r"\\.|`+|<!--|<!\[CDATA\[|<![A-Za-z]|<\?|</?(?=[A-Za-z])|&#")
_CLOSERS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_TAG = re.compile(
    r"</?([A-Za-z][A-Za-z0-9-]*+)"
    r"((?>(?:\s++[A-Za-z_:@][\w.:@-]*+(?>(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?))*))\s*+/?>"
)
_LENIENT_TAG = re.compile(r"</?([A-Za-z][^\s/<>]*+)([^<>]*+)>")
"""As browsers read raw HTML."""
_ATTRIBUTE = re.compile(r"([^\s=/\"'<>]++)(?>(?:\s*+=\s*+(\"[^\"]*+\"?|'[^']*+'?|[^\s>]++))?)")
_ENTITY = re.compile(r"&#(?:[xX]([0-9A-Fa-f]{1,6})|([0-9]{1,7}));")
_NUMBER = re.compile(r"(&#)0*+([0-9]{0,7}+)[0-9]*+")
"""A number that `unescape` would refuse to read if it were thousands of digits long."""
_DEFINITION = re.compile(
    r"\[((?>(?:[^\[\]\\]|\\.){1,999}))\]:[ \t]*+\n?[ \t]*+(<[^<>\n]*+>|[^\s<]\S*+)"
    r"(?>(?:[ \t]*+\n?[ \t]*+(?<=\s)(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?)[ \t]*+(?:\n|\Z)"
)
_LABEL = re.compile(r"\[([^\[\]]{1,999}+)\]")
_ROW = re.compile(r"^[ \t>]*+[|:\- \t]*+$", re.MULTILINE)
_CELL_END = re.compile(r"[|\n]")
_STYLE = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:0?\.?0*(?:;|$)|font-size:0|color:transparent|(?:width|height):0"
)
_SILENT = re.compile("script|style|template|title|head|noscript|iframe|object|noembed|noframes|datalist")
_VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
_KNOWN = re.compile(
    "a|abbr|b|bdo|big|blockquote|body|caption|center|cite|code|dd|del|details|dfn|div|dl|dt|em"
    "|figcaption|figure|font|footer|form|h1|h2|h3|h4|h5|h6|h7|h8|header|html|i|ins|kbd|label|li|main"
    "|mark|nav|ol|p|picture|pre|q|rp|rt|ruby|s|samp|section|small|span|strike|strong|sub|summary|sup"
    "|svg|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|video"
)
_DIRECTIVE = re.compile(
    "align|alt|border|checked|cite|class|color|colspan|controls|datetime|dir|disabled|headers|height"
    "|href|id|lang|loading|media|name|open|rel|rowspan|sizes|size|src|srcset|start|style|target"
    "|title|type|valign|width"
)
"""Attributes that a tag may have without hiding what its author had to say."""


def hidden_markup(text: str) -> list[Hidden]:
    """What the markup of a text hides, in order and without overlap. Lines end with `\\n`."""
    parts, footnotes = blocks(text)
    defined = [item for part in parts if part.kind is BlockKind.TEXT for item in _definitions(text, part)]
    defined += [_footnote(text, note) for note in footnotes]
    scan = _Scan(text)
    found = scan.elements(parts)
    used = _used(text, [*scan.code, *found, *(item.place for item in defined)]) if defined else set()
    return _apart([*found, *(item.place for item in defined if not item.leads_on or item.label not in used)])


class _Scan:
    """One pass over the parts of a text. A closer that was once looked for in vain is not looked for again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.code: list[Hidden] = []
        """Code, which is no link's text."""

    def elements(self, parts: Iterable[Block]) -> list[Hidden]:
        """Comments and the like, tags that render as nothing, and elements that hide what they hold."""
        found: list[Hidden] = []
        hiding: _Tag | None = None
        depth = 0
        for item in self._items(parts):
            if hiding is None:
                if isinstance(item, Hidden):
                    found.append(item)
                elif item.hides and not item.closes and _VOID.fullmatch(item.name) is None:
                    hiding, depth = item, 1
                elif item.hides or not item.is_known:
                    found.append(Hidden(item.start, item.end, self.text[item.start : item.end]))
            elif isinstance(item, _Tag) and item.name == hiding.name:
                depth += -1 if item.closes else 1
                if depth == 0:
                    found.append(Hidden(hiding.start, item.end, self.text[hiding.start : item.end]))
                    hiding = None
        if hiding is not None:
            found.append(Hidden(hiding.start, len(self.text), self.text[hiding.start :]))
        return found

    def _items(self, parts: Iterable[Block]) -> Iterator[Hidden | _Tag]:
        reached = 0
        for part in parts:
            if part.end <= reached:
                continue
            if part.kind is BlockKind.CODE:
                self.code.append(Hidden(part.start, part.end, ""))
                continue
            for item in self._part(part, max(part.start, reached)):
                yield item
                reached = max(reached, item.end)

    def _part(self, part: Block, at: int) -> Iterator[Hidden | _Tag]:
        text, is_html = self.text, part.kind is BlockKind.HTML
        spans = {} if is_html else _backticks(text, at, part.end)
        is_table = not is_html and _is_table(text, part)
        missing: set[str] = set()
        while mark := _MARK.search(text, at, part.end):
            at, sort = mark.end(), mark[0]
            item: Hidden | _Tag | None
            if is_html and sort[0] in "\\`":
                at = mark.start() + 1
                continue
            if sort[0] == "`":
                closed = self._code_span(mark.start(), len(sort), spans, is_table)
                at = max(at, closed)
                continue
            if sort[0] == "\\":
                at = mark.start() + 1 if sort[1].isalnum() else at
                continue
            if sort == "&#":
                item = self._entity(mark.start(), part.end)
            elif sort.startswith(("<!", "<?")):
                item = self._comment(mark.start(), sort, part, missing)
            else:
                item = self._tag(mark.start(), part)
            if item is not None:
                yield item
                at = max(at, item.end)

    def _code_span(self, start: int, length: int, spans: dict[int, list[int]], is_table: bool) -> int:
        """Where the code span that begins here ends; 0 when none does."""
        ends = spans.get(length, [])
        number = bisect_left(ends, start + length)
        if number == len(ends):
            return 0
        end = ends[number] + length
        if is_table and _CELL_END.search(self.text, start, end):
            return 0  # a cell's code ends with the cell
        self.code.append(Hidden(start, end, ""))
        return end

    def _comment(self, start: int, sort: str, part: Block, missing: set[str]) -> Hidden:
        closer = _CLOSERS.get(sort, ">")
        begin = start + (2 if closer == "-->" else len(sort))
        end = -1 if closer in missing else self.text.find(closer, begin, part.end)
        if end < 0:
            missing.add(closer)
            stop = len(self.text) if part.kind is BlockKind.HTML else part.end
            return Hidden(start, stop, self.text[start + len(sort) : stop])
        return Hidden(start, end + len(closer), self.text[start + len(sort) : end])

    def _tag(self, start: int, part: Block) -> _Tag | None:
        found = _TAG.match(self.text, start, part.end)
        if found is None and part.kind is BlockKind.HTML:
            found = _LENIENT_TAG.match(self.text, start, part.end)
        if found is None:
            return None
        name = found[1].lower()
        attributes = [(key.lower(), value.strip("\"'")) for key, value in _ATTRIBUTE.findall(found[2])]
        is_element = bool(_KNOWN.fullmatch(name) or _VOID.fullmatch(name))
        is_known = is_element and all(_DIRECTIVE.fullmatch(key) for key, _ in attributes)
        hides = bool(_SILENT.fullmatch(name)) or any(_hides(key, value, name) for key, value in attributes)
        closes = self.text[start + 1] == "/"
        return _Tag(start, found.end(), name, closes, hides, is_known or (closes and is_element))

    def _entity(self, start: int, end: int) -> Hidden | None:
        """Characters nobody sees, written as numbers."""
        at, text = start, ""
        while found := _ENTITY.match(self.text, at, end):
            number = int(found[1], 16) if found[1] else int(found[2])
            if number > 0x10FFFF or not is_unseen(chr(number)):
                break
            text += chr(number)
            at = found.end()
        return Hidden(start, at, text) if text else None


def _backticks(text: str, start: int, end: int) -> dict[int, list[int]]:
    """Where the runs of backticks are, by their length."""
    runs: dict[int, list[int]] = {}
    for run in re.finditer(r"`+", text[start:end]):
        runs.setdefault(len(run[0]), []).append(start + run.start())
    return runs


def _is_table(text: str, part: Block) -> bool:
    return any("|" in row[0] and "-" in row[0] for row in _ROW.finditer(text, part.start, part.end))


def _hides(key: str, value: str, name: str) -> bool:
    if key == "hidden":
        return True
    if key == "type":
        return name == "input" and value.lower() == "hidden"
    if key != "style":
        return False
    plain = unescape(_NUMBER.sub(r"\1\2", value)).lower()
    begins, *rest = plain.split("/*")
    style = begins + "".join(part.partition("*/")[2] for part in rest)
    return _STYLE.search("".join(style.split())) is not None


def _definitions(text: str, part: Block) -> Iterator[_Definition]:
    """Those a paragraph begins with; it is cut to what follows them."""
    while found := _DEFINITION.match(text, part.start, part.end):
        end = found.end() - found[0].endswith("\n")
        place = Hidden(part.start, end, text[part.start : end])
        yield _Definition(_label(found[1]), place, found[2] not in {"#", "<>", "<#>"})
        part.start = found.end()


def _footnote(text: str, note: Footnote) -> _Definition:
    sentence = text[note.start : note.end].rstrip("\n")
    return _Definition(
        _label("^" + note.label), Hidden(note.start, note.start + len(sentence), sentence), True
    )


def _used(text: str, unread: Iterable[Hidden]) -> set[str]:
    """The labels that people see: not those in code, nor in what is hidden, nor in definitions."""
    used: set[str] = set()
    at = 0
    for item in [*_apart(unread), Hidden(len(text), len(text), "")]:
        used.update(_label(found) for found in _LABEL.findall(text[at : item.start]))
        at = item.end
    return used


def _label(text: str) -> str:
    return " ".join(text.casefold().split())


def _apart(found: Iterable[Hidden]) -> list[Hidden]:
    """The outermost of what overlaps, in order."""
    lines: list[Hidden] = []
    for item in sorted(found, key=lambda item: (item.start, -item.end)):
        if not lines or item.start >= lines[-1].end:
            lines.append(item)
        elif item.end > lines[-1].end:
            last = lines[-1]
            lines[-1] = Hidden(last.start, item.end, f"{last.seen_as} {item.seen_as}")
    return lines
