"""A view as a fragment of HTML. Everything that is text is escaped; no style and no script is in it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from overlord.command_ref import Word
from overlord.domain.text.plain import visible
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
    Output,
    Paragraph,
    Part,
    Quote,
    Rule,
    Table,
    View,
)


def html(view: View, word: Word) -> str:
    """Its parts, one below the other; `word` is how a command is typed where the page is read."""
    title = [Heading(view.summary)] if view.has_title else []
    return "\n".join(_part(part, word) for part in (*title, *view.parts))


def _part(part: Part, word: Word) -> str:
    match part:
        case Heading(text):
            return f"<h2>{_text(text)}</h2>"
        case Paragraph(spans):
            return f"<p>{_line(spans, word)}</p>"
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
        case Bullets() | Fields() | Table() | Actions():
            return _list(part, word)


def _list(part: Bullets | Fields | Table | Actions, word: Word) -> str:
    match part:
        case Bullets(items):
            return _items(_line(item, word) for item in items)
        case Actions(actions):
            return _items(_action(action, word) for action in actions)
        case Fields(fields):
            pairs = (f"<dt>{_text(name)}</dt><dd>{_line(spans, word)}</dd>" for name, spans in fields)
            return f"<dl>{''.join(pairs)}</dl>"
        case Table(columns, rows):
            head = "".join(f'<th scope="col">{_text(name)}</th>' for name in columns)
            body = "".join(
                f"<tr>{''.join(f'<td>{_line(cell, word)}</td>' for cell in row)}</tr>" for row in rows
            )
            return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _items(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def _action(action: Action, word: Word) -> str:
    said = f" {_text(action.consequence)}" if action.consequence else ""
    return f"{_text(action.label)}: <code>{_text(word(action.ref))}</code>{said}"


def _button(button: Button) -> str:
    if button.url:
        return _link(Link(button.url, button.label))
    return f'<button name="press" value="{escape(button.value)}">{_text(button.label)}</button>'


def _line(spans: Iterable[Span], word: Word) -> str:
    return "".join(_span(span, word) for span in spans)


def _span(span: Span, word: Word) -> str:
    match span:
        case str():
            return _text(span)
        case Bold(text):
            return f"<strong>{_text(text)}</strong>"
        case Code(text):
            return f"<code>{_text(text)}</code>"
        case Command(ref):
            return f"<code>{_text(word(ref))}</code>"
        case Issue(space, number) | Pull(space, number):
            return f"<code>{_text(f'{space}#{number}')}</code>"
        case Link():
            return _link(span)
        case Mention(user):
            return f"@{_text(user)}"
        case Moment(at):
            return f'<time datetime="{datetime.fromtimestamp(at, UTC).isoformat()}">{span.words}</time>'
        case Mark(sign):
            return f"{_text(sign)} "


def _link(link: Link) -> str:
    shown = _text(link.text or link.url)
    return f'<a href="{escape(link.url)}" rel="noreferrer">{shown}</a>' if link.is_address else shown


def _text(text: str) -> str:
    return escape(visible(text))
