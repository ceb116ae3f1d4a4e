"""Somebody whom a mouth has authenticated. What only a person may decide takes one of these, and a text does not do."""

from dataclasses import dataclass
from enum import StrEnum


class Interface(StrEnum):
    """Where people speak to Overlord as themselves."""

    CLI = "cli"
    SLACK = "slack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Made where a mouth has seen who speaks, and nowhere else: `tests/architecture/test_people_decide.py` lists the places."""

    mouth: Interface
    name: str
    """Whom the mouth knows them as: an account of this machine, a user's id in Slack."""

    def __post_init__(self) -> None:
        """Raises ValueError for nobody."""
        if not self.name.strip():
            raise ValueError("a person has a name")

    @classmethod
    def of(cls, actor: str) -> "Person":
        """As the ledger names them, `cli:alice`. Raises ValueError for what is no person's name: the daemon's, a model's."""
        mouth, _, name = actor.partition(":")
        return cls(mouth=Interface(mouth), name=name)

    @property
    def actor(self) -> str:
        """What the ledger says who did it."""
        return f"{self.mouth}:{self.name}"
