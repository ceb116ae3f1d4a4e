"""A view as a fragment of HTML. Everything that is text is escaped; no style and no script is in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from overlord.command_ref import CommandRef, Word
from overlord.domain.text.plain import visible
from overlord.domain.view.graph import Graph
from overlord.domain.view.graph_svg import graph_figure
from overlord.domain.view.span import Bold, Code, Command, Issue, Link, Mark, Mention, Moment, Pull, Span
from overlord.domain.view.svg import figure
from overlord.domain.view.view import (
    Action,
    Actions,
    Bullets,
    Button,
    Buttons,
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


class Links:
    """Where a page leads from what a view names: nowhere, unless it says so. Each gives an address, or nothing."""

    def command(self, _ref: CommandRef) -> str:
        return ""

    def issue(self, _space: str, _number: int) -> str:
        return ""

    def pull(self, _space: str, _number: int) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class _Page:
    """How commands are typed where the page is read, and where it leads."""

    word: Word
    links: Links


def html(view: View, word: Word, *, links: Links | None = None) -> str:
    """Its parts, one below the other; `word` is how a command is typed where the page is read."""
    title, page = ([Heading(view.summary)] if view.has_title else []), _Page(word, links or Links())
    return "\n".join(_part(part, page) for part in (*title, *view.parts))


def _part(part: Part, page: _Page) -> str:
    match part:
        case Heading(text):
            return f"<h2>{_text(text)}</h2>"
        case Paragraph(spans):
            return f"<p>{_line(spans, page)}</p>"
        case Quote(text):
            return f"<blockquote>{_text(text)}</blockquote>"
        case Output(text):
            return f"<pre>{_text(text)}</pre>"
        case Note(text):
            return f"<p><small>{_text(text)}</small></p>"
        case Rule():
            return "<hr>"
        case Buttons(buttons):
            return f"<p>{' '.join(map(_button, buttons))}</p>"
        case Chart():
            return figure(part)
        case Graph():
            return graph_figure(part)
        case Outline(points):
            return _items(_outlined([_line(line, page) for line in point]) for point in points)
        case Bullets() | Fields() | Table() | Actions():
            return _list(part, page)


def _list(part: Bullets | Fields | Table | Actions, page: _Page) -> str:
    match part:
        case Bullets(items):
            return _items(_line(item, page) for item in items)
        case Actions(actions):
            return _items(_action(action, page) for action in actions)
        case Fields(fields):
            pairs = (f"<dt>{_text(name)}</dt><dd>{_line(spans, page)}</dd>" for name, spans in fields)
            return f"<dl>{''.join(pairs)}</dl>"
        case Table(columns, rows):
            head = "".join(f'<th scope="col">{_text(name)}</th>' for name in columns)
            body = "".join(
                f"<tr>{''.join(f'<td>{_line(cell, page)}</td>' for cell in row)}</tr>" for row in rows
            )
            table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            return f'<div class="scroll" tabindex="0" role="region" aria-label="Table">{table}</div>'


def _outlined(lines: Sequence[str]) -> str:
    return f"{lines[0]}{_items(lines[1:])}" if lines[1:] else lines[0]


def _items(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _action(action: Action, page: _Page) -> str:
    said = f" {_text(action.consequence)}" if action.consequence else ""
    return f"{_text(action.label)}: {_command(action.ref, page)}{said}"


def _button(button: Button) -> str:
    if button.url:
        return _link(Link(button.url, button.label))
    return f'<button name="press" value="{escape(button.value)}">{_text(button.label)}</button>'


def _line(spans: Iterable[Span], page: _Page) -> str:
    return "".join(_span(span, page) for span in spans)


def _span(span: Span, page: _Page) -> str:
    match span:
        case str():
            return _text(span)
        case Bold(text):
            return f"<strong>{_text(text)}</strong>"
        case Code(text):
            return f"<code>{_text(text)}</code>"
        case Command(ref):
            return _command(ref, page)
        case Issue() if span.call:
            return _linked(page.links.command(CommandRef("call", (span.call,))), _text(span.words))
        case Issue(space, number):
            return _linked(page.links.issue(space, number), _text(span.words))
        case Pull(space, number):
            return _linked(page.links.pull(space, number), _text(f"{space}#{number}"))
        case Link():
            return _link(span)
        case Mention(user):
            return f"@{_text(user)}"
        case Moment(at):
            return f'<time datetime="{datetime.fromtimestamp(at, UTC).isoformat()}">{span.words}</time>'
        case Mark(sign):
            return f"{_text(sign)} "


def _command(ref: CommandRef, page: _Page) -> str:
    return _linked(page.links.command(ref), _text(page.word(ref)))


def _linked(address: str, shown: str) -> str:
    code = f"<code>{shown}</code>"
    return f'<a href="{escape(address)}" rel="noreferrer">{code}</a>' if address else code


def _link(link: Link) -> str:
    shown = _text(link.text or link.url)
    return f'<a href="{escape(link.url)}" rel="noreferrer">{shown}</a>' if link.is_address else shown


def _text(text: str) -> str:
    return escape(visible(text))
