"""Everything of the portfolio that a pass can have to do, each by its name: whether it is due, and how it is done."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from overlord.engine.portfolio import cycle
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioStep:
    """One kind of work."""

    is_due: Callable[[sqlite3.Connection, Parts], bool]
    """From rows alone, and cheap: each pass asks."""
    step: Callable[[Parts], Awaitable[Progress]]


STEPS: Mapping[str, PortfolioStep] = {
    "cycle": PortfolioStep(
        is_due=lambda c, parts: cycle.is_due(c, parts.settings, parts.clock.now()), step=cycle.step
    ),
}


def due(connection: sqlite3.Connection, parts: Parts) -> Sequence[str]:
    """The names of those that have something to do."""
    return [name for name, one in STEPS.items() if one.is_due(connection, parts)]
