"""Between two roles: from the report of one role's session to the started session of the next, without the runner's own start.

A world with a repository, real git, the process runner and a scripted model; the roles' criteria need no check session.
"""

import asyncio
import json
import time
from statistics import median

from bench.table import Figure, publish
from overlord import failpoints
from overlord.embedded.play import submit, write
from overlord.failpoints import Failpoint, Moment
from tests.world import made_world

ROLES = 6
GOAL_MS = 300.0


def contract() -> str:
    """Roles that work one after the other, each in a directory of its own."""
    names = [f"r{number}" for number in range(ROLES)]
    roles = {
        name: {
            "scope": [f"{name}/**"],
            "verification": ["diff_non_empty"],
            "budget": {"iterations": 1, "exhausted": "ask"},
        }
        for name in names
    }
    phase = {
        "actors": names,
        "inputs": ["issue"],
        "outputs": ["**"],
        "criteria": ["evaluation_passed"],
        "terminal": True,
    }
    merge = {"on": "build->end", "approve": "merged", "reject": "pr_closed"}
    whole = {"name": "many", "version": 2, "lifetime": {"hours": 1}, "roles": roles}
    return json.dumps({**whole, "phases": {"build": phase}, "gates": {"merge": merge}})


async def measured() -> list[float]:
    """The milliseconds between each two roles, without what the runner takes to start a session."""
    seen: dict[tuple[str, Moment], list[float]] = {}

    def watch(point: str, moment: Moment) -> None:
        seen.setdefault((point, moment), []).append(time.perf_counter())

    async with made_world() as world:
        world.contract(contract())
        await world.issue("Write in each directory")
        for number in range(ROLES):
            world.model_will(write(f"r{number}/a.txt", "a\n"), submit("written"))
        failpoints.listen(watch)
        try:
            await world.settle()
        finally:
            failpoints.listen(None)
    reported = seen[Failpoint.REPORT_TAKEN, Moment.AFTER]
    started = seen[Failpoint.WORK_STARTED, Moment.AFTER]
    own = [
        after - before
        for before, after in zip(
            seen[Failpoint.START_SESSION, Moment.BEFORE],
            seen[Failpoint.START_SESSION, Moment.AFTER],
            strict=True,
        )
    ]
    return [(started[number + 1] - reported[number] - own[number + 1]) * 1000 for number in range(ROLES - 1)]


def main() -> None:
    """Measure, and print the table."""
    found = asyncio.run(measured())
    name = "one role's report to the next one's session"
    publish([Figure(part="contracts", name=name, unit="ms", measured=median(found), goal=GOAL_MS)])


if __name__ == "__main__":
    main()
