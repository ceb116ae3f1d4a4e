"""`make bench`: every bench in turn, each with its own table, and at the end one table of all with what misses its goal.

Only ratios within one run carry over to another machine.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.table import FIGURES, collected, lines

BENCHES = (
    "bench.daemon",
    "bench.requests",
    "bench.gateway",
    "bench.wires",
    "bench.agents",
    "bench.evaluation",
    "bench.tests_compared",
    "bench.start",
    "bench.fleet 100 10",
    "bench.minion",
    "bench.command",
    "bench.page",
    "bench.search",
    "bench.portfolio",
    "bench.knowledge",
    "bench.contracts",
    "bench.turns",
    "bench.init",
    "bench.escalation",
    "bench.mcp",
)


def main() -> int:
    """Run them all; the exit code of the last one that failed. A missed goal is no failure: machines differ."""
    worst = 0
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        path = Path(directory) / "figures"
        for name in BENCHES:
            print(f"\n{name}", flush=True)
            environment = {**os.environ, FIGURES: str(path)}
            code = subprocess.run(
                [sys.executable, "-m", *name.split()], env=environment, check=False
            ).returncode
            if code:
                print(f"{name} FAILED with {code}; its rows are missing below", flush=True)
                worst = code
        print("\n".join(["", "Everything", *lines(list(collected(path)))]), flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
