"""A view in GitHub's Markdown, for a comment. Nobody's words become a mention, a link, a reference, HTML or a closing keyword."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from overlord.command_ref import Word
from overlord.domain.text.plain import ZERO_WIDTH, code_block, defused_line, quoted, visible
from overlord.domain.view.graph import Graph
from overlord.domain.view.graph_text import graph_lines
from overlord.domain.view.span import Bold, Code, Command, Issue, Link, Mark, Mention, Moment, Pull, Span
from overlord.domain.view.sparkline import chart_spans
from overlord.domain.view.view import (
    Actions,
    Bullets,
    Chart,
    Fields,
    Heading,
    Note,
    Outline,
    Output,
    Paragraph,
    Part,
    Quote,
    Rule,
    Table,
    View,
)

_TEXTS = str | Mention | Moment | Mark
_BLOCK = re.compile(r"```|~~~|#{1,6}(\s|$)|[-+*](\s|$)|>|\d+[.)](\s|$)|\[[^\]]*\](:|\s)|([-_*]\s*){3,}$|=+$")
"""How a line begins that is a fence, a heading, a point, a quote, a definition, a task's box or a rule."""


MOST_OUTPUT = 20_000
"""Characters of one output, the last: what people decide on is shown whole, as long as the longest diff is."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How commands are worded where a view is shown, and the repository whose pull requests are references there."""

    word: Word
    space: str


def markdown(view: View, word: Word, *, space: str = "") -> str:
    """Its parts, one below the other. Buttons are left out: nobody can press one here. Pull requests of `space`, where a comment is
    written, become references to them; elsewhere names do not."""
    title = [Heading(view.summary)] if view.has_title else []
    place = _Place(word, space)
    texts = (_part(part, place) for part in (*title, *view.parts))
    return "\n\n".join(filter(None, texts))


def _part(part: Part, place: _Place) -> str:
    match part:
        case Heading(text):
            return f"### {defused_line(text)}"
        case Paragraph(spans):
            return _begun(_line(spans, place))
        case Quote(text):
            return quoted(text)
        case Output(text):
            return code_block(text, limit=MOST_OUTPUT)
        case Note(text):
            return _begun(defused_line(text))
        case Rule():
            return "---"
        case Chart():
            return _begun(_line(chart_spans(part), place))
        case Graph():
            return code_block("\n".join(graph_lines(part)), limit=MOST_OUTPUT)
        case Outline(points):
            return "\n".join(_outlined(point, place) for point in points)
        case Bullets() | Fields() | Table() | Actions():
            return _list(part, place)
    return ""


def _list(part: Bullets | Fields | Table | Actions, place: _Place) -> str:
    match part:
        case Bullets(items):
            return _points(_begun(_line(item, place)) for item in items)
        case Fields(fields):
            return _points(f"**{defused_line(name)}:** {_line(spans, place)}" for name, spans in fields)
        case Actions(actions):
            return _points(
                f"{_begun(defused_line(item.label))}: {_code(place.word(item.ref))} {defused_line(item.consequence)}".rstrip()
                for item in actions
            )
        case Table(columns, rows):
            head = [_row(map(defused_line, columns)), f"|{'---|' * len(columns)}"]
            return "\n".join((*head, *(_row(_line(cell, place) for cell in row) for row in rows)))


def _outlined(point: Sequence[Sequence[Span]], place: _Place) -> str:
    first, *below = (_begun(_line(line, place)) for line in point)
    return "\n".join((f"- {first}", *(f"  - {line}" for line in below)))


def _points(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _row(cells: Iterable[str]) -> str:
    kept = (cell.replace("|", "/") for cell in cells)
    return f"{''.join(f'| {cell} ' if cell else '| ' for cell in kept)}|"


def _begun(line: str) -> str:
    """A line that begins a block; its first letters make no other kind of block of it."""
    return f"{ZERO_WIDTH}{line}" if _BLOCK.match(line) else line


def _line(spans: Iterable[Span], place: _Place) -> str:
    joined = list(_joined(spans, place))
    has_code = any(item.startswith("`") for is_text, item in joined if not is_text)
    shown = [_words(text, has_code=has_code) if is_text else text for is_text, text in joined]
    return "".join(shown).strip()


def _joined(spans: Iterable[Span], place: _Place) -> Iterator[tuple[bool, str]]:
    """Texts, and marked-up words between them. Neighbouring texts are one: a forge reads `@` and `bob` as one, too."""
    for is_text, group in groupby(spans, lambda span: isinstance(span, _TEXTS)):
        if is_text:
            yield True, "".join(_plain(span) for span in group)
        else:
            yield from ((False, _span(span, place)) for span in group)


def _plain(span: Span) -> str:
    """The words of a span that has no mark-up here."""
    match span:
        case Mention(user):
            return user
        case Moment():
            return span.words
        case Mark(sign):
            return f"{sign} "
    assert isinstance(span, str)
    return span


def _span(span: Span, place: _Place) -> str:
    match span:
        case Bold(text):
            return f"**{_marked(text).replace('*', '∗')}**" if text.strip() else ""
        case Code(text):
            return _code(text)
        case Command(ref):
            return _code(place.word(ref))
        case Pull(space, number) if space == place.space:
            return f"(#{number})"  # no word beside it makes another reference of it, nor a closing one
        case Issue():
            return _code(span.words)
        case Pull(space, number):
            return _code(f"{space}#{number}")
        case Link(url, text):
            shown = _marked(text or url).replace("]", "")
            return f"[{shown}]({url})" if span.is_address else shown
    raise AssertionError(f"{span!r} is a text")


def _marked(text: str) -> str:
    """Words within mark-up, which no code span leads out of."""
    return defused_line(text).replace("`", "'")


def _words(text: str, *, has_code: bool) -> str:
    """On one line, with the blanks around it that part it from its neighbours, of which it changes none."""
    line = defused_line(text)
    if has_code:
        line = line.replace("`", "'")
    if line.endswith(("!", "\\", "]")):
        line += ZERO_WIDTH
    before, after = (" " if text[:1].isspace() else ""), (" " if text[-1:].isspace() else "")
    return f"{before}{line}{after}" if line else " "[: len(text)]


def _code(text: str) -> str:
    """A code span, which nothing in it can leave."""
    words = " ".join(visible(text).replace("`", "'").split())
    return f"`{words}`" if words else ""
