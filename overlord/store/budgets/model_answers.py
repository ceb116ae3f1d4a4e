"""How models answered lately, told from the exchanges that there were with them."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

MOST_COUNTED = 50
"""The newest answers of a model."""
_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswers:
    """The newest answers of one model."""

    counted: int = 0
    last_at: datetime | None = None
    """When it answered last; None where no answer is known."""
    median_s: float | None = None
    """From a request to the end of its reply."""


def of_model(connection: sqlite3.Connection, model: str) -> ModelAnswers:
    """Of a model, by the name its endpoint knows it by."""
    query = """SELECT at, settled_at FROM exchanges WHERE model = ? AND status = ? AND settled_at IS NOT NULL
               ORDER BY id DESC LIMIT ?"""
    times = [
        (datetime.fromisoformat(row["at"]), datetime.fromisoformat(row["settled_at"]))
        for row in connection.execute(query, (model, _OK, MOST_COUNTED))
    ]
    return _answers(times)


def _answers(times: Sequence[tuple[datetime, datetime]]) -> ModelAnswers:
    if not times:
        return ModelAnswers()
    return ModelAnswers(
        counted=len(times),
        last_at=times[0][1],
        median_s=round(median((end - begin).total_seconds() for begin, end in times), 1),
    )
