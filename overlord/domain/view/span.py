"""Words in a view: plain text, and what a renderer shows in a way of its own. A text may be anybody's; nothing in it is mark-up."""

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from overlord.command_ref import CommandRef
from overlord.domain.identifiers import UserId
from overlord.domain.text.plain import visible


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

    @property
    def is_address(self) -> bool:
        """Whether this is an address of the web, and can be nothing else."""
        if visible(self.url) != self.url or set(self.url) & set(" <>()\"'\\\t\n"):
            return False
        try:
            parts = urlsplit(self.url)
            return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False


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


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue, by its repository and number. A renderer links it where it knows the forge's pages. Of the job of a call, whose number
    is negative, it is the call, which is at no forge."""

    space: str
    number: int

    @property
    def call(self) -> str:
        """The call's handle, `c7`; empty for an issue."""
        return f"c{-self.number}" if self.number < 0 else ""

    @property
    def words(self) -> str:
        """As it is written everywhere: `acme/calc#7`, `acme/calc c7`."""
        return f"{self.space} {self.call}" if self.call else f"{self.space}#{self.number}"


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request, likewise."""

    space: str
    number: int


@dataclass(frozen=True, slots=True)
class Command:
    """A command to give next: each interface words it as it is typed there."""

    ref: CommandRef


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign to be seen at a glance, as ✅; where letters alone are wanted it is left out."""

    sign: str


Span = str | Bold | Code | Link | Mention | Moment | Issue | Pull | Command | Mark
