"""A pause: nothing new is begun for a while, in one space or everywhere, because a person said so."""

from dataclasses import dataclass
from datetime import datetime

EVERYTHING = ""
"""The space of a pause that is over all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """What runs goes on and is judged, labels and comments are read; no session is begun."""

    space: str
    """EVERYTHING, or a repository's name."""
    actor: str
    at: datetime
    reason: str = ""
    """In one plain line."""

    @property
    def what(self) -> str:
        return self.space or "everything"

    def describe(self) -> str:
        """What a job says that waits for its end."""
        whole = "" if self.space else "Everything is p"
        return f"{whole or 'P'}aused by {name_of(self.actor)}{f': {self.reason}' if self.reason else ''}"

    @property
    def line(self) -> str:
        """The same for people who see others beside it."""
        return f"{self.space}: {self.describe()}" if self.space else self.describe()


def name_of(actor: str) -> str:
    """Who that is: `alice` for `cli:alice`."""
    return actor.partition(":")[2] or actor
