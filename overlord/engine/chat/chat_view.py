"""A view as it is shown in a chat: commands as they are typed there, issues as links, long lists cut."""

from dataclasses import replace

from overlord.domain.view.span import Code, Command, Issue, Link, Pull, Span
from overlord.domain.view.view import Actions, Bullets, Fields, Heading, Outline, Paragraph, Part, Table, View
from overlord.verbs.typed_words import typed_in_chat

MOST_SHOWN = 10
"""Of anything in one list; how many more there are is said."""


def chat_view(view: View, *, web: str) -> View:
    """`web` is where repositories are shown to people, as https://github.com; without it names are no links."""
    title = (Heading(view.summary),) if view.has_title else ()
    return replace(view, parts=tuple(_part(part, web) for part in (*title, *view.parts)), has_title=False)


def worded(card: View) -> View:
    """A card with its commands as they are typed in a chat; all else is as it is."""
    parts = (
        Paragraph(
            tuple(Code(typed_in_chat(span.ref)) if isinstance(span, Command) else span for span in part.spans)
        )
        if isinstance(part, Paragraph)
        else part
        for part in card.parts
    )
    return replace(card, parts=tuple(parts))


def _part(part: Part, web: str) -> Part:
    match part:
        case Paragraph(spans):
            return Paragraph(_spans(spans, web))
        case Fields(items):
            return Fields(tuple((name, _spans(spans, web)) for name, spans in items))
        case Bullets(items):
            points = tuple(_spans(item, web) for item in items[:MOST_SHOWN])
            return Bullets((*points, *_more(len(items))))
        case Outline(points):
            shown_points = tuple(tuple(_spans(line, web) for line in point) for point in points[:MOST_SHOWN])
            return Outline((*shown_points, *((more,) for more in _more(len(points)))))
        case Table(columns, rows):
            shown = tuple(tuple(_spans(cell, web) for cell in row) for row in rows[:MOST_SHOWN])
            return Table(columns, (*shown, *((more,) for more in _more(len(rows)))))
        case Actions(actions):
            return Bullets(
                tuple(
                    (f"{item.label}: ", Code(typed_in_chat(item.ref)), f"  {item.consequence}".rstrip())
                    for item in actions
                )
            )
    return part


def _more(total: int) -> tuple[tuple[Span, ...], ...]:
    return ((f"and {total - MOST_SHOWN} more",),) if total > MOST_SHOWN else ()


def _spans(spans: tuple[Span, ...], web: str) -> tuple[Span, ...]:
    return tuple(_span(span, web) for span in spans)


def _span(span: Span, web: str) -> Span:
    match span:
        case Command(ref):
            return Code(typed_in_chat(ref))
        case Issue(space, number):
            is_linked = bool(web) and not span.call
            return _link(f"{web}/{space}/issues/{number}" if is_linked else "", span.words)
        case Pull(space, number):
            return _link(f"{web}/{space}/pull/{number}" if web else "", f"PR #{number}")
    return span


def _link(url: str, name: str) -> Span:
    return Link(url, name) if url else Code(name)
