"""A view: what is shown, in plain words and parts. No mark-up and no interface: a renderer shows it so that nothing in it can act.

Every text here may be somebody else's. Emphasis, links and mentions are spans of their own, and nothing inside a text becomes one.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from typing import NewType

from overlord.command_ref import CommandRef
from overlord.domain.view.graph import Graph
from overlord.domain.view.span import Span

ActionId = NewType("ActionId", str)
"""What a press of a button, or a form, is for: a word of ours that is never anybody's text."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The first line of a message, and what tells its sections apart."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words in a line or more."""

    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list, a point each."""

    items: tuple[tuple[Span, ...], ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """A list of points with lines of their own below each. Of a point the first line is the point itself."""

    points: tuple[tuple[tuple[Span, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """Somebody else's words: shown as theirs, and cut."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """What a program printed; the end is what is kept."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Small print."""

    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A line between two sections."""


class ButtonStyle(StrEnum):
    """How a button looks: as any, as what is suggested, as what cannot be undone."""

    PLAIN = ""
    PRIMARY = "primary"
    DANGER = "danger"


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """`value` is what a press gives back: opaque to whoever presses. With a `url` it only leads there."""

    action: ActionId
    label: str
    value: str = ""
    url: str = ""
    style: ButtonStyle = ButtonStyle.PLAIN
    confirm: str = ""
    """What is asked once more before a press counts; empty for nothing."""


@dataclass(frozen=True, slots=True)
class Buttons:
    """Buttons in a row."""

    buttons: tuple[Button, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """Names and what each is: a line for each."""

    items: tuple[tuple[str, tuple[Span, ...]], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under the names of their columns. Where there is no room for a table, a row is a point of a list."""

    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done next: its name, the command, and what comes of it."""

    label: str
    ref: CommandRef
    consequence: str = ""
    digest: str = ""
    """What was shown, where a command has to say it: what is pressed says it by itself."""


@dataclass(frozen=True, slots=True)
class Actions:
    """What can be done next, one below the other."""

    actions: tuple[Action, ...]


class ChartKind(StrEnum):
    """How its values are drawn: amounts as bars from nought, rates and times as a line."""

    BAR = "bar"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Chart:
    """How one figure went. A point is its label and value; None where there is nothing to tell of."""

    title: str
    unit: str
    points: tuple[tuple[str, float | None], ...]
    kind: ChartKind = ChartKind.BAR


Part = (
    Heading
    | Paragraph
    | Bullets
    | Outline
    | Quote
    | Output
    | Note
    | Rule
    | Buttons
    | Fields
    | Table
    | Actions
    | Chart
    | Graph
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is shown. `summary` is all of it in a line: what a notification shows, and who cannot see the parts."""

    summary: str
    parts: tuple[Part, ...]
    has_title: bool = False
    """Whether the summary stands above the parts, where nothing else says what they are: a command line does."""

    @property
    def fingerprint(self) -> str:
        """Another one for whatever would look otherwise."""
        shown = [[type(part).__name__, asdict(part)] for part in self.parts]
        return sha256(json.dumps([self.summary, shown]).encode()).hexdigest()[:16]
