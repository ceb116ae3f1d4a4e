"""The daemon as a program of its own: how soon it serves and answers a health check, and how much memory it holds, idle and per
open job. Everything it can do is on: listener, webhooks, metrics, chat and traces; their external services are away.

*Serving* is when commands can ring its wakeup: everything is built, the database is open, the loop turns. Memory is what
is resident; the bare program beside it is the same Python that only waits.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from bench.filled import AWAY, SPACES, fill, settings_of
from bench.table import Figure
from overlord.home import Home

ROUNDS = 5
JOBS = 1_000
START_GOAL_MS, MEMORY_GOAL_MB, JOB_GOAL_KB, HEALTH_GOAL_MS = 1_000.0, 100.0, 20.0, 1.0
ASKED = 200
DEADLINE_S = 60.0
SETTLED_S = 6.0
"""How long a daemon turns before its memory is read; it naps for at most 5 s."""
BARE = "import asyncio, sys; print('serving', flush=True); asyncio.run(asyncio.sleep(600))"


async def figures(root: Path) -> list[Figure]:
    """The daemon's rows about its program."""
    starts = [(_daemon(root / f"empty{number}"), _bare()[0]) for number in range(ROUNDS)]
    ours = median(served.start_ms for served, _ in starts)
    processor = median(served.processor_ms for served, _ in starts)
    bare = median(alone for _, alone in starts)
    idle = _daemon(root / "idle", settle=True)
    _, bare_mb = _bare()
    await fill(settings_of(root / "full"), JOBS, running=0)
    full = _daemon(root / "full", settle=True)
    return [
        _figure("start, until it serves", "ms", ours, START_GOAL_MS, "bare asyncio program", bare),
        _figure("the same, processor time", "ms", processor, START_GOAL_MS),
        _figure("health check", "ms", idle.health_ms, HEALTH_GOAL_MS),
        _figure(
            "memory, idle, everything on",
            "MB",
            idle.memory_mb,
            MEMORY_GOAL_MB,
            "bare asyncio program",
            bare_mb,
        ),
        _figure(f"memory, {JOBS:,} open jobs", "MB", full.memory_mb),
        _figure(
            "memory for each open job",
            "KB",
            max(full.memory_mb - idle.memory_mb, 0.0) * 1024 / JOBS,
            JOB_GOAL_KB,
        ),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What one `overlord serve` showed; times in milliseconds."""

    start_ms: float
    processor_ms: float
    health_ms: float
    memory_mb: float


def _daemon(root: Path, *, settle: bool = False) -> Served:
    """`overlord serve` on a home, until it serves, and then six seconds more if it is to settle."""
    root.mkdir(parents=True, exist_ok=True)
    port = _free_port()
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
        "GITHUB_WEBHOOK_SECRET": "bench-webhook-secret",
        "OVERLORD_LISTEN": f"127.0.0.1:{port}",
        "SLACK_API_URL": f"{AWAY}/api/",
        "SLACK_BOT_TOKEN": "xoxb-1-bench",
        "SLACK_APP_TOKEN": "xapp-1-bench",
        "SLACK_CHANNEL_ID": "C0123456789",
        "OTEL_EXPORTER_OTLP_ENDPOINT": AWAY,
    }
    words = [sys.executable, "-m", "overlord", "serve"]
    with _program(words, environment) as (program, began):
        _wait_for(Home(root).wakeup, program)
        ms = (time.perf_counter() - began) * 1000
        used = processor_ms(program.pid)
        if settle:
            time.sleep(SETTLED_S)
        return Served(
            start_ms=ms, processor_ms=used, health_ms=_health_ms(port), memory_mb=memory_mb(program.pid)
        )


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _health_ms(port: int) -> float:
    """How long one answer of `/healthz` takes, over one connection."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)) as far:
        took = list[float]()
        for _ in range(ASKED):
            began = time.perf_counter()
            far.request("GET", "/healthz")
            answer = far.getresponse()
            answer.read()
            took.append((time.perf_counter() - began) * 1000)
            assert answer.status == 200, answer.status
    return median(took)


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


def memory_mb(pid: int | str) -> float:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("\nVmRSS:")[2].split()[0]) / 1024
