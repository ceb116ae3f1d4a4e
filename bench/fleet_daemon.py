"""The daemon of `bench.fleet`, a program of its own: everything of it is real but its runner, whose nodes are in the process that
started it (`bench/played_fleet.py`). It ends when its standard input does, and leaves what it measured in `HOME/measured.json`.

python -m bench.fleet_daemon SETTINGS.json
"""

# ruff: noqa: ARG002 - the methods of a port take what it says
import asyncio
import contextlib
import cProfile
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog

from overlord.adapters.space_runners import USUAL, SpaceRunners
from overlord.app import overlord
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, RunnerCapabilities, Running
from overlord.domain.session import Ending, EndKind
from overlord.engine.tick import Tick
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.failpoints import guarded
from overlord.home import Home
from overlord.metrics import QUICK_S, Histogram
from overlord.settings.load import load

PROFILE = "OVERLORD_BENCH_PROFILE"
"""The environment variable that names the file a profile of the daemon is written to."""


class PlayedRunner:
    """`ports.Runner` over nodes in another process, which a socket leads to: one JSON object a line, both ways."""

    name = "played"

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.capabilities = RunnerCapabilities(isolates_files=True, isolates_network=True, limits_memory=True)
        self._writer = writer
        self._known: dict[SessionId, Running] = {}
        self._taken: dict[SessionId, asyncio.Event] = {}
        self._ended: asyncio.Queue[SessionId | None] = asyncio.Queue()
        self._over: dict[SessionId, asyncio.Event] = {}
        self._hearing = asyncio.create_task(self._hear(reader))

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            told = json.loads(line)
            session = SessionId(told["session"])
            if told["is"] == "taken":
                self._taken.pop(session).set()
            elif session in self._known:
                ending = Ending(kind=EndKind(told["is"]), exit_code=told["exit_code"], detail=told["detail"])
                self._known[session] = Running(session=session, ending=ending)
                self._over[session].set()
                self._ended.put_nowait(session)

    def _say(self, do: str, session: SessionId, **more: Any) -> None:
        if self._writer.is_closing():
            raise RunnerUnavailable("the nodes are gone")
        self._writer.write(json.dumps({"do": do, "session": session, **more}).encode() + b"\n")

    async def start(self, launch: Launch) -> None:
        if launch.access is None:
            raise RunnerRefused("sessions on other machines need the setting session_listener")
        if launch.session in self._known:
            return
        self._known[launch.session] = Running(session=launch.session)
        taken = self._taken[launch.session] = asyncio.Event()
        self._over[launch.session] = asyncio.Event()
        self._say("start", launch.session, environment={**launch.environment, **launch.access.environment()})
        await taken.wait()

    async def find(self, session: SessionId) -> Running | None:
        return self._known.get(session)

    async def sessions(self) -> Sequence[Running]:
        return list(self._known.values())

    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        running = self._known.get(session)
        if running is not None and running.ending is None:
            self._say("stop", session)
            await self._over[session].wait()

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        return ""

    async def remove(self, session: SessionId) -> None:
        await self.stop(session, grace_s=0)
        self._known.pop(session, None)
        self._over.pop(session, None)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:
        return "played"

    async def ground(self, image: str, *, space: str = "") -> str:
        return "played"

    async def prepare_layer(self, key: str, *, image: str, packages: Sequence[str], space: str = "") -> None:
        raise RunnerRefused("nothing is set up on played nodes")

    async def keep_layer(self, session: SessionId, key: str) -> int:
        raise RunnerRefused("nothing is set up on played nodes")

    async def has_layer(self, key: str) -> bool:
        return False

    async def remove_layer(self, key: str) -> None:
        return

    async def downloads(self) -> Sequence[str]:
        return ()

    async def remove_downloads(self, space: str) -> None:
        return

    async def follow(self) -> AsyncIterator[SessionId]:
        while (told := await self._ended.get()) is not None:
            yield told

    async def close(self) -> None:
        self._ended.put_nowait(None)
        self._hearing.cancel()
        self._writer.close()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._hearing
            await self._writer.wait_closed()


class Recorded(Histogram):
    """Keeps every observation, with when it was made."""

    def __init__(self) -> None:
        super().__init__(QUICK_S)
        self.seen: list[tuple[float, float]] = []

    def observe(self, value: float, *labels: str) -> None:
        self.seen.append((asyncio.get_running_loop().time(), value))
        super().observe(value, *labels)


async def serve(given: dict[str, Any]) -> None:
    """Work until standard input ends. `given`: the settings, and `nodes`, the socket that leads to them."""
    nodes, passes = Path(given.pop("nodes")), Recorded()
    settings = load({"OVERLORD_HOME": given.pop("home")}, **given)
    async with contextlib.AsyncExitStack() as stack:
        built = await stack.enter_async_context(overlord(settings))
        runner = PlayedRunner(*await asyncio.open_unix_connection(nodes))
        stack.push_async_callback(runner.close)
        ports = SpaceRunners({"played": guarded(runner, built.parts.database.check_held)}, lambda _: USUAL)
        parts = replace(built.parts, runner=ports, meters=replace(built.parts.meters, tick_s=passes))
        running = replace(built, parts=parts, tick=Tick(parts))
        stack.push_async_callback(running.tick.close)
        stopped = asyncio.Event()
        work = asyncio.create_task(running.run(stopped))
        await asyncio.to_thread(sys.stdin.read)
        stopped.set()
        running.wakeup.notify()
        await work
    measured = Home(settings.home).root / "measured.json"
    await asyncio.to_thread(measured.write_text, json.dumps(passes.seen))


def main(path: str) -> None:
    """Serve, and write a profile where the environment asks for one."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    given = json.loads(Path(path).read_text(encoding="utf-8"))
    if not (profile := os.environ.get(PROFILE)):
        asyncio.run(serve(given))
        return
    with cProfile.Profile() as profiled:
        asyncio.run(serve(given))
    profiled.dump_stats(profile)


if __name__ == "__main__":
    main(sys.argv[1])
