"""`make bench`: every bench in turn, each with its own table. Only ratios within one run carry over to another machine."""

import subprocess
import sys

BENCHES = ("bench.minion", "bench.start", "bench.gateway", "bench.evaluation")


def main() -> int:
    """Run them all; the exit code of the last one that failed."""
    worst = 0
    for name in BENCHES:
        print(f"\n{name}", flush=True)
        worst = subprocess.run([sys.executable, "-m", name], check=False).returncode or worst
    return worst


if __name__ == "__main__":
    sys.exit(main())
