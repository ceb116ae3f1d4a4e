"""What a story of the campaign is: something that happens, from the outside, in a world of its own."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.faults.campaign import Campaign
from tests.world import CALC


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happens, in which world."""

    name: str
    tell: Callable[[Campaign], Awaitable[None]]
    files: Mapping[str, str] = field(default_factory=lambda: dict(CALC))
    settings: Mapping[str, Any] = field(default_factory=dict)
    """With `slack` among them there is a chat."""
    refused: str = ""
    is_checked: bool = True
    """Whether the world is one whose invariants hold: not where somebody meddled with the database, nor without a daemon."""
