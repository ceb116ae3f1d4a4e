"""What the daemon costs: a pass over a thousand jobs, its ledger, its start, memory and health check, and what dispatch adds to a runner.

python -m bench.daemon [tick] [ledger] [serving] [dispatch]
"""

import asyncio
import sys
import tempfile
from pathlib import Path

import structlog

from bench import dispatch, ledger, serving, tick
from bench.table import Figure, publish

PARTS = ("serving", "tick", "ledger", "dispatch")


async def measured(part: str) -> list[Figure]:
    """The rows of one part, each in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="bd-", dir="/tmp") as name:
        root = Path(name)
        if part == "serving":
            return await serving.figures(root)
        if part == "tick":
            return await tick.figures(root)
        if part == "ledger":
            return await ledger.figures(root)
        runners, missing = await dispatch.runners(root)
        if missing:
            print(missing, flush=True)
        return [row for runner in runners for row in await dispatch.figures(root / runner, runner)]


async def main(parts: list[str]) -> None:
    """Print the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    publish([row for part in parts or PARTS for row in await measured(part)])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
