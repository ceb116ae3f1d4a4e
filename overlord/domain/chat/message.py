"""What Overlord says in a chat: plain words in parts, and buttons. No markup: an adapter renders it so that nothing in it can act.

Every text here may be somebody else's. Emphasis, links and mentions are spans of their own, and nothing inside a text becomes one.
"""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import NewType

from overlord.domain.identifiers import ChannelId, MessageTs, UserId

ActionId = NewType("ActionId", str)
"""What a press of a button, or a form, is for: a word of ours that is never anybody's text."""


@dataclass(frozen=True, slots=True)
class Bold:
    """Words that stand out."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A name, a path, a command: as it is, in the letters of code."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """An address that Overlord vouches for; `text` is what is shown."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A person of the chat, who is told that they are spoken to."""

    user: UserId


@dataclass(frozen=True, slots=True)
class Moment:
    """A time of day, with its day where that may be another one: each reader sees it by their own clock.
    `at` is in seconds since 1970, UTC."""

    at: int
    day: bool = False

    @property
    def words(self) -> str:
        """For who cannot be shown their own: `14:02 UTC`, `25 Nov 14:02 UTC`."""
        at = datetime.fromtimestamp(self.at, UTC)
        return f"{at.day} {at:%b %H:%M} UTC" if self.day else f"{at:%H:%M} UTC"


Span = str | Bold | Code | Link | Mention | Moment


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


Part = Heading | Paragraph | Bullets | Quote | Output | Note | Rule | Buttons


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message. `summary` is what a notification shows, and who cannot see the parts."""

    summary: str
    parts: tuple[Part, ...]

    @property
    def fingerprint(self) -> str:
        """Another one for whatever would look otherwise."""
        shown = [[type(part).__name__, asdict(part)] for part in self.parts]
        return sha256(json.dumps([self.summary, shown]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """What a form asks for in words."""

    name: str
    label: str
    hint: str = ""
    initial: str = ""
    is_long: bool = False
    is_optional: bool = False
    most: int = 2000
    """Characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A window with fields. `value` comes back with what was filled in, as a button's does."""

    action: ActionId
    value: str
    title: str
    submit: str
    fields: tuple[FormField, ...]
    parts: tuple[Part, ...] = field(default=())
    """What stands above the fields; no buttons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatIdentity:
    """Who Overlord is in the chat."""

    team: str
    user: UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatUser:
    """Somebody in the chat, as far as that says whether their word counts."""

    id: UserId
    name: str
    team: str
    is_bot: bool = False
    is_guest: bool = False
    """Restricted to some channels, or somebody of another workspace."""
    is_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """Where a message stands."""

    channel: ChannelId
    ts: MessageTs
