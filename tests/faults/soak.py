"""Load and soak, as a program: `python -m tests.faults.soak [jobs] [seed]`. It prints a table and fails when it is not flat.

Jobs go through one daemon after the other, with 5 % random faults (forge, model, killed sessions, killed daemons); then one is
recovered many times in a row; then one polls with nothing to do. Memory, descriptors and the database are compared by thirds.
"""

import asyncio
import contextlib
import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from overlord.app import overlord
from overlord.domain.job import Job, JobState
from overlord.embedded.play import say, status
from overlord.failpoints import listen
from overlord.settings.load import load
from overlord.store import jobs, sessions
from tests.faults.campaign import Campaign, under_fire
from tests.faults.cut import Cut, KeptClock, Place
from tests.faults.player import OPENING
from tests.faults.served import Daemon, asked, served
from tests.forked import FORKS
from tests.turning import Turning
from tests.world import REPO

SHARE = 0.05
"""How many of the jobs meet a fault."""
BATCH = 8
WORDS = ("plain", "plain", "plain", "breaks first", "check dies")
PASSING = ("500", "502-html", "reset", "reset-after", "bad-json")
"""What a forge gets over by itself at once: those that ask for time are the forge matrix's."""
MORE_MEMORY, MORE_MB = 1.1, 8.0
MORE_DESCRIPTORS = 8
MORE_ROWS = 1.5
POLL_S = 30
WEEK_POLLS = 7 * 24 * 3600 // POLL_S
S = JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A daemon at rest."""

    done: int
    memory_mb: float
    descriptors: int
    database_kb: float


def sample(pid: int, home: Path, done: int) -> Sample:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    [resident] = [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
    with contextlib.closing(sqlite3.connect(f"file:{home}/overlord.db?mode=ro", uri=True)) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    return Sample(
        done=done,
        memory_mb=resident / 1024,
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),
        database_kb=pages * size / 1024,
    )


@dataclass
class Load:
    """Jobs through daemons that live until a fault ends them."""

    told: Campaign
    chance: random.Random
    samples: list[Sample]
    done: int = 0
    faults: int = 0

    async def go(self, count: int) -> None:
        while self.done < count:
            async with served(self.told, sessions={"grace_s": 1, "concurrent": 3}) as daemon:
                with contextlib.suppress(_Killed):
                    while self.done < count:
                        await self._batch(daemon, min(BATCH, count - self.done))
                    await daemon.stopped()

    async def _batch(self, daemon: Daemon, size: int) -> None:
        open_before = len(self._of(*(state for state in S if state not in _OVER)))
        for _ in range(size - open_before):
            await self.told.issue(self.chance.choice(WORDS))
        for _ in range(sum(self.chance.random() < SHARE for _ in range(size))):
            self.faults += 1
            await self._fault(daemon, size)
        await daemon.until(lambda: self._rest(size, S.IN_REVIEW))
        for job in self._of(S.IN_REVIEW):
            await self.told.world.forge.close_pull(REPO, job.pull_number or 0)
        await daemon.until(lambda: self._rest(0, S.IN_REVIEW) and self._is_cleared())
        self.done += size
        self.samples.append(sample(daemon.pid, self.told.place.home, self.done))

    async def _fault(self, daemon: Daemon, size: int) -> None:
        world, kind = self.told.world, self.chance.choice(("forge", "model", "session", "daemon"))
        if kind == "forge":
            world.forge.fail("*", kind=self.chance.choice(PASSING), after=self.chance.randrange(60))
        elif kind == "model":
            world.model_will(status(500), say("Go on."), when=OPENING)
        elif kind == "session":
            await daemon.until(lambda: self._is_met(size))
            await world.kill_session(self.chance.choice(self._live() or ["none"]))
        else:
            await daemon.until(lambda: self._is_met(size))
            daemon.send(signal.SIGKILL)
            await daemon.code()
            raise _Killed

    def _is_met(self, size: int) -> bool:
        """Whether a session is there for a fault to meet, or all of a batch are over: then it meets a daemon at rest."""
        return bool(self._live()) or self._rest(size, S.IN_REVIEW)

    def _live(self) -> list[str]:
        return asked(self.told, lambda c: [item.id for item in sessions.live(c) if item.started_at], [])

    def _of(self, *states: JobState) -> list[Job]:
        return asked(self.told, lambda c: [job for job in jobs.open_jobs(c) if job.state in states], [])

    def _rest(self, count: int, state: JobState) -> bool:
        found = asked(self.told, jobs.open_jobs, list[Job]())
        stuck = [f"job {job.id} waits: {job.reason}" for job in found if job.state is S.WAITING]
        assert not stuck, f"{stuck}\n{self.told.log()}"
        return len(found) == count and all(job.state is state for job in found)

    def _is_cleared(self) -> bool:
        return asked(self.told, lambda c: not sessions.uncleared(c) and not jobs.unprojected_closed(c), False)


class _Killed(Exception):
    """The daemon was, and the next one goes on."""


_OVER = (S.COMPLETED, S.CANCELLED, S.FAILED)


async def recover(told: Campaign, chance: random.Random, count: int) -> None:
    """One daemon after the other, each killed a few points after its start, until all were."""
    told.cuts = [Cut(count=chance.randint(2, 15)) for _ in range(count)]
    while told.cuts:
        issue = await told.issue("plain")
        await told.settle()
        job = told.expect(issue, S.IN_REVIEW)
        assert job.revision == 0
        await told.world.forge.close_pull(REPO, job.pull_number or 0)
    await told.settle()


def idling(place: Place, polls: int, kept: str) -> None:
    """A daemon whose time is polls and nothing else, which writes down how it stands."""
    listen(None)
    Path(kept).write_text(json.dumps([asdict(item) for item in asyncio.run(_idle(place, polls))]))


async def _idle(place: Place, polls: int) -> list[Sample]:
    samples, clock = [], KeptClock(place.time)
    async with overlord(load({"OVERLORD_HOME": str(place.home)}, **place.given), clock=clock) as running:
        turning = Turning(overlord=running, clock=clock, deadline_s=300.0)
        for number in range(polls):
            clock.move(POLL_S + 1)
            await turning.until(lambda: True)
            if number % max(polls // 30, 1) == 0:
                samples.append(sample(os.getpid(), place.home, number))
    return samples


async def idle(told: Campaign, polls: int) -> list[Sample]:
    kept = told.world.root / "idle.json"
    process = FORKS.Process(target=idling, args=(told.place, polls, str(kept)))
    process.start()
    try:
        while process.is_alive():
            await told.world.something_happens()
            told.world.forge.requests.clear()
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()
        process.close()
    return [Sample(**item) for item in json.loads(kept.read_text())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured in the first third and in the last, and how much the last may be."""

    name: str
    first: float
    last: float
    bound: float

    @property
    def is_flat(self) -> bool:
        return self.last <= self.bound

    def __str__(self) -> str:
        verdict = "flat" if self.is_flat else "NOT FLAT"
        return f"{self.name:<44}{self.first:>10.1f}{self.last:>10.1f}{self.bound:>10.1f}  {verdict}"


def rows(name: str, samples: Sequence[Sample]) -> list[Row]:
    """Memory and descriptors at rest, and how fast the database grows, in thirds."""
    third = max(len(samples) // 3, 1)
    first, last = samples[:third], samples[-third:]
    memory = [median(item.memory_mb for item in part) for part in (first, last)]
    held = [float(median(item.descriptors for item in part)) for part in (first, last)]
    grown = [_growth(samples[: third + 1]), _growth(samples[-third - 1 :])]
    return [
        Row(
            name=f"{name}: memory, MB",
            first=memory[0],
            last=memory[1],
            bound=memory[0] * MORE_MEMORY + MORE_MB,
        ),
        Row(name=f"{name}: file descriptors", first=held[0], last=held[1], bound=held[0] + MORE_DESCRIPTORS),
        Row(name=f"{name}: database, KB each", first=grown[0], last=grown[1], bound=grown[0] * MORE_ROWS + 1),
    ]


def _growth(samples: Sequence[Sample]) -> float:
    first, last = samples[0], samples[-1]
    return (last.database_kb - first.database_kb) / max(last.done - first.done, 1)


async def soak(count: int, seed: int, *, recoveries: int, polls: int) -> list[Row]:
    """The whole of it. Raises AssertionError for what is not as it must be."""
    chance = random.Random(seed)
    async with under_fire() as told:
        load_ = Load(told, chance, [])
        await load_.go(count)
        await told.check()
        await recover(told, chance, recoveries)
        await told.check()
        standing = await idle(told, polls)
        await told.check()
        print(
            f"{load_.done} jobs, {load_.faults} faults, {recoveries} recoveries, {polls} idle polls, seed {seed}"
        )
        return [*rows("a job", load_.samples), *rows("an idle poll", standing)]


def main(words: Sequence[str]) -> int:
    count, seed = int(words[0]) if words else 1000, int(words[1]) if len(words) > 1 else 1
    try:
        table = asyncio.run(soak(count, seed, recoveries=50, polls=WEEK_POLLS))
    except AssertionError as error:
        print(f"seed {seed}: {error}", file=sys.stderr)
        return 1
    print(f"{'':<44}{'first':>10}{'last':>10}{'at most':>10}", *table, sep="\n")
    return 0 if all(row.is_flat for row in table) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
