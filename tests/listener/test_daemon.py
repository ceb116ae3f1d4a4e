"""`overlord serve` with its listener, as a program: from outside, by its port, its signals and its exit code."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import yaml

from overlord.domain.job import JobState
from overlord.embedded.play import edit, submit
from overlord.errors import StoreError
from overlord.home import Home
from overlord.store import jobs
from overlord.store.database import open_reader
from tests.listener.wire import SECRET, get, line
from tests.quick import made_quick_world
from tests.world import FIX, World

DEADLINE_S = 180.0
SEARCHED = ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV")


class Daemon:
    """One such process."""

    def __init__(self, process: asyncio.subprocess.Process, world: World) -> None:
        self.process = process
        self._world = world
        self._log: list[str] = []

    @property
    def log(self) -> str:
        """What it has said as far as somebody listened."""
        return "".join(self._log)

    async def told(self, name: str) -> dict[str, Any]:
        """Its next log line of this event."""
        while True:
            line = await self.line(name)
            said: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if said.get("event") == name:
                return said

    async def line(self, word: str) -> str:
        """Its next log line that holds this word."""
        assert self.process.stderr is not None
        async with asyncio.timeout(DEADLINE_S):
            while text := (await self.process.stderr.readline()).decode():
                self._log.append(text)
                if word in text:
                    return text
        raise AssertionError(f"it ended without {word}:\n{self.log}")

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not holds():
                assert self.process.returncode is None, "".join(self._log)
                await self._world.something_happens()

    def has_polled(self) -> bool:
        return any(seen.operation == "issues/list-for-repo" for seen in self._world.forge.requests)

    def states(self) -> list[JobState]:
        def read(connection: sqlite3.Connection) -> list[JobState]:
            return [job.state for job in jobs.all_jobs(connection)]

        with (
            contextlib.suppress(StoreError),
            contextlib.closing(open_reader(Home(self._world.root / "home").database)) as connection,
        ):
            return read(connection)
        return []

    async def stopped(self) -> int:
        """Tell it to stop; how it ended."""
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DEADLINE_S):
            _, rest = await self.process.communicate()
        self._log.append(rest.decode())
        assert "Traceback" not in "".join(self._log), "".join(self._log)
        assert SECRET not in "".join(self._log)
        return self.process.returncode or 0


@contextlib.asynccontextmanager
async def served(
    world: World, *, flags: Sequence[str] = ("--json",), **environment: str
) -> AsyncIterator[Daemon]:
    home = world.root / "home"
    home.mkdir(exist_ok=True)
    (home / "overlord.yaml").write_text(yaml.safe_dump(world.given()))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "overlord", "serve", *flags),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={
            **{name: os.environ[name] for name in SEARCHED if name in os.environ},
            "OVERLORD_HOME": str(home),
            **environment,
        },
    )
    try:
        yield Daemon(process, world)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def test_a_label_is_heard_long_before_the_next_poll() -> None:
    async with made_quick_world(poll_s=86_400) as world:
        world.model_will(edit(*FIX), submit("add() adds again."))
        async with served(world, OVERLORD_LISTEN="127.0.0.1:0", GITHUB_WEBHOOK_SECRET=SECRET) as daemon:
            place = (await daemon.told("listening"))["address"]
            await daemon.until(daemon.has_polled)
            hook = await world.forge.hook(f"http://{place}/webhooks/github", SECRET)
            await world.issue("add() subtracts")
            await daemon.until(lambda: daemon.states() == [JobState.IN_REVIEW])
            await hook.sent()
            assert {delivery.status for delivery in hook.deliveries} == {200, 202}
            assert (await get(place, "/readyz")).said == {"status": "ready"}
            assert await daemon.stopped() == 0


async def test_without_a_listener_polling_is_enough_and_the_forge_waits_for_nobody() -> None:
    async with made_quick_world(poll_s=1) as world:
        world.model_will(edit(*FIX), submit("add() adds again."))
        with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
            hook = await world.forge.hook(f"http://127.0.0.1:{silent.getsockname()[1]}/", SECRET)
            async with served(world) as daemon:
                await daemon.told("serving")
                await world.issue("add() subtracts")
                await daemon.until(lambda: daemon.states() == [JobState.IN_REVIEW])
                assert await daemon.stopped() == 0
        assert not any(delivery.status for delivery in hook.deliveries)


async def test_open_connections_do_not_keep_a_daemon_from_stopping() -> None:
    async with (
        made_quick_world() as world,
        served(world, OVERLORD_LISTEN="127.0.0.1:0", GITHUB_WEBHOOK_SECRET=SECRET) as daemon,
        contextlib.AsyncExitStack() as stack,
    ):
        place = (await daemon.told("listening"))["address"]
        idle, half = [await stack.enter_async_context(line(place)) for _ in range(2)]
        half.send(b"POST /webhooks/github HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
        assert (await get(place, "/healthz")).status == 200
        assert await daemon.stopped() == 0
        assert [await idle.rest(), await half.rest()] == [b"", b""]


async def test_a_port_that_is_in_use_is_said_and_ends_the_daemon() -> None:
    async with made_quick_world() as world:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            async with served(world, OVERLORD_LISTEN=address) as daemon:
                async with asyncio.timeout(DEADLINE_S):
                    _, said = await daemon.process.communicate()
                assert daemon.process.returncode == 3
                assert said.decode().splitlines()[-1] == (
                    f"overlord: listen.address: {address} cannot be listened on: another program listens there."
                    " Choose another in OVERLORD_LISTEN, or none"
                )


async def test_an_address_that_is_not_this_machines_is_said() -> None:
    async with made_quick_world() as world, served(world, OVERLORD_LISTEN="203.0.113.7:8712") as daemon:
        async with asyncio.timeout(DEADLINE_S):
            _, said = await daemon.process.communicate()
        assert daemon.process.returncode == 3
        assert b"203.0.113.7:8712 cannot be listened on: Cannot assign requested address" in said


async def test_without_slack_it_offers_a_page_to_talk_on_and_what_is_said_there_counts() -> None:
    async with made_quick_world(slack={"page": "127.0.0.1:0"}) as world:
        world.model_will(edit(*FIX), submit("add() adds again."))
        number = await world.issue("add() subtracts", label="")
        async with served(world) as daemon:
            address = (await daemon.told("talk_here"))["page"]
            base = "/".join(address.split("/")[:3])
            async with httpx.AsyncClient(base_url=base, headers={"origin": base}) as page:
                assert (await page.get("/")).status_code == 403
                assert (await page.get(address)).is_success
                state = (await page.get("/page/state")).json()
                while not state["is_connected"]:
                    state = (await page.get("/page/state", params={"after": state["revision"]})).json()
                asked = {"act": "send", "channel": state["channels"][0]["id"]}
                said = await page.post("/page/act", json={**asked, "text": f"/overlord work on #{number}"})
                assert said.is_success, said.text
                await daemon.until(lambda: daemon.states() == [JobState.IN_REVIEW])
            assert await daemon.stopped() == 0


async def test_a_page_whose_port_is_taken_keeps_nobody_from_working() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        page = f"127.0.0.1:{taken.getsockname()[1]}"
        async with made_quick_world(slack={"page": page}) as world, served(world) as daemon:
            assert (await daemon.told("no_page"))["address"] == page
            await daemon.until(daemon.has_polled)
            assert await daemon.stopped() == 0
