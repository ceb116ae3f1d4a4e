"""What the gateway adds to a streamed completion: first byte and whole reply, through a session's session API against straight to
the endpoint, with many sessions at once. One loopback model in a process of its own; ratios hold within one run.

    python -m bench.gateway [sessions] [rounds]
"""

import asyncio
import json
import multiprocessing
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx

from bench.table import Figure, publish
from minion.protocol import COMPLETIONS_PATH, Issue, SessionKind
from overlord.adapters.clock import SystemClock
from overlord.adapters.git.mirrors import GitMirrors
from overlord.adapters.mcp import HttpMcp
from overlord.adapters.model import OpenAIModel
from overlord.config_files import packaged
from overlord.domain.contracts.constitution import load_contract
from overlord.domain.session import Session, SessionState, session_id
from overlord.embedded.server import serve
from overlord.home import Home
from overlord.session_api.parts import SessionApiParts
from overlord.session_api.server import SessionApiServer
from overlord.settings.current import CurrentSettings
from overlord.settings.load import load
from overlord.store import jobs, sessions
from overlord.store.database import Database
from overlord.wakeup import Wakeup

EVENTS = 100
EVENT_S = 0.02
"""An ordinary pace: 50 pieces a second."""
GOAL_MS = 3.0
PROMPT = "x" * 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What every session asks: where, and with which body."""

    path: str
    body: str


CHAT = Asked(
    path=COMPLETIONS_PATH,
    body=json.dumps({"model": "default", "stream": True, "messages": [{"role": "user", "content": PROMPT}]}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One streamed reply, in milliseconds."""

    first_ms: float
    whole_ms: float


async def _model(_scope: Any, receive: Any, send: Any) -> None:
    """A model that talks at a steady pace."""
    while (await receive()).get("more_body"):
        continue
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "word "}}],
    }
    event = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    for _ in range(EVENTS):
        await send({"type": "http.response.body", "body": event, "more_body": True})
        await asyncio.sleep(EVENT_S)
    usage = {"prompt_tokens": 1000, "completion_tokens": EVENTS, "total_tokens": 1000 + EVENTS}
    last = b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\ndata: [DONE]\n\n"
    await send({"type": "http.response.body", "body": last, "more_body": False})


def _far_end(pipe: Connection) -> None:
    async def run() -> None:
        async with serve(_model) as url:
            pipe.send(url)
            await asyncio.to_thread(pipe.recv)

    asyncio.run(run())


@asynccontextmanager
async def session_apis(root: Path, url: str, count: int, wire: str = "chat") -> AsyncIterator[list[Path]]:
    """Sockets of `count` live sessions whose gateway leads to an endpoint of a wire at `url`."""
    model_settings = {"base_url": f"{url}/v1", "name": "m", "wire": wire}
    settings = load({"OVERLORD_HOME": str(root)}, model=model_settings)
    home, clock = Home(root), SystemClock()
    model = OpenAIModel(settings.model.base_url)
    database = await Database.open(home.database, exclusive=True)
    found = await database.write("by hand", lambda c: [_session(c, number) for number in range(1, count + 1)])
    keeper = SessionApiServer(
        SessionApiParts(
            current=CurrentSettings(settings),
            home=home,
            database=database,
            model=model,
            git=GitMirrors(home),
            mcp=HttpMcp(),
            clock=clock,
            wakeup=Wakeup(),
        )
    )
    await keeper.reconcile()
    yield [home.socket(session.id) for session in found]
    await keeper.close()
    await model.close()
    await database.close()


def _session(connection: sqlite3.Connection, number: int) -> Session:
    at = SystemClock().now()
    contract = load_contract(packaged("contracts/default.yaml"), "the built-in contract")
    issue = Issue(number=number, title="t", body="b", author="a")
    job = jobs.claim(connection, space="o/r", issue=issue, base_branch="main", contract=contract, at=at)
    assert job is not None
    session = Session(
        id=session_id(job.id, SessionKind.WORK, 1),
        job_id=job.id,
        kind=SessionKind.WORK,
        state=SessionState.PREPARED,
        brief="{}",
        scope="[]",
        branch=job.branch,
        token_budget=10**12,
        time_limit_s=1800,
        prepared_at=at,
    )
    sessions.prepare(connection, session)
    return session


async def _stream(client: httpx.AsyncClient, asked: Asked, rounds: int, start_s: float) -> list[Timing]:
    """One session's turns, a little apart from the others'."""
    await asyncio.sleep(start_s)
    timings = []
    for _ in range(rounds):
        began, first = time.perf_counter(), 0.0
        async with client.stream("POST", asked.path, content=asked.body) as reply:
            async for _chunk in reply.aiter_raw():
                first = first or time.perf_counter()
        ended = time.perf_counter()
        timings.append(Timing(first_ms=(first - began) * 1000, whole_ms=(ended - began) * 1000))
    return timings


async def _measure(clients: Sequence[httpx.AsyncClient], asked: Asked, rounds: int) -> list[Timing]:
    spread_s = EVENTS * EVENT_S / len(clients)
    runs = (_stream(client, asked, rounds, number * spread_s) for number, client in enumerate(clients))
    return [timing for timings in await asyncio.gather(*runs) for timing in timings]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How sessions reach a model: a base URL and a socket (or "") for each, and what each asks there."""

    addresses: Sequence[tuple[str, str]]
    asked: Asked = CHAT


def _client_process(pipe: Connection, ways: Sequence[Way], rounds: int) -> None:
    """The sessions' side in a process of its own, as Minions are."""

    async def run() -> list[list[Timing]]:
        async with AsyncExitStack() as stack:
            sides = [await _clients(stack, way) for way in ways]
            found: list[list[Timing]] = [[] for _ in ways]
            for clients, way in zip(sides, ways, strict=True):
                await _measure(clients[:1], way.asked, 1)
            pipe.send("ready")
            for _ in range(rounds):  # in turn: what else the machine does meets each of them
                for number, (clients, way) in enumerate(zip(sides, ways, strict=True)):
                    found[number] += await _measure(clients, way.asked, 1)
            return found

    pipe.send(asyncio.run(run()))


async def _clients(stack: AsyncExitStack, way: Way) -> list[httpx.AsyncClient]:
    return [
        await stack.enter_async_context(
            httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(uds=socket or None), base_url=url, timeout=60
            )
        )
        for url, socket in way.addresses
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the ways took, and the processor time this process used meanwhile: the gateway's, if it is here."""

    timings: Sequence[list[Timing]]
    cpu_s: float


async def timings_of(ways: Sequence[Way], rounds: int) -> Measured:
    """Every reply of sessions that ask at once, way by way in turn."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_client_process, args=(theirs, ways, rounds)
    )
    process.start()
    try:
        await asyncio.to_thread(ours.recv)
        began = time.process_time()
        found = await asyncio.to_thread(ours.recv)
        return Measured(timings=found, cpu_s=time.process_time() - began)
    finally:
        await asyncio.to_thread(process.join)


async def main(count: int, rounds: int) -> None:
    """Print the table."""
    ours, theirs = multiprocessing.Pipe()
    far_end = multiprocessing.get_context("spawn").Process(target=_far_end, args=(theirs,))
    far_end.start()
    url = await asyncio.to_thread(ours.recv)
    try:
        with tempfile.TemporaryDirectory(prefix="gw-", dir="/tmp") as root:
            async with session_apis(Path(root), url, count) as sockets:
                doors = Way(addresses=[("http://door", str(socket)) for socket in sockets])
                measured = await timings_of([Way(addresses=[(url, "")] * count), doors], rounds)
    finally:
        ours.send("done")
        await asyncio.to_thread(far_end.join)
    print(f"{count} sessions streaming, {EVENTS} events each {EVENT_S * 1000:.0f} ms apart")
    direct, through = measured.timings
    publish(figures(direct, through))


def figures(direct: list[Timing], through: list[Timing]) -> list[Figure]:
    """What the gateway adds to each part of a reply."""
    rows = []
    for name, label in (("first_ms", "first byte"), ("whole_ms", "whole reply")):
        ours, theirs = ([getattr(item, name) for item in timings] for timings in (through, direct))
        for share, pick in (("p50", median), ("p95", lambda values: quantiles(values, n=20)[-1])):
            through_ms, direct_ms = pick(ours), pick(theirs)
            rows.append(
                Figure(
                    part="gateway",
                    name=f"{label} {share}, added",
                    unit="ms",
                    measured=through_ms - direct_ms,
                    goal=GOAL_MS if (name, share) == ("first_ms", "p50") else None,
                    yardstick="direct",
                    beside=direct_ms,
                )
            )
    return rows


if __name__ == "__main__":
    given = [int(value) for value in sys.argv[1:3]]
    asyncio.run(main(*(given + [50, 4][len(given) :])))
