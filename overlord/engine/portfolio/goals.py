"""The goals of each space, as its OVERVIEW.md was read last."""

import sqlite3
from collections.abc import Iterable, Mapping

from overlord.domain.portfolio.files.goals import Goal
from overlord.engine.portfolio.files import overview_of


def goals_of(connection: sqlite3.Connection, spaces: Iterable[str]) -> Mapping[str, tuple[Goal, ...]]:
    """By repository; those without an OVERVIEW.md have none."""
    return {space: overview_of(connection, space).goals for space in spaces}
