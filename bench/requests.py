"""How many requests an hour the daemon makes of a forge where nothing happens: 50 repositories with a pull request each.

The hour is the daemon's clock's; the requests are real.

    python -m bench.requests
"""

import asyncio
import contextlib
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import structlog

from bench.filled import settings_of
from bench.table import Figure, publish
from minion.protocol import Issue
from overlord.app import Overlord, overlord
from overlord.domain.job import JobState
from overlord.embedded.forge.forge import EmbeddedForge
from overlord.embedded.forge.record import Pull
from overlord.engine.issues.projection import projection_key
from overlord.home import Home
from overlord.settings.load import Settings, contract_for
from overlord.store import jobs
from overlord.store.database import Database
from overlord.store.rows import update

SPACES = 50
GOAL = 1_500.0
HOUR_S, STEP_S = 3600, 15
FILES = {"calc.py": "def add(a, b):\n    return a - b\n"}
FIXED = {"calc.py": "def add(a, b):\n    return a + b\n"}
BRANCH = "minion/issue-1"


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self._passed_s = 0.0

    def now(self) -> datetime:
        return datetime(2026, 3, 2, 9, 0, tzinfo=UTC) + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        return 1_000.0 + self._passed_s

    def move(self, seconds: float) -> None:
        self._passed_s += seconds


async def an_hour(root: Path, spaces: int = SPACES) -> tuple[int, int]:
    """The requests of a quiet hour, the one after the first, and how many of them were answered with 304."""
    async with _watched(root, spaces) as (forge, clock, running):
        await _turn(running, clock, HOUR_S)
        before = len(forge.requests)
        await _turn(running, clock, HOUR_S)
        made = forge.requests[before:]
    return len(made), sum(seen.status == 304 for seen in made)


async def _turn(running: Overlord, clock: Hands, seconds: int) -> None:
    for _ in range(seconds // STEP_S):
        clock.move(STEP_S)
        while await running.tick.run() or not running.tick.is_idle:
            await running.tick.rest()


@contextlib.asynccontextmanager
async def _watched(root: Path, spaces: int) -> AsyncIterator[tuple[EmbeddedForge, Hands, Overlord]]:
    """An Overlord over repositories in each of which a delivered pull request waits for people."""
    clock, names = Hands(), [f"bench/space{number}" for number in range(spaces)]
    forge = EmbeddedForge(root / "forge", now=clock.now)
    try:
        async with forge.serve() as url:
            settings = settings_of(
                root / "home", repositories=names, poll_s=30, forge={"api_url": url, "token": forge.token}
            )
            pulls = [await _delivered(forge, name) for name in names]
            await _fill(settings, clock, pulls)
            async with overlord(settings, clock=clock) as running:
                yield forge, clock, running
    finally:
        forge.close()


async def _delivered(forge: EmbeddedForge, name: str) -> Pull:
    await forge.create_repository(name, files=FILES)
    await forge.open_issue(name, "Adding subtracts", "", labels=["in-review"])
    await forge.push_files(name, BRANCH, FIXED, "Add")
    return await forge.create_pull(
        name, title="Adding adds", body="", head=BRANCH, base="main", draft=False, author="overlord-bot"
    )


async def _fill(settings: Settings, clock: Hands, pulls: list[Pull]) -> None:
    """A job for each pull request, whose labels and comment stand as they should."""
    database = await Database.open(Home(settings.home).database, exclusive=True)
    try:
        await database.write("by hand", partial(_put, settings=settings, at=clock.now(), pulls=pulls))
    finally:
        await database.close()


def _put(connection: sqlite3.Connection, settings: Settings, at: datetime, pulls: list[Pull]) -> None:
    for pull in pulls:
        job = jobs.claim(
            connection,
            space=pull.repository,
            issue=Issue(number=1, title="Adding subtracts", body="", author="alice"),
            base_branch="main",
            contract=contract_for(settings, pull.repository),
            at=at,
        )
        assert job is not None
        heads = {"base_sha": pull.base_sha, "head_sha": pull.head_sha, "pushed_sha": pull.head_sha}
        update(
            connection,
            "jobs",
            job.id,
            {"state": JobState.IN_REVIEW, "pull_number": pull.number, **heads},
        )
        jobs.repair(connection, job.id, projected=projection_key(jobs.get(connection, job.id)))


async def main() -> None:
    """Print the figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="br-", dir="/tmp") as name:
        made, unchanged = await an_hour(Path(name))
    part = f"GitHub, {SPACES} repositories with a pull request each, nothing new"
    publish(
        [
            Figure(part=part, name="requests an hour", unit="", measured=made, goal=GOAL),
            Figure(part=part, name="of these answered 304", unit="%", measured=100 * unchanged / made),
        ]
    )


if __name__ == "__main__":
    asyncio.run(main())
