"""What the Minion costs by itself, beside mini-swe-agent in the same run: `python -m bench.minion`.

Both play the same task on a small real repository against a model without latency. *Start* is process start to
first model request (*ready*: to the second, when the Minion's clone is there too), *turn* is an answer sent to the next
request arrived, *exit* is the last answer to the process's end: the Minion's includes commit, push and report.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import peer
from bench.far_end import Run, loopback, measure, median, percentile_95, thirds
from bench.table import Figure, publish
from minion.protocol import Limits
from tests.minion.session_api import call, done, git, opened

ROOT = Path(__file__).parents[1]
TURNS, LONG_TURNS = 30, 120
ROUNDS = 7
PEER_ROUNDS = 3
FILES = ("agent.py", "model.py", "shell.py", "workspace.py", "tools/read.py", "tools/edit.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The row of one agent, in the order of the table."""

    start: float
    ready: float
    turn: float
    turn_95: float
    command: float
    first_third: float
    last_third: float
    exit: float
    cpu: float
    peak: float


ROWS: Sequence[tuple[str, str, str, float]] = (
    ("start", "start", "ms", 150),
    ("ready", "ready", "ms", 300),
    ("turn", "turn, median", "ms", 3),
    ("turn_95", "turn, p95", "ms", 10),
    ("command", "turn with a command, median", "ms", 5),
    ("first_third", "turn, first third of 120", "ms", 3),
    ("last_third", "turn, last third of 120", "ms", 3),
    ("exit", "exit", "ms", 100),
    ("cpu", "CPU of 30 turns", "s", 0.4),
    ("peak", "peak memory", "MB", 45),
)
"""Field, label, unit, and the goal of the Minion."""


def repository() -> dict[str, str | bytes]:
    """A small real repository: the Minion's own source, and a file to edit."""
    source = ROOT / "minion"
    files: dict[str, str | bytes] = {
        str(file.relative_to(source)): file.read_text() for file in source.rglob("*.py")
    }
    return {**files, "MARKS": "mark 0\n"}


def script(turns: int) -> list[bytes]:
    replies = []
    for turn in range(turns - 1):
        old, new = f"mark {turn // 3}\n", f"mark {turn // 3 + 1}\n"
        tools = (
            call("read_file", path=FILES[turn % len(FILES)]),
            call("edit_file", path="MARKS", old=old, new=new),
            call("run_command", command="grep -c mark MARKS"),
        )
        replies.append(tools[turn % 3])
    return [*replies, done("The marks are counted.")]


def run_minion(turns: int) -> Run:
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name:
        scratch = Path(name)
        with opened(scratch, repository(), limits=Limits(turns=turns + 1)) as session_api:
            environment = {
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "PYTHONSAFEPATH": "1",
                "MINION_SCOPE": session_api.brief.scope.to_json(),
                "OVERLORD_URL": session_api.url,
                "MINION_WORK": str(scratch / "work"),
            }
            return measure(session_api, script(turns), [sys.executable, "-m", "minion"], environment, scratch)


def run_peer(program: Sequence[str], turns: int) -> Run:
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name:
        scratch = Path(name)
        with opened(scratch, repository()) as session_api, loopback(session_api) as base_url:
            git(scratch, "clone", "--quiet", str(session_api.repository), "clone")
            words, environment = peer.words(program, scratch), peer.environment(base_url, scratch)
            return measure(session_api, peer.script(turns, FILES), words, environment, scratch / "clone")


def summary(run: Callable[[int], Run], rounds: int) -> Summary:
    run(3)  # bytecode and file caches
    runs = [run(TURNS) for _ in range(rounds)]
    long_runs = [run(LONG_TURNS) for _ in range(max(rounds // 3, 1))]
    turns = [turn for one in runs for turn in one.turns_ms[1:]]
    commands = [turn for one in runs for turn in one.turns_ms[2::3]]
    ends = [thirds(one.turns_ms[1:]) for one in long_runs]
    return Summary(
        start=median([one.start_ms for one in runs]),
        ready=median([one.start_ms + one.turns_ms[0] for one in runs]),
        turn=median(turns),
        turn_95=percentile_95(turns),
        command=median(commands),
        first_third=median([first for first, _ in ends]),
        last_third=median([last for _, last in ends]),
        exit=median([one.exit_ms for one in runs]),
        cpu=median([one.cpu_s for one in runs]),
        peak=max(one.peak_mb for one in [*runs, *long_runs]),
    )


def bare_command() -> float:
    """Milliseconds the script's command takes by itself, so that nobody looks for them in the Minion."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name:
        (Path(name) / "MARKS").write_text("mark 0\n")
        times = []
        for _ in range(60):
            began = time.perf_counter()
            subprocess.run(["bash", "-c", "grep -c mark MARKS"], cwd=name, capture_output=True, check=True)
            times.append((time.perf_counter() - began) * 1000)
    return median(times)


def figures(ours: Summary, theirs: Summary | None) -> list[Figure]:
    """The Minion's rows, beside the peer's where there is one."""
    bare = Figure(part="Minion", name="that command by itself", unit="ms", measured=bare_command())
    rows = [
        Figure(
            part="Minion",
            name=label,
            unit=unit,
            measured=getattr(ours, name),
            goal=goal,
            yardstick="" if theirs is None else "mini-swe-agent",
            beside=None if theirs is None else getattr(theirs, name),
        )
        for name, label, unit, goal in ROWS
    ]
    return [*rows, bare]


def main() -> int:
    if shutil.which("git") is None:
        print("The benchmark needs git.")
        return 1
    ours = summary(run_minion, ROUNDS)
    program = peer.install()
    if isinstance(program, str):
        print(program)
        publish(figures(ours, None))
        return 0
    found = program
    theirs = summary(lambda turns: run_peer(found, turns), PEER_ROUNDS)
    publish(figures(ours, theirs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
