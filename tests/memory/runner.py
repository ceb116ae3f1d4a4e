"""`ports.Runner` in memory: a session's program is a coroutine in this process. It isolates nothing."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from overlord.adapters.process.layers import ProcessLayers, checked_key
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, RunnerCapabilities, Running
from overlord.domain.session import Ending, EndKind
from overlord.domain.text.plain import visible
from overlord.errors import RunnerRefused

KILLED = 137


@dataclass(slots=True)
class Held:
    """A session as the runner holds it, and what its program may touch."""

    launch: Launch
    printed: list[str] = field(default_factory=list)
    asked_to_stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is told to end; a program that minds it ends with an exit code of its own."""
    ending: Ending | None = None
    has_finished_layer: bool = False
    """Whether a setup left its environment in one piece."""
    task: asyncio.Task[None] | None = None
    is_stopped: bool = False


class ProgramKilled(Exception):
    """A program was killed by something of its own."""


Program = Callable[[Held], Awaitable[int]]
"""What a session runs: it returns its exit code. It is cancelled when it is killed."""


@dataclass(slots=True)
class State:
    """What outlives a daemon: the next one's runner is made over the same."""

    sessions: dict[SessionId, Held] = field(default_factory=dict)
    layers: set[str] = field(default_factory=set)
    downloads: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    ended: list[SessionId] = field(default_factory=list)
    missing_agents: set[str] = field(default_factory=set)
    """The agents whose program is not there; all others are."""
    followers: list[asyncio.Queue[SessionId | None]] = field(default_factory=list)


class MemoryRunner:
    """A runner over a state. Without a program a session runs until a test says how it ends."""

    name = "memory"

    def __init__(
        self,
        program: Program | None = None,
        *,
        state: State | None = None,
        layers: ProcessLayers | None = None,
    ) -> None:
        """`layers`: environments that have files, in the place of mere names."""
        self.capabilities = RunnerCapabilities(
            isolates_files=False, isolates_network=False, limits_memory=False
        )
        self._program = program
        self._layers = layers
        self.state = state or State()
        self._following: list[asyncio.Queue[SessionId | None]] = []

    async def start(self, launch: Launch) -> None:
        if launch.session in self.state.sessions:
            return
        if launch.layer and not launch.makes_layer and not await self.has_layer(launch.layer):
            raise RunnerRefused(f"there is no environment {launch.layer}")
        if launch.agent is not None:
            await self.agent_version(launch.agent)
        held = self.state.sessions[launch.session] = Held(launch)
        if launch.makes_layer:
            self.state.downloads[launch.space.casefold()].add(launch.session)
        if self._program is not None:
            held.task = asyncio.create_task(self._run(held, self._program))

    async def _run(self, held: Held, program: Program) -> None:
        ending = Ending(kind=EndKind.KILLED, exit_code=KILLED)
        try:
            code = await program(held)
            kind = EndKind.STOPPED if held.is_stopped else EndKind.EXITED
            ending = Ending(kind=kind, exit_code=code)
        except (asyncio.CancelledError, ProgramKilled):
            if held.is_stopped:
                ending = Ending(kind=EndKind.STOPPED, exit_code=KILLED)
        finally:
            self.end(held.launch.session, ending)

    def end(self, session: SessionId, ending: Ending) -> None:
        """A session's program is over."""
        held = self.state.sessions.get(session)
        if held is None or held.ending is not None:
            return
        held.ending = ending
        self.state.ended.append(session)
        for follower in self.state.followers:
            follower.put_nowait(session)

    async def kill(self, session: SessionId) -> None:
        """Somebody else ends a session's program."""
        held = self.state.sessions[session]
        if held.task is not None:
            held.task.cancel()
            await asyncio.wait([held.task])
        self.end(session, Ending(kind=EndKind.KILLED, exit_code=KILLED))

    async def find(self, session: SessionId) -> Running | None:
        held = self.state.sessions.get(session)
        return Running(session=session, ending=held.ending) if held is not None else None

    async def sessions(self) -> Sequence[Running]:
        return [Running(session=name, ending=held.ending) for name, held in self.state.sessions.items()]

    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        held = self.state.sessions.get(session)
        if held is None or held.ending is not None:
            return
        held.is_stopped = True
        held.asked_to_stop.set()
        if held.task is not None:
            await asyncio.wait([held.task], timeout=grace_s)
            held.task.cancel()
            await asyncio.wait([held.task])
        self.end(session, Ending(kind=EndKind.STOPPED, exit_code=KILLED))

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        held = self.state.sessions.get(session)
        return visible("".join(held.printed))[-limit_bytes:] if held is not None else ""

    async def remove(self, session: SessionId) -> None:
        await self.stop(session, grace_s=0)
        self.state.sessions.pop(session, None)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:
        if program.program in self.state.missing_agents:
            raise RunnerRefused(f"there is no program of {program.program} in memory; install it")
        return "1.0"

    async def ground(self, image: str, *, space: str = "") -> str:
        if image:
            raise RunnerRefused(f"there is no image {image!r} in memory")
        return "memory"

    async def prepare_layer(self, key: str, *, image: str, packages: Sequence[str], space: str = "") -> None:
        checked_key(key)
        if self._layers is not None:
            self._layers.prepare(key)

    async def keep_layer(self, session: SessionId, key: str) -> int:
        checked_key(key)
        if self._layers is not None:
            return self._layers.keep(key)
        held = self.state.sessions.get(session)
        is_made = held is not None and held.ending is not None and held.ending.kind is EndKind.EXITED
        if key not in self.state.layers and not (is_made and held is not None and held.has_finished_layer):
            raise RunnerRefused(f"the setup {session} left no finished environment")
        self.state.layers.add(key)
        return 1

    async def has_layer(self, key: str) -> bool:
        return self._layers.has(key) if self._layers is not None else checked_key(key) in self.state.layers

    async def remove_layer(self, key: str) -> None:
        self.state.layers.discard(checked_key(key))
        if self._layers is not None:
            self._layers.remove(key)

    async def downloads(self) -> Sequence[str]:
        return list(self.state.downloads)

    async def remove_downloads(self, space: str) -> None:
        self.state.downloads.pop(space.casefold(), None)

    async def follow(self) -> AsyncIterator[SessionId]:
        queue: asyncio.Queue[SessionId | None] = asyncio.Queue()
        self.state.followers.append(queue)
        self._following.append(queue)
        for session in list(self.state.ended):
            queue.put_nowait(session)
        try:
            while (told := await queue.get()) is not None:
                yield told
        finally:
            self.state.followers.remove(queue)

    async def close(self) -> None:
        for queue in self._following:
            queue.put_nowait(None)
