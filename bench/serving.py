"""The daemon as a program of its own: how soon it serves, and how much memory it holds, idle and per open job.

*Serving* is when commands can ring its bell: everything is built, the database is open, the loop turns. Memory is what
is resident; the bare program beside it is the same Python that only waits.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.filled import AWAY, SPACES, fill, settings_of
from bench.table import Figure
from overlord.home import Home

ROUNDS = 5
JOBS = 1_000
START_GOAL_MS, MEMORY_GOAL_MB, JOB_GOAL_KB = 1_000.0, 100.0, 20.0
DEADLINE_S = 60.0
SETTLED_S = 6.0
"""How long a daemon turns before its memory is read; it naps for at most 5 s."""
BARE = "import asyncio, sys; print('serving', flush=True); asyncio.run(asyncio.sleep(600))"


async def figures(root: Path) -> list[Figure]:
    """The daemon's rows about its program."""
    starts = [(*_daemon(root / f"empty{number}")[:2], _bare()[0]) for number in range(ROUNDS)]
    ours, processor, bare = (median(values) for values in zip(*starts, strict=True))
    *_, idle = _daemon(root / "idle", settle=True)
    _, bare_mb = _bare()
    await fill(settings_of(root / "full"), JOBS, running=0)
    *_, full = _daemon(root / "full", settle=True)
    return [
        _figure("start, until it serves", "ms", ours, START_GOAL_MS, "bare asyncio program", bare),
        _figure("the same, processor time", "ms", processor, START_GOAL_MS),
        _figure("memory, idle", "MB", idle, MEMORY_GOAL_MB, "bare asyncio program", bare_mb),
        _figure(f"memory, {JOBS:,} open jobs", "MB", full),
        _figure("memory for each open job", "KB", max(full - idle, 0.0) * 1024 / JOBS, JOB_GOAL_KB),
    ]


def _figure(
    name: str,
    unit: str,
    measured: float,
    goal: float | None = None,
    yardstick: str = "",
    beside: float | None = None,
) -> Figure:
    return Figure(
        part="daemon", name=name, unit=unit, measured=measured, goal=goal, yardstick=yardstick, beside=beside
    )


def _daemon(root: Path, *, settle: bool = False) -> tuple[float, float, float]:
    """`overlord serve` on a home: milliseconds until it serves, of the clock and of the processor; megabytes it then holds."""
    root.mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "OVERLORD_HOME": str(root),
        "OVERLORD_REPOS": ",".join(f"bench/space{number}" for number in range(SPACES)),
        "OVERLORD_RUNNER": "process",
        "OVERLORD_MODEL": "scripted",
        "OPENAI_BASE_URL": AWAY,
        "OPENAI_API_KEY": "bench",
        "GITHUB_API_URL": AWAY,
        "GITHUB_TOKEN": "bench",
    }
    words = [sys.executable, "-m", "overlord", "serve"]
    with _program(words, environment) as (program, began):
        _wait_for(Home(root).bell, program)
        ms = (time.perf_counter() - began) * 1000
        used = processor_ms(program.pid)
        if settle:
            time.sleep(SETTLED_S)
        return ms, used, memory_mb(program.pid)


def _bare() -> tuple[float, float]:
    with _program([sys.executable, "-c", BARE], {"PATH": os.environ["PATH"]}) as (program, began):
        assert program.stdout is not None
        program.stdout.readline()
        return (time.perf_counter() - began) * 1000, memory_mb(program.pid)


@contextmanager
def _program(
    words: Sequence[str], environment: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    began = time.perf_counter()
    program = subprocess.Popen(
        words, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield program, began
    finally:
        program.kill()
        program.communicate()


def _wait_for(path: Path, program: subprocess.Popen[bytes]) -> None:
    until = time.perf_counter() + DEADLINE_S
    while not path.exists():
        if program.poll() is not None or time.perf_counter() > until:
            raise SystemExit("the daemon did not start to serve: `overlord serve` with an empty home")
        time.sleep(0.002)


def processor_ms(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("\nVmRSS:")[2].split()[0]) / 1024
