"""Sessions as containers of a Docker engine, each behind the walls of `docker_profile.py`.

A container is found again by its name and labels, so a restarted daemon needs nothing else but a few notes
(`docker_notes.py`).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from overlord.adapters.docker.agents import DockerAgents
from overlord.adapters.docker.engine import CALL_S, Conflict, DockerEngine, Faulted, Missing
from overlord.adapters.docker.layers import DIRECTORY, DockerLayers, another_version
from overlord.adapters.docker.notes import Note, Notes
from overlord.adapters.docker.profile import CACHE, READY, SESSION_API, Profile, differences
from overlord.adapters.ending import Endings, harmless
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, RunnerCapabilities, Running
from overlord.domain.session import Ending, EndKind
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.failpoints import Failpoint, outward

Result = TypeVar("Result")
LABEL = "overlord"
_LOOK_AGAIN_S = 1.0
_LISTEN_S = 5.0
_CREATE_TRIES = 100
_CREATE_PAUSE_S = 0.1
_KILL_S = 10.0
"""How long a container may take to be gone after KILL before the engine counts as unavailable."""


class DockerRunner:
    """Runs each session in a container of `image`, under `profile`.

    `root` holds its notes; `instance` tells this Overlord's containers from another's on the same engine; `epoch` is
    recorded on what this daemon starts. `command` stands in for the image's own entry point. `minion` is the version of it the
    image must be of, whenever that is made anew; empty for any.
    """

    name = "docker"
    capabilities = RunnerCapabilities(isolates_files=True, isolates_network=True, limits_memory=True)

    def __init__(
        self,
        root: Path,
        *,
        image: str,
        instance: str,
        epoch: int = 0,
        profile: Profile | None = None,
        command: Sequence[str] | None = None,
        address: str | None = None,
        call_s: int = CALL_S,
        minion: str = "",
    ) -> None:
        self._minion = minion
        self._notes = Notes(root)
        self._image = image
        self._instance = instance
        self._epoch = epoch
        self._profile = profile or Profile()
        self._command = command
        self._engine = DockerEngine(address=address, call_s=call_s)
        self._layers = DockerLayers(
            self._engine,
            root,
            image=image,
            instance=instance,
            address=address,
            minion=minion,
            network=self._profile.setup_network,
            memory_mb=self._profile.setup_memory_mb,
        )
        self._agents = DockerAgents(self._engine, address=address)
        self._endings = Endings()
        self._ended: dict[SessionId, asyncio.Event] = {}
        self._told: set[SessionId] = set()
        self._watching: asyncio.Event | None = None

    @outward(Failpoint.START_SESSION)
    async def start(self, launch: Launch) -> None:
        if self._notes.has(launch.session, Note.STARTED):
            return
        listening = self._watch()
        program = "" if launch.agent is None else await self._agents.volume(launch.agent)
        name, asked = self._name(launch.session), self._configuration(launch, program)
        if not await self._create(launch.session, asked):
            self._notes.take(launch.session, Note.STARTED)  # its reply was lost
            return
        await self._check(name, asked)
        await self._check_agent(name, launch.agent, program)
        # Listen before there is something to receive; if the engine lets us wait for that, looking must do.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN_S):
                await listening.wait()
        try:
            await self._engine.start(name)
        except (Faulted, RunnerRefused) as error:
            # A container that cannot start must not be mistaken for one that has not started yet.
            await self._engine.remove(name)
            raise RunnerRefused(f"session {launch.session} was refused: {error}") from None
        self._notes.take(launch.session, Note.STARTED)

    async def find(self, session: SessionId) -> Running | None:
        try:
            shown = await self._of(session, self._engine.inspect)
        except Missing:
            gone = self._notes.vanished(session)
            return None if gone is None else Running(session=session, ending=gone)
        if not self._is_ours(shown, session) or shown["State"]["Status"] == "created":
            return None
        return Running(session=session, ending=self._notes.ending(session, shown["State"]))

    async def sessions(self) -> Sequence[Running]:
        # The engine's list runs behind its own events, so it gives the names and each is looked at.
        listed = {name for entry in await self._engine.labelled(self._label) if (name := _session_of(entry))}
        names = sorted(listed | self._notes.started())
        never = Ending(kind=EndKind.LOST, detail="never started")
        found = await asyncio.gather(*(self.find(name) for name in names))
        return [
            running or Running(session=name, ending=never)
            for name, running in zip(names, found, strict=True)
            if running is not None or name in listed
        ]

    @outward(Failpoint.STOP_SESSION)
    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        running = await self.find(session)
        if running is None or running.ending is not None:
            return
        self._notes.take(session, Note.STOP)
        if not await self._signal_until_ended(session, "TERM", within_s=grace_s) and (
            not await self._signal_until_ended(session, "KILL", within_s=_KILL_S)
        ):
            raise RunnerUnavailable(f"the container of session {session} does not end, not even when killed")

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        try:
            return harmless(await self._of(session, self._engine.logs), limit_bytes=limit_bytes)
        except Missing:
            return ""

    @outward(Failpoint.REMOVE_SESSION)
    async def remove(self, session: SessionId) -> None:
        with contextlib.suppress(Missing):
            if self._is_ours(await self._engine.inspect(self._name(session)), session):
                self._notes.take(session, Note.STOP)
                await self._engine.remove(self._name(session))
        for renamed in await self._renamed(session):
            self._notes.take(session, Note.STOP)
            await self._engine.remove(renamed)
        await self._agents.remove_replaced()
        self._notes.forget(session)
        self._ended.pop(session, None)
        self._told.discard(session)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:  # noqa: ARG002 - one engine for all
        return await self._agents.version(program)

    async def ground(self, image: str, *, space: str = "") -> str:  # noqa: ARG002 - one ground for all
        return await self._layers.ground(image)

    @outward(Failpoint.PREPARE_LAYER)
    async def prepare_layer(
        self,
        key: str,
        *,
        image: str,
        packages: Sequence[str],
        space: str = "",  # noqa: ARG002
    ) -> None:
        await self._layers.prepare(key, image=image, packages=packages)

    @outward(Failpoint.KEEP_LAYER)
    async def keep_layer(self, session: SessionId, key: str) -> int:
        return await self._of(session, lambda name: self._layers.keep(name, key))

    async def has_layer(self, key: str) -> bool:
        return await self._layers.has(key)

    @outward(Failpoint.REMOVE_LAYER)
    async def remove_layer(self, key: str) -> None:
        await self._layers.remove(key)

    async def downloads(self) -> Sequence[str]:
        return await self._layers.downloads()

    @outward(Failpoint.REMOVE_DOWNLOADS)
    async def remove_downloads(self, space: str) -> None:
        await self._layers.remove_downloads(space)

    def image_for(self, launch: Launch) -> str:
        """The name of the image a session runs in."""
        return self._layers.image_for(launch.layer, makes=launch.makes_layer) if launch.layer else self._image

    async def follow(self) -> AsyncIterator[SessionId]:
        self._watch()
        async for session in self._endings.follow():
            yield session

    async def close(self) -> None:
        self._endings.close()
        self._layers.close()
        self._agents.close()
        self._engine.close()

    @property
    def _label(self) -> str:
        return f"{LABEL}.instance={self._instance}"

    def _name(self, session: SessionId) -> str:
        return f"{LABEL}-{self._instance}-{session}"

    async def _of(self, session: SessionId, ask: Callable[[str], Awaitable[Result]]) -> Result:
        """Ask about a session's container, also when somebody gave it another name. Raises Missing."""
        try:
            return await ask(self._name(session))
        except Missing:
            if not self._notes.has(session, Note.STARTED):
                raise
            for renamed in await self._renamed(session):
                return await ask(renamed)
            raise

    async def _renamed(self, session: SessionId) -> Sequence[str]:
        """The ids of this session's containers that do not have its name."""
        listed = await self._engine.labelled(self._label)
        mine = [entry for entry in listed if _session_of(entry) == session]
        return [entry["Id"] for entry in mine if f"/{self._name(session)}" not in entry["Names"]]

    def _is_ours(self, shown: Mapping[str, Any], session: SessionId) -> bool:
        labels = shown["Config"]["Labels"] or {}
        mine = (labels.get(f"{LABEL}.instance"), labels.get(f"{LABEL}.session"))
        return mine == (self._instance, session)

    def _configuration(self, launch: Launch, program: str = "") -> dict[str, Any]:
        environment = {**launch.environment, "OVERLORD_URL": f"unix://{SESSION_API}/s"}
        if launch.layer:
            environment["MINION_ENVIRONMENT"] = DIRECTORY
        if launch.makes_layer:
            environment["MINION_CACHE"] = CACHE
        if launch.ready is not None:
            environment["MINION_READY"] = READY
        labels = {
            "instance": self._instance,
            "job": launch.job,
            "session": launch.session,
            "epoch": str(self._epoch),
        }
        configuration = {
            "Image": self.image_for(launch),
            "User": self._profile.user,
            "Hostname": "minion",
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Labels": {f"{LABEL}.{name}": value for name, value in labels.items()},
            "HostConfig": self._profile.host_config(launch, self._layers.supplies(launch), agent=program),
        }
        if self._command is not None:
            configuration |= {"Entrypoint": [self._command[0]], "Cmd": list(self._command[1:])}
        return configuration

    async def _create(self, session: SessionId, asked: Mapping[str, Any]) -> bool:
        """Make the container; whether it is now for us to start. Not if one of that name was started already."""
        for _ in range(_CREATE_TRIES):
            try:
                await self._engine.create(self._name(session), asked)
                return True
            except Conflict:
                with contextlib.suppress(Missing):
                    return await self._waits_to_start(session)
            except Missing as error:
                raise RunnerRefused(f"{error}; {self._remedy(asked['Image'])}") from None
            # The name is taken by one that is just being made or removed, and cannot be looked at yet.
            await asyncio.sleep(_CREATE_PAUSE_S)
        raise RunnerUnavailable(
            f"the engine holds the name {self._name(session)} for a container it does not show"
        )

    def _remedy(self, image: str) -> str:
        if image == self._image:
            return "`make images` builds it, or configure another image"
        return "somebody removed it since it was made; try again, and it is made anew"

    async def _waits_to_start(self, session: SessionId) -> bool:
        """Whether the container that has our name was made by us and not started: a daemon died in between."""
        shown = await self._engine.inspect(self._name(session))
        if not self._is_ours(shown, session):
            raise RunnerRefused(f"a container named {self._name(session)} exists and is not ours; remove it")
        return bool(shown["State"]["Status"] == "created")

    async def _check(self, name: str, asked: Mapping[str, Any]) -> None:
        shown = await self._engine.inspect(name)
        if asked["Image"] == self._image and (why := another_version(self._image, shown, self._minion)):
            await self._engine.remove(name)
            raise RunnerUnavailable(why)
        if found := differences(asked, shown):
            await self._engine.remove(name)
            raise RunnerRefused(f"the engine's container is not what was asked for: {'; '.join(found)}")

    async def _check_agent(self, name: str, agent: AgentProgram | None, volume: str) -> None:
        if agent is None:
            return
        try:
            await self._agents.check(name, agent, volume)
        except RunnerUnavailable:
            await self._engine.remove(name)
            raise

    async def _signal_until_ended(self, session: SessionId, signal: str, *, within_s: float) -> bool:
        """Send a signal and wait for the end; whether it came. Listens for it, and looks now and then all the same."""
        ended = self._ended.setdefault(session, asyncio.Event())
        self._watch()
        try:
            await self._of(session, lambda name: self._engine.signal(name, signal))
        except (Conflict, Missing):
            return True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(_LOOK_AGAIN_S, max(0.0, deadline - loop.time()))):
                    await ended.wait()
            running = await self.find(session)
            if running is None or running.ending is not None:
                return True
            if loop.time() >= deadline:
                return False
            ended.clear()

    def _watch(self) -> asyncio.Event:
        """Set once the engine's events arrive."""
        if self._watching is not None:
            return self._watching
        self._watching = asyncio.Event()
        loop = asyncio.get_running_loop()

        def notify(what: Any, *arguments: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                loop.call_soon_threadsafe(what, *arguments)

        self._engine.watch(
            self._label,
            on_connect=lambda listed: notify(self._on_listing, listed),
            on_event=lambda event: notify(self._on_event, event),
        )
        return self._watching

    def _on_listing(self, listed: Sequence[Mapping[str, Any]]) -> None:
        self._watch().set()
        states = {name: entry["State"] for entry in listed if (name := _session_of(entry))}
        self._told &= set(states)
        for session, state in states.items():
            if state in {"exited", "dead"}:
                self._notify(session)

    def _on_event(self, event: Mapping[str, Any]) -> None:
        attributes = event["Actor"]["Attributes"]
        session = SessionId(attributes.get(f"{LABEL}.session", ""))
        if not session:
            return
        if event["Action"] == "die":
            self._notify(session)
        else:
            self._notes.signalled(session, attributes.get("signal", ""))

    def _notify(self, session: SessionId) -> None:
        if (waiting := self._ended.get(session)) is not None:
            waiting.set()
        if session not in self._told:
            self._told.add(session)
            self._endings.notify(session)


def _session_of(entry: Mapping[str, Any]) -> SessionId:
    """Whose container this is; empty for one of an image's, as builds and people make them."""
    return SessionId((entry["Labels"] or {}).get(f"{LABEL}.session", ""))
