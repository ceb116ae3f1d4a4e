"""One figure of a bench, and the table they make: every bench gives its figures as data, and one place prints them.

`make bench` runs each bench in a process of its own; what it prints there is handed on through the file FIGURES names.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

FIGURES = "OVERLORD_BENCH_FIGURES"
"""The environment variable that names the file figures are added to, one JSON object in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number beside its goal, and beside what the same machine did without us in the same run."""

    part: str
    """What was measured: daemon, gateway, evaluation, start, Minion, command, search, contracts."""
    name: str
    unit: str
    measured: float
    goal: float | None = None
    at_least: bool = False
    """Whether more is better: a rate, not a time."""
    yardstick: str = ""
    beside: float | None = None
    """The yardstick's own number, in the same unit."""

    @property
    def is_missed(self) -> bool:
        if self.goal is None:
            return False
        return self.measured < self.goal if self.at_least else self.measured > self.goal

    @property
    def of_goal(self) -> float | None:
        """The share of the goal that is used, or of a rate that is reached."""
        return self.measured / self.goal if self.goal else None


def lines(figures: Sequence[Figure]) -> list[str]:
    """The table, part by part, with what misses its goal marked."""
    found = [f"{'':44}{'measured':>10} {'':5}{'goal':>9}{'of goal':>9}{'':10}beside, in the same run"]
    for part, rows in groupby(figures, key=lambda figure: figure.part):
        found += ["", part, *(_line(row) for row in rows)]
    missed = sum(figure.is_missed for figure in figures)
    with_goal = sum(figure.goal is not None for figure in figures)
    return [*found, "", f"{with_goal} goals, {missed} missed."]


def _line(figure: Figure) -> str:
    text = f"  {figure.name:42}{_number(figure.measured):>10} {figure.unit:5}"
    if figure.goal is not None:
        goal = f"{'≥' if figure.at_least else '≤'} {_number(figure.goal)}"
        text += f"{goal:>9}{figure.of_goal or 0:>9.0%}{'  MISSED' if figure.is_missed else '':10}"
    else:
        text += " " * 28
    if figure.beside is not None:
        ratio = figure.measured / figure.beside if figure.beside else 0.0
        text += f"{figure.yardstick} {_number(figure.beside)} {figure.unit} ({ratio:.2f}×)"
    return text.rstrip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def publish(figures: Sequence[Figure], *, show: bool = True) -> None:
    """Print a bench's own table, and hand the figures on to whoever runs all of them."""
    if show:
        print("\n".join(lines(figures)), flush=True)
    if path := os.environ.get(FIGURES):
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(figure)) + "\n" for figure in figures)


def collected(path: Path) -> Iterable[Figure]:
    """What benches handed on."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Figure(**json.loads(line))
