"""What the portfolio costs a daemon that has 50 repositories, 500 initiatives and 10,000 tasks: in each pass, and in a cycle.

python -m bench.portfolio

No model is asked by any of it: a cycle is code over rows.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from bench.filled import settings_of
from bench.portfolio_rows import fill_portfolio
from bench.table import Figure, publish
from overlord.adapters.clock import SystemClock
from overlord.engine.portfolio import cycle, issue_steps
from overlord.engine.portfolio.orient import fingerprint, orient
from overlord.settings.load import Settings, load
from overlord.store.portfolio import cycles, tasks
from overlord.store.schema.migrations import migrate

SPACES, TIMES = 50, 15
GOAL_MS, PASS_MS = 200.0, 5.0


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        home = Path(directory)
        settings = _settings(home)
        path = home / "overlord.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode=WAL")
            migrate(connection)
            at = SystemClock().now()
            connection.execute("BEGIN")
            fill_portfolio(connection, settings.repositories, at - timedelta(days=1))
            connection.execute("DELETE FROM notes")  # what notes cost is measured where they are searched
            connection.execute("COMMIT")
            first = _timed(lambda: _cycle(connection, settings, at), times=1)
            settled = _timed(lambda: _cycle(connection, settings, at), times=1)
            figures = list(_figures(connection, settings, at))
    publish([
        Figure(part="portfolio", name="the first cycle: everything is begun", unit="ms", measured=first),
        Figure(part="portfolio", name="the second cycle", unit="ms", measured=settled),
        *figures,
    ])  # fmt: skip


def _settings(home: Path) -> Settings:
    settings_of(home)
    names = [f"acme/part-{number}" for number in range(SPACES)]
    text = "\n".join(
        [
            "portfolio: {schedule: off}",
            "repositories:",
            *(f"  - {name}" for name in names),
            "autonomy: proactive\n",
        ]
    )
    (home / "overlord.yaml").write_text(text)
    return load({"OVERLORD_HOME": str(home)})


def _figures(connection: sqlite3.Connection, settings: Settings, at: datetime) -> list[Figure]:
    everybody = frozenset[str]()

    def due() -> None:
        assert not cycle.is_due(connection, settings, at)
        issue_steps.due(connection)

    def nothing() -> None:
        cycles.ask(connection, trigger="person", actor="cli:alice", at=at)
        assert _cycle(connection, settings, at).acts == 0

    def changed() -> None:
        """A task's priority is another one: all is decided anew."""
        [task] = tasks.of_states(connection, ["pending"])[:1]  # type: ignore[list-item]
        urgent = "high" if task.priority == "low" else "low"
        tasks.change(connection, task.id, at=SystemClock().now(), priority=urgent)
        _cycle(connection, settings, at)

    measured: list[tuple[str, Callable[[], object], float | None]] = [
        ("what a pass asks of it", due, PASS_MS),
        ("a cycle, nothing changed", nothing, GOAL_MS),
        ("a cycle, something changed", changed, None),
        ("of that, the fingerprint", lambda: fingerprint(connection, settings, at, on_turn=everybody), None),
        ("of that, orient", lambda: orient(connection, settings, at, on_turn=everybody), None),
    ]
    return [
        Figure(part="portfolio", name=name, unit="ms", measured=_timed(act), goal=goal)
        for name, act, goal in measured
    ]


def _cycle(connection: sqlite3.Connection, settings: Settings, at: datetime) -> cycle.Ran:
    connection.execute("BEGIN IMMEDIATE")
    try:
        return cycle.run(connection, settings, at)
    finally:
        connection.execute("COMMIT")


def _timed(act: Callable[[], object], *, times: int = TIMES) -> float:
    """How many milliseconds it takes, half of the times."""
    spent = list[float]()
    for _ in range(times):
        began = time.perf_counter()
        act()
        spent.append((time.perf_counter() - began) * 1000)
    return median(spent)


if __name__ == "__main__":
    main()
