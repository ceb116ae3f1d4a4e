"""Rows as comma-separated values: what a spreadsheet would take for a formula is text in it."""

import csv
import io
from collections.abc import Iterable, Sequence

from overlord.domain.text.plain import visible

Cell = str | int | float | None


def csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    """All of them, a line each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([_cell(cell) for cell in row])
    return text.getvalue()


def _cell(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    text = " ".join(visible(cell).split())
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
