"""A view in GitHub's Markdown, for a comment. Nobody's words become a mention, a link, a reference, HTML or a closing keyword."""

from collections.abc import Iterable

from overlord.command_ref import Word
from overlord.domain.text.plain import code_block, defused_line, quoted, visible
from overlord.domain.view.span import Bold, Code, Command, Issue, Link, Mark, Mention, Moment, Pull, Span
from overlord.domain.view.view import (
    Actions,
    Bullets,
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


def markdown(view: View, word: Word) -> str:
    """Its parts, one below the other. Buttons are left out: nobody can press one here."""
    title = [Heading(view.summary)] if view.has_title else []
    texts = (_part(part, word) for part in (*title, *view.parts))
    return "\n\n".join(filter(None, texts))


def _part(part: Part, word: Word) -> str:
    match part:
        case Heading(text):
            return f"### {defused_line(text)}"
        case Paragraph(spans):
            return _line(spans, word)
        case Quote(text):
            return quoted(text)
        case Output(text):
            return code_block(text)
        case Note(text):
            return defused_line(text)
        case Rule():
            return "---"
        case Bullets() | Fields() | Table() | Actions():
            return _list(part, word)
    return ""


def _list(part: Bullets | Fields | Table | Actions, word: Word) -> str:
    match part:
        case Bullets(items):
            return _points(_line(item, word) for item in items)
        case Fields(fields):
            return _points(f"**{defused_line(name)}:** {_line(spans, word)}" for name, spans in fields)
        case Actions(actions):
            return _points(
                f"{defused_line(item.label)}: {_code(word(item.ref))} {defused_line(item.consequence)}".rstrip()
                for item in actions
            )
        case Table(columns, rows):
            head = [_row(map(defused_line, columns)), f"|{'---|' * len(columns)}"]
            return "\n".join((*head, *(_row(_line(cell, word) for cell in row) for row in rows)))


def _points(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _row(cells: Iterable[str]) -> str:
    kept = (cell.replace("|", "/") for cell in cells)
    return f"{''.join(f'| {cell} ' if cell else '| ' for cell in kept)}|"


def _line(spans: Iterable[Span], word: Word) -> str:
    return "".join(_span(span, word) for span in spans).strip()


def _span(span: Span, word: Word) -> str:
    match span:
        case str():
            return _kept_blanks(span)
        case Bold(text):
            return f"**{defused_line(text).replace('*', '∗')}**" if text.strip() else ""
        case Code(text):
            return _code(text)
        case Command(ref):
            return _code(word(ref))
        case Issue(space, number) | Pull(space, number):
            return _code(f"{space}#{number}")
        case Link(url, text):
            shown = defused_line(text or url).replace("]", "")
            return f"[{shown}]({url})" if span.is_address else shown
        case Mention(user):
            return defused_line(user)
        case Moment():
            return span.words
        case Mark(sign):
            return f"{sign} "


def _kept_blanks(text: str) -> str:
    """On one line, with the blanks around it that part it from its neighbours."""
    line = defused_line(text)
    before, after = (" " if text[:1].isspace() else ""), (" " if text[-1:].isspace() else "")
    return f"{before}{line}{after}" if line else " "[: len(text)]


def _code(text: str) -> str:
    """A code span, which nothing in it can leave."""
    words = " ".join(visible(text).replace("`", "'").split())
    return f"`{words}`" if words else ""
