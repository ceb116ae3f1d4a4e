"""Somebody whom an interface has authenticated. What only a person may decide takes one of these, and a text does not do."""

from dataclasses import dataclass
from enum import StrEnum


class Interface(StrEnum):
    """Where people speak to Overlord as themselves."""

    CLI = "cli"
    SLACK = "slack"
    WEB = "web"
    GITHUB = "github"
    """Signed in to the page with an account there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Made where an interface has seen who speaks, and nowhere else: `tests/architecture/test_people_decide.py` lists the places."""

    interface: Interface
    name: str
    """Whom the interface knows them as: an account of this machine, a user's id in Slack."""

    def __post_init__(self) -> None:
        """Raises ValueError for nobody."""
        if not self.name.strip():
            raise ValueError("a person has a name")

    @classmethod
    def of(cls, actor: str) -> "Person":
        """As the ledger names them, `cli:alice`. Raises ValueError for what is no person's name: the daemon's, a model's."""
        interface, _, name = actor.partition(":")
        return cls(interface=Interface(interface), name=name)

    @property
    def actor(self) -> str:
        """What the ledger says who did it."""
        return f"{self.interface}:{self.name}"
