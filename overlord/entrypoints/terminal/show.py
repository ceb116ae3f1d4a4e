"""How the command line prints: tables for people, JSON for programs, times as ages."""

import getpass
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from overlord.domain.text.json_text import json_text
from overlord.domain.text.plain import visible
from overlord.entrypoints.invocation import as_pasted, command

console = Console(highlight=False)
_PIPED_WIDTH = 2000
error_console = Console(stderr=True, highlight=False)


def as_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json_text(value, indent=2))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table; cells are text, never markup, with commands as they are typed here. Into a pipe a row is one line, however long."""
    draw_table(columns, ([Text(as_pasted(line(cell))) for cell in row] for row in rows))


def draw_table(columns: Sequence[str], rows: Iterable[Sequence[Text]]) -> None:
    """The same of texts that are drawn already; a column without a word in it is left out."""
    cells = [list(row) for row in rows]
    used = [
        index for index in range(len(columns)) if any(len(row) > index and row[index].plain for row in cells)
    ]
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for index in used:
        drawn.add_column(Text(visible(columns[index]), "bold"), overflow="fold")
    for row in cells:
        drawn.add_row(*(row[index] for index in used))
    paper = console if console.is_terminal else Console(highlight=False, width=_PIPED_WIDTH)
    paper.print(drawn)


def line(text: str) -> str:
    """Somebody's words on one line, so that they cannot pass for a line of ours."""
    return " ".join(visible(text).split())


def show_text(text: str) -> None:
    """Text as it is: no markup, no control characters, not wrapped. Commands in it, in backticks, are as they are typed here."""
    console.print(Text(as_pasted(visible(text))), soft_wrap=True)


def show_wrapped(text: str, *, indent: int = 0) -> None:
    """A sentence of others' words or ours, wrapped between words at a terminal, its later lines indented as its first."""
    words = as_pasted(line(text))
    if console.is_terminal:
        console.print(Padding(Text(words), (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent + words), soft_wrap=True)


def show_line(text: Text) -> None:
    """One line that is drawn already, not wrapped."""
    console.print(text, soft_wrap=True)


def card(text: str) -> None:
    """A card, which is Markdown, drawn for a terminal; into a pipe as it is. Other people's words in it can do nothing."""
    if not console.is_terminal:
        show_text(text)
        return
    from rich.markdown import Markdown
    from rich.theme import Theme

    with console.use_theme(Theme(_ON_ANY_BACKGROUND)):
        console.print(Markdown(as_pasted(visible(text)), hyperlinks=False, code_theme="ansi_light"))


_ON_ANY_BACKGROUND = {
    **dict.fromkeys(("markdown.code", "markdown.h2", "markdown.h3", "markdown.item.bullet"), "bold"),
    **dict.fromkeys(("markdown.block_quote", "markdown.table.border", "markdown.table.header"), "none"),
}
"""Rich's own has code on black, and colours for dark terminals."""


DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
"""The terminal's own colours: they can be read on light and dark."""


def diff(text: str) -> None:
    """A diff; what stands around a change is in the colour of all text."""
    for drawn in text.splitlines():
        console.print(Text(visible(drawn), DIFF_COLOURS.get(drawn[:1], "")), soft_wrap=True)


def show_command(words: str, *, indent: str = "", comment: str = "") -> None:
    """`overlord WORDS` on a line of its own, ready to paste; a shell leaves the comment out."""
    typed = f"{indent}{command(words)}"
    console.print(Text(visible(f"{typed:<47} # {line(comment)}" if comment else typed)), soft_wrap=True)


def age(moment: datetime | None) -> str:
    """How long ago, in one unit."""
    if moment is None:
        return "-"
    seconds = max(0, int((datetime.now(UTC) - moment).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def person() -> str:
    """Who types: what the ledger records."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user may have no name
        return f"cli:uid-{os.getuid()}"
