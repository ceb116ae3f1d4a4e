"""One pass of the loop over a thousand open jobs in which nothing moves: what the daemon does all day."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from bench.filled import RUNNING, filled
from bench.table import Figure
from overlord.app import Overlord
from overlord.home import Home

JOBS = 1_000
PASSES = 25
GOAL_MS = 30.0


async def figures(root: Path) -> list[Figure]:
    """The daemon's rows about its tick."""
    async with filled(root, JOBS) as running:
        for _ in range(3):
            await _pass(running)
        times = [await _pass(running) for _ in range(PASSES)]
        bare = median(bare_read(Home(root).database) for _ in range(PASSES))
    name = f"pass over {JOBS:,} open jobs, {RUNNING} running"
    wall, processor = (median(values) for values in zip(*times, strict=True))
    return [
        _figure(name, wall, yardstick="bare SQLite reads the rows", beside=bare),
        _figure("the same, processor time", processor),
    ]


def _figure(name: str, measured: float, *, yardstick: str = "", beside: float | None = None) -> Figure:
    return Figure(
        part="daemon",
        name=name,
        unit="ms",
        measured=measured,
        goal=GOAL_MS,
        yardstick=yardstick,
        beside=beside,
    )


async def _pass(running: Overlord) -> tuple[float, float]:
    """Milliseconds of one pass, with every step it started: of the wall clock, and of the processor."""
    began, used = time.perf_counter(), time.process_time()
    while await running.turn() or not running.tick.is_idle:
        await asyncio.sleep(0)
    return (time.perf_counter() - began) * 1000, (time.process_time() - used) * 1000


def bare_read(path: Path) -> float:
    """Milliseconds to read every open job's row, whole, by SQLite alone."""
    with closing(sqlite3.connect(path)) as connection:
        began = time.perf_counter()
        connection.execute("SELECT * FROM jobs WHERE is_open ORDER BY id").fetchall()
        return (time.perf_counter() - began) * 1000
