"""What Overlord writes for a forge, in Markdown of its own making, as parts of a chat message: no mark-up is left to act."""

import html
import re
from collections.abc import Iterator

from overlord.domain.text.plain import visible
from overlord.domain.view.span import Bold, Code, Span
from overlord.domain.view.view import Bullets, Output, Paragraph, Part, Quote

_FENCE = re.compile(r"(`{3,})\w*")
_SPANS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|([^`*]+|[`*])")
_TITLE = re.compile(r"#{1,6} +(.*)")
_DASHES = re.compile(r"[-|: ]+")


def parts_of(markdown: str) -> tuple[Part, ...]:
    """Paragraphs, lists, tables (a point for each row), quotes and fenced output."""
    return tuple(_parts(visible(markdown).splitlines()))


def _parts(lines: list[str]) -> Iterator[Part]:
    rest = lines
    while rest:
        kind = _kind(rest[0])
        if kind == "fence":
            block, rest = _fenced(rest)
            yield Output("\n".join(block))
            continue
        size = next((index for index, line in enumerate(rest) if _kind(line) != kind), len(rest))
        block, rest = rest[:size], rest[size:]
        yield from _block(kind, block)


def _kind(line: str) -> str:
    if _FENCE.match(line):
        return "fence"
    if _TITLE.fullmatch(line):  # `#12` is an issue
        return "title"
    for start, kind in ((">", "quote"), ("- ", "point"), ("|", "row")):
        if line.startswith(start):
            return kind
    return "text" if line.strip() else ""


def _fenced(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines of a fenced block, and those after it."""
    mark = _FENCE.match(lines[0])
    end = next(
        (index for index, line in enumerate(lines[1:], 1) if mark and line.strip() == mark[1]), len(lines)
    )
    return lines[1:end], lines[end + 1 :]


def _block(kind: str, lines: list[str]) -> Iterator[Part]:
    if kind == "quote":
        yield Quote(html.unescape("\n".join(line[1:].removeprefix(" ") for line in lines)))
    elif kind == "point":
        yield Bullets(tuple(_spans(line[2:]) for line in lines))
    elif kind == "row":
        yield Bullets(tuple(_row(line) for line in lines[1:] if not _DASHES.fullmatch(line)))
    elif kind == "title":
        for line in lines:
            yield Paragraph((Bold(html.unescape(line.lstrip("#").strip())),))
    elif kind == "text":
        yield Paragraph(_spans("\n".join(lines)))


def _row(line: str) -> tuple[Span, ...]:
    first, *cells = (cell.strip() for cell in line.strip().strip("|").split("|"))
    return (Bold(html.unescape(first)), *_spans(" " + " · ".join(filter(None, cells))))


def _spans(text: str) -> tuple[Span, ...]:
    found: list[Span] = []
    for code, bold, plain in _SPANS.findall(text):
        if code:
            found.append(Code(html.unescape(code)))
        elif bold:
            found.append(Bold(html.unescape(bold)))
        elif found and isinstance(found[-1], str):
            found[-1] += html.unescape(plain)
        else:
            found.append(html.unescape(plain))
    return tuple(found)
