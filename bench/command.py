"""How long a person waits for a command that only looks: `python -m bench.command`. Beside it, Python that does nothing."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.table import Figure, publish

ROUNDS = 11
GOAL_MS = 250.0
"""What people do not take for waiting."""
BARE = ("-c", "pass")
OVERLORD = ("-m", "overlord")


def started(home: Path, *words: str) -> float:
    """One command as a program; milliseconds until it ended, well."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *words],
        env={"OVERLORD_HOME": str(home), "OVERLORD_REPOS": "acme/calc"},
        check=True,
        capture_output=True,
    )
    return (time.perf_counter() - began) * 1000


def rows(home: Path) -> list[Figure]:
    found = []
    for words, goal in ((("--version",), GOAL_MS), (("--help",), None), (("config", "check"), None)):
        started(home, *OVERLORD, *words)  # bytecode and file caches
        pairs = [(started(home, *OVERLORD, *words), started(home, *BARE)) for _ in range(ROUNDS)]
        ours, bare = (statistics.median(values) for values in zip(*pairs, strict=True))
        name = f"overlord {' '.join(words)}"
        beside = {"yardstick": "python -c pass", "beside": bare}
        found.append(Figure(part="command", name=name, unit="ms", measured=ours, goal=goal, **beside))
    return found


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        publish(rows(Path(home)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
