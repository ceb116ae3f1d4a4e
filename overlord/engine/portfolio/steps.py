"""Everything of the portfolio that a pass can have to do, each by its name: whether it is due, and how it is done."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from overlord.engine.knowledge import checks, documents, promotion, retrospective
from overlord.engine.knowledge import files as knowledge_files
from overlord.engine.portfolio import cycle, day, discovered, escalations, files
from overlord.engine.runtime.parts import Parts
from overlord.engine.runtime.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioStep:
    """One kind of work."""

    is_due: Callable[[sqlite3.Connection, Parts], bool]
    """From rows alone, and cheap: each pass asks."""
    step: Callable[[Parts], Awaitable[Progress]]


FILES_EVERY_S = 10.0
"""So often files that people edit are looked at, while passes are made."""


def _is_time_for_files(_connection: sqlite3.Connection, parts: Parts) -> bool:
    return parts.portfolio_pace.is_time("files", FILES_EVERY_S, parts.clock.monotonic())


async def _look_at_files(parts: Parts) -> Progress:
    parts.portfolio_pace.done("files", parts.clock.monotonic())
    return await files.look(parts)


def _is_time_for_knowledge(_connection: sqlite3.Connection, parts: Parts) -> bool:
    now = parts.clock.monotonic()
    return parts.portfolio_pace.is_time("knowledge", knowledge_files.EVERY_S, now)


async def _look_at_knowledge(parts: Parts) -> Progress:
    parts.portfolio_pace.done("knowledge", parts.clock.monotonic())
    await checks.step(parts)
    await promotion.step(parts)
    return await knowledge_files.look(parts) | await documents.look(parts)


STEPS: Mapping[str, PortfolioStep] = {
    "discovered": PortfolioStep(is_due=lambda c, _parts: discovered.is_due(c), step=discovered.step),
    "files": PortfolioStep(is_due=_is_time_for_files, step=_look_at_files),
    "knowledge": PortfolioStep(is_due=_is_time_for_knowledge, step=_look_at_knowledge),
    "cycle": PortfolioStep(
        is_due=lambda c, parts: cycle.is_due(c, parts.settings, parts.clock.now()), step=cycle.step
    ),
    "escalations": PortfolioStep(is_due=lambda c, _parts: escalations.is_due(c), step=escalations.step),
    "day": PortfolioStep(is_due=day.is_due, step=day.step),
    "retrospective": PortfolioStep(is_due=retrospective.is_due, step=retrospective.step),
}


def due(connection: sqlite3.Connection, parts: Parts) -> Sequence[str]:
    """The names of those that have something to do."""
    return [name for name, one in STEPS.items() if one.is_due(connection, parts)]
