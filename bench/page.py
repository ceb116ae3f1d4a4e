"""The operator's page over years of work: how long each of its addresses takes, how soon an event is at every browser that watches, what
the first look transfers, and whether memory stays where it is.

Ten thousand jobs, a million ledger events, a transcript of five thousand turns, five hundred initiatives of twenty tasks each. A job's
diff is git's and not measured here.

    python -m bench.page [FOLDER]

A folder that is given keeps what was written, for the next run.
"""

import asyncio
import gzip
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

import structlog

from bench.filled import settings_of
from bench.portfolio_rows import fill_portfolio
from bench.serving import memory_mb
from bench.table import Figure, publish
from bench.years import EVENTS, JOBS, LONGEST, fill_years
from overlord.adapters.clock import SystemClock
from overlord.app import Overlord, overlord
from overlord.domain.event import EventName, LedgerEvent
from overlord.entrypoints.web.server import page_served
from overlord.home import Home
from overlord.settings.load import Settings
from overlord.store import ledger
from overlord.store.database import Database
from overlord.store.portfolio import initiatives

LOADS = 60
"""Of each page; the first few are not counted."""
WARM = 5
BROWSERS, SENT = 100, 40
LOADS_FOR_MEMORY = 1_500
PAGE_GOAL_MS, EVENT_GOAL_MS, MEMORY_GOAL_MB, FIRST_PAINT_GOAL_KB = 50.0, 200.0, 5.0, 60.0


class Reader:
    """A browser that is signed in, over one connection."""

    def __init__(self, address: str, token: str) -> None:
        place = urlsplit(address)
        self._connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
        self._connection.request("GET", f"/?token={token}")
        answer = self._connection.getresponse()
        answer.read()
        self.cookie = (answer.headers["set-cookie"] or "").partition(";")[0]

    def load(self, path: str) -> tuple[float, bytes]:
        """Milliseconds, and what came over the wire."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"cookie": self.cookie, "accept-encoding": "gzip"})
        answer = self._connection.getresponse()
        content = answer.read()
        took = (time.perf_counter() - began) * 1000
        assert answer.status == 200, (path, answer.status, content[:300])
        return took, content

    def times(self, path: str) -> tuple[list[float], float]:
        """Milliseconds of each load, and of processor time in the median: what they would take where nothing else runs."""
        took, used = [], []
        for _ in range(LOADS):
            began = time.process_time()
            took.append(self.load(path)[0])
            used.append((time.process_time() - began) * 1000)
        return took[WARM:], median(used[WARM:])

    def first_paint_kb(self) -> float:
        """Now, and the scripts and styles it asks for."""
        page = self.load("/")[1]
        text = gzip.decompress(page) if page[:2] == b"\x1f\x8b" else page
        assets = re.findall(rb'(?:src|href)="(/static/[^"]+)"', text)
        return (len(page) + sum(len(self.load(path.decode())[1]) for path in assets)) / 1000


def pages(job: int) -> dict[str, str]:
    """What is measured: a name and an address."""
    return {
        "Now": "/",
        "Inbox": "/inbox",
        "a question": "/inbox/1",
        "Spaces": "/spaces",
        "a space": "/spaces/bench/space1",
        "Portfolio, 500 initiatives of 20 tasks": "/portfolio",
        "Portfolio, those of one state": "/portfolio?state=active",
        "an initiative of 20 tasks": "/initiatives/i250",
        "a task": "/tasks/i250.4",
        "Knowledge, 10,000 notes": "/knowledge",
        "Knowledge, words": "/knowledge?q=where+does+the+token+live",
        "Trends, 90 days": "/trends?days=90",
        "History": "/history",
        "History, its 100th page": "/history?before=5000",
        "History, words": "/history?q=blanks+4711",
        "a job's story": f"/jobs/{job}",
        "a transcript, its end": f"/jobs/{job}/transcript",
        "a transcript, its middle": f"/jobs/{job}/transcript?first=2500",
        "a job's checks": f"/jobs/{job}/checks",
        "everything that can be done": "/do",
        "status": "/look/status",
        "queue": "/look/queue",
        "cost": "/look/cost",
        "what waits (the number)": "/waiting",
    }


async def figures(root: Path) -> list[Figure]:
    """The page's rows."""
    settings = settings_of(root, page={"address": "127.0.0.1:0"})
    began = time.perf_counter()
    await fill_years(settings)
    await _fill_portfolio(settings)
    print(
        f"{JOBS:,} jobs and {EVENTS:,} events are there after {time.perf_counter() - began:.0f} s", flush=True
    )
    async with overlord(settings) as running, page_served(running) as address:
        token = running.parts.home.page_token.read_text(encoding="ascii")
        found = await asyncio.to_thread(_looks, address, token)
        took = await events(running, address, (await asyncio.to_thread(Reader, address, token)).cookie)
        found.append(_figure(f"an event at {BROWSERS} browsers, median", "ms", median(took)))
        found.append(_figure("the same, p95", "ms", p95(took), EVENT_GOAL_MS))
        found.append(await asyncio.to_thread(lambda: memory(Reader(address, token))))
    return found


async def _fill_portfolio(settings: Settings) -> None:
    """Where it is not there already."""
    database = await Database.open(Home(settings.home).database, exclusive=True)
    try:
        if not await database.read(initiatives.every):
            act = partial(fill_portfolio, spaces=settings.repositories, at=SystemClock().now())
            await database.write("by hand", act)
    finally:
        await database.close()


def _looks(address: str, token: str) -> list[Figure]:
    reader = Reader(address, token)
    found = []
    for name, path in pages(LONGEST).items():
        took, used = reader.times(path)
        found.append(_figure(f"{name}, p95", "ms", p95(took), PAGE_GOAL_MS, processor_ms=used))
    return [*found, _figure("first look at Now", "kB", reader.first_paint_kb(), FIRST_PAINT_GOAL_KB)]


def _figure(
    name: str, unit: str, measured: float, goal: float | None = None, *, processor_ms: float | None = None
) -> Figure:
    yardstick = "processor time" if processor_ms is not None else ""
    return Figure(
        part="page",
        name=name,
        unit=unit,
        measured=measured,
        goal=goal,
        yardstick=yardstick,
        beside=processor_ms,
    )


def p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20)[-1]


def memory(reader: Reader) -> Figure:
    """What more is resident after many loads than after a few."""
    paths = list(pages(LONGEST).values())

    def load(count: int) -> float:
        for number in range(count):
            reader.load(paths[number % len(paths)])
        return memory_mb("self")

    before = load(10 * len(paths))
    more = max(load(LOADS_FOR_MEMORY) - before, 0.0)
    return _figure(f"memory, more after {LOADS_FOR_MEMORY:,} loads", "MB", more, MEMORY_GOAL_MB)


async def events(running: Overlord, address: str, cookie: str) -> list[float]:
    """How long each event takes from the moment it is written until a browser has it: of every browser and every event."""
    took: list[float] = []
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(_stream(address, cookie)) for _ in range(BROWSERS)]
        for number in range(SENT):
            # Not in step with what the page does by the clock; some come while it rests from the one before.
            await asyncio.sleep(0.02 + 0.037 * (number % 11))
            began = time.perf_counter()
            event = LedgerEvent(
                name=EventName.CHECK_STARTED, at=SystemClock().now(), job_id=1, data={"session": "x"}
            )
            await running.parts.database.write("by hand", partial(ledger.append, event=event))
            running.wakeup.notify()
            ended = await asyncio.gather(*(_told(stream) for stream in streams))
            took += [(at - began) * 1000 for at in ended]
    return took


@asynccontextmanager
async def _stream(address: str, cookie: str) -> AsyncIterator[asyncio.StreamReader]:
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(f"GET /events HTTP/1.1\r\nhost: {place.netloc}\r\ncookie: {cookie}\r\n\r\n".encode())
    await reader.readuntil(b"retry: ")
    try:
        yield reader
    finally:
        writer.close()


async def _told(stream: asyncio.StreamReader) -> float:
    await stream.readuntil(b"event: changed")
    return time.perf_counter()


async def main(folders: list[str]) -> None:
    """Print the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="bp-", dir="/tmp") as name:
        publish(await figures(Path(folders[0] if folders else name)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
