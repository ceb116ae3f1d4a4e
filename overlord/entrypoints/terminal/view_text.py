"""A view in a terminal: tables for lists, commands as they are typed here, nothing of anybody's acts. Without colours it reads the same."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from overlord.domain.text.plain import visible
from overlord.domain.view.graph import Graph
from overlord.domain.view.graph_text import graph_lines
from overlord.domain.view.span import Bold, Code, Command, Issue, Link, Mark, Mention, Moment, Pull, Span
from overlord.domain.view.sparkline import ASCII, BLOCKS, range_text, sparkline
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
from overlord.entrypoints.invocation import as_pasted, command
from overlord.entrypoints.terminal.show import console, draw_table, show_command, show_line
from overlord.verbs.typed_words import after_overlord

CHART_COLUMNS = 80
"""What a chart's line takes at most."""
TITLE_COLUMNS, RANGE_COLUMNS = 20, 36


def show_view(view: View) -> None:
    """Print it."""
    for index, part in enumerate(view.parts):
        if index and isinstance(part, Heading):
            show_line(Text(""))
        _show(part)


def _show(part: Part) -> None:
    match part:
        case Heading(text):
            show_line(Text(_words(text), "bold"))
        case Paragraph(spans):
            show_line(_text(spans))
        case Quote(text):
            for line in visible(text).splitlines():
                show_line(Text(f"  > {line}"))
        case Output(text):
            for line in visible(text).splitlines():
                show_line(Text(f"  | {line}"))
        case Note(text):
            show_line(Text(_words(text)))
        case Rule():
            show_line(Text(""))
        case Chart():
            show_line(_chart(part, signs=signs_of(console.encoding)))
        case Graph():
            is_ascii = signs_of(console.encoding) == ASCII
            for line in graph_lines(part, is_ascii=is_ascii):
                show_line(Text(line))
        case Bullets() | Outline() | Fields() | Table() | Actions():
            _show_list(part)


def _show_outline(points: Sequence[Sequence[Sequence[Span]]]) -> None:
    """Points with an empty line between them, where they have lines below them."""
    for index, (first, *below) in enumerate(points):
        if index and (below or len(points[index - 1]) > 1):
            show_line(Text(""))
        show_line(Text("  ").append(_text(first)))
        for line in below:
            show_line(Text("    ").append(_text(line)))


def _show_list(part: Bullets | Outline | Fields | Table | Actions) -> None:
    match part:
        case Bullets(items):
            for item in items:
                show_line(Text("- ").append(_text(item)))
        case Outline(points):
            _show_outline(points)
        case Fields(fields):
            for name, spans in fields:
                show_line(Text().append(f"{_words(name)}: ", "bold").append(_text(spans)))
        case Table(columns, rows):
            draw_table(columns, [[_text(cell) for cell in row] for row in rows])
        case Actions(actions):
            for action in actions:
                said = f"{action.label}: {action.consequence}" if action.consequence else action.label
                bound = f" --digest {action.digest}" if action.digest else ""
                show_command(f"{after_overlord(action.ref)}{bound}", indent="  ", comment=said)


def _text(spans: Sequence[Span]) -> Text:
    text = Text()
    for span in spans:
        text.append(*_styled(span))
    return text


def _styled(span: Span) -> tuple[str, str]:
    """The words of a span, and their style."""
    match span:
        case str():
            return _words(span), ""
        case Bold(text):
            return _words(text), "bold"
        case Code(text):
            return visible(text), ""
        case Link(url, text):
            return visible(f"{text} ({url})" if text and text != url else url), ""
        case Mention(user):
            return f"@{visible(user)}", ""
        case Moment():
            return span.words, ""
        case Issue():
            return span.words, ""
        case Pull(number=number):
            return f"#{number}", ""
        case Command(ref):
            return command(after_overlord(ref)), "bold"
        case Mark():
            return "", ""


def _words(text: str) -> str:
    return as_pasted(visible(text))


def signs_of(encoding: str) -> str:
    """What sparklines are drawn with where output is in an encoding: its own letters where it has no blocks."""
    try:
        BLOCKS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def _chart(chart: Chart, *, signs: str) -> Text:
    """One line: title, sparkline, range."""
    title, told = _cut(chart.title, TITLE_COLUMNS), _cut(range_text(chart), RANGE_COLUMNS)
    room = CHART_COLUMNS - TITLE_COLUMNS - cell_len(told) - 4
    text = Text(set_cell_size(title, TITLE_COLUMNS), "bold")
    return text.append(f"  {sparkline(chart, most=room, signs=signs)}  {told}", "not bold")


def _cut(text: str, columns: int) -> str:
    line = " ".join(_words(text).split())
    return line if cell_len(line) <= columns else f"{set_cell_size(line, columns - 2).rstrip()}.."
