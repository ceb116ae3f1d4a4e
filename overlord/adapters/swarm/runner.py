"""Sessions as services of a swarm. The swarm places them on its nodes; we only ask for them and look what became of them.

A setup, which needs network and leaves an image, runs as a container of the manager's own engine, by the runner of Docker. A
session's name tells it from all others, also to the next daemon; notes say what a swarm does not remember.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from overlord.adapters.docker.engine import CALL_S, Conflict, Missing
from overlord.adapters.docker.layers import DIRECTORY
from overlord.adapters.docker.notes import Note, Notes
from overlord.adapters.docker.profile import Profile
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.ending import Endings, harmless
from overlord.adapters.swarm.calls import SwarmManager, swarm_of
from overlord.adapters.swarm.copies import SwarmCopies
from overlord.adapters.swarm.images import SwarmImages
from overlord.adapters.swarm.network import CONNECT, SpaceNetworks, Where
from overlord.adapters.swarm.spec import (
    LABEL,
    Place,
    Task,
    Version,
    by_session,
    container_of,
    ending_of,
    first_of,
    remedy,
    session_of,
    session_spec,
    words_of,
)
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, RunnerCapabilities, Running
from overlord.domain.session import Ending, EndKind
from overlord.errors import ExternalServiceError, RunnerRefused, RunnerUnavailable
from overlord.failpoints import Failpoint, outward

_LOOK_S = 0.5
_WAIT_S = 0.1
_BEYOND_GRACE_S = 30.0
"""What a node may need beside the grace to end a container and to say so."""
_GONE_S = 10.0
_KILLED = 137
_NO_TASK = Ending(kind=EndKind.LOST, detail="the swarm has forgotten its task")
Nodes = Mapping[str, Mapping[str, Any]]


class SwarmRunner:
    """Runs each session as a service of `image`, under `profile`.

    `root`, `instance`, `epoch`, `command` and `minion` are those of DockerRunner. `address` is a manager's. `constraints` are what
    nodes must be like. `registry` and `engines` are where nodes have images from. `start_s` is how long a session may take until
    it runs, `grace_s` how long one that is asked to end may take, `idle_s` how long a network is kept that no session needs.
    """

    name = "swarm"
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
        constraints: Sequence[str] = (),
        registry: str = "",
        engines: Sequence[str] = (),
        start_s: float = 60.0,
        grace_s: float = 10.0,
        idle_s: float = 0.0,
    ) -> None:
        self._profile = profile or Profile()
        self._docker = DockerRunner(
            root / "setups",
            image=image,
            instance=instance,
            epoch=epoch,
            profile=self._profile,
            command=command,
            address=address,
            call_s=call_s,
            minion=minion,
        )
        self._setups = Notes(root / "setups")
        self._notes = Notes(root)
        self._instance, self._epoch, self._command = instance, epoch, command
        self._constraints, self._start_s, self._grace_s = tuple(constraints), start_s, grace_s
        self._manager = SwarmManager(address=address, call_s=call_s)
        self._images = SwarmImages(address=address, registry=registry, engines=engines)
        self._copies = SwarmCopies(self._manager, instance=instance, profile=self._profile)
        self._networks = SpaceNetworks(
            self._manager,
            instance=instance,
            profile=self._profile,
            idle_s=idle_s,
            before_removed=self._copies.leave,
        )
        self._base = image
        self._swarm: tuple[str, Version] | None = None
        self._endings = Endings()
        self._told: set[SessionId] = set()
        self._watching: tuple[asyncio.Task[None], ...] = ()

    @outward(Failpoint.START_SESSION)
    async def start(self, launch: Launch) -> None:
        if launch.makes_layer:
            await self._docker.start(launch)
            return
        if self._notes.has(launch.session, Note.STARTED):
            return
        if launch.access is None:
            raise RunnerRefused(
                "sessions on a swarm need a way to Overlord's machine: set session_listener.address and .listen"
            )
        if launch.agent is not None and launch.agent.image:
            await self._docker.agent_version(launch.agent)
            raise RunnerRefused(
                f"the program {launch.agent.program} is in an image of its own ({launch.agent.image}), which nodes of a swarm do"
                " not have beside a session's; use an image for sessions that holds it"
            )
        own, api = await self._ready()
        place = await self._place(launch, own, api)
        try:
            await self._copies.fetch(launch, place, api)
            await self._create(launch, place, api)
        finally:
            self._networks.leave(launch.space)
        await self._until_placed(launch.session)
        self._notes.take(launch.session, Note.STARTED)

    async def find(self, session: SessionId) -> Running | None:
        if self._setups.has(session, Note.STARTED):
            return await self._docker.find(session)
        tasks = by_session(await self._manager.tasks(self._name(session)), self._instance)
        return await self._seen(session, tasks.get(session, []), await self._nodes())

    async def sessions(self) -> Sequence[Running]:
        services = await self._manager.services(self._label)
        names = {session for each in services if (session := session_of(each))} | self._notes.started()
        tasks = by_session(await self._manager.tasks(self._name(SessionId(""))), self._instance)
        nodes = await self._nodes()
        found = [await self._seen(name, tasks.get(name, []), nodes) for name in sorted(names)]
        return [*(each for each in found if each is not None), *await self._docker.sessions()]

    @outward(Failpoint.STOP_SESSION)
    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        if self._setups.has(session, Note.STARTED):
            await self._docker.stop(session, grace_s=grace_s)
            return
        running = await self.find(session)
        if running is None or running.ending is not None:
            return
        self._notes.take(session, Note.STOP)
        await self._manager.move_away(self._name(session))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max(grace_s, self._grace_s) + _BEYOND_GRACE_S
        while True:
            running = await self.find(session)
            if running is None or running.ending is not None:
                return
            if loop.time() >= deadline:
                raise RunnerUnavailable(f"the service of session {session} does not end")
            await asyncio.sleep(_WAIT_S)

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        if self._setups.has(session, Note.STARTED):
            return await self._docker.logs(session, limit_bytes=limit_bytes)
        task = first_of(
            by_session(await self._manager.tasks(self._name(session)), self._instance).get(session, [])
        )
        node = (await self._nodes()).get(str((task or {}).get("NodeID", "")))
        if node is None or node["Status"]["State"] == "down":
            return ""
        with contextlib.suppress(Missing):
            return harmless(await self._manager.service_logs(self._name(session)), limit_bytes=limit_bytes)
        return ""

    @outward(Failpoint.REMOVE_SESSION)
    async def remove(self, session: SessionId) -> None:
        await self._docker.remove(session)
        name = self._name(session)
        had = [
            container for task in await self._manager.tasks(f"{name}.") if (container := container_of(task))
        ]
        with contextlib.suppress(Missing):
            if session_of(await self._manager.service(name)) == session:
                self._notes.take(session, Note.STOP)
                await self._manager.remove_service(name)
        if not await self._manager.lets_go(f"{name}.", within_s=self._grace_s + _BEYOND_GRACE_S):
            raise RunnerUnavailable(f"a node does not let go of session {session}")
        await asyncio.gather(*(self._images.gone(each, within_s=_GONE_S) for each in had))
        self._notes.forget(session)
        self._told.discard(session)
        await self._networks.remove_unused(self._used)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:
        return await self._docker.agent_version(program, space=space)

    async def ground(self, image: str, *, space: str = "") -> str:
        return await self._docker.ground(image, space=space)

    async def prepare_layer(self, key: str, *, image: str, packages: Sequence[str], space: str = "") -> None:
        await self._docker.prepare_layer(key, image=image, packages=packages, space=space)

    async def keep_layer(self, session: SessionId, key: str) -> int:
        return await self._docker.keep_layer(session, key)

    async def has_layer(self, key: str) -> bool:
        return await self._docker.has_layer(key)

    async def remove_layer(self, key: str) -> None:
        await self._docker.remove_layer(key)
        await self._images.remove(self._docker.image_for(_in_layer(key)))

    async def downloads(self) -> Sequence[str]:
        return await self._docker.downloads()

    async def remove_downloads(self, space: str) -> None:
        await self._docker.remove_downloads(space)

    async def follow(self) -> AsyncIterator[SessionId]:
        if not self._watching:
            self._watching = (asyncio.create_task(self._watch()), asyncio.create_task(self._watch_setups()))
        async for session in self._endings.follow():
            yield session

    async def close(self) -> None:
        for task in self._watching:
            task.cancel()
        self._endings.close()
        await self._docker.close()
        self._images.close()
        self._manager.close()

    @property
    def _label(self) -> str:
        return f"{LABEL}.instance={self._instance}"

    def _name(self, session: SessionId) -> str:
        return f"{LABEL}-{self._instance}-s-{session}"

    async def _nodes(self) -> Nodes:
        return {node["ID"]: node for node in await self._manager.nodes()}

    async def _ready(self) -> tuple[str, Version]:
        """The manager's own node, and the API it speaks. Raises RunnerRefused where it manages nothing."""
        if self._swarm is None:
            self._swarm = swarm_of(await self._manager.info()), await self._manager.version()
        return self._swarm

    async def _place(self, launch: Launch, own: str, api: Version) -> Place:
        """Where a session goes; its network is joined."""
        assert launch.access is not None
        here = () if self._images.is_everywhere else (f"node.id=={own}",)
        constraints, registry = (*self._constraints, *here), self._images.registry
        base = await self._images.place(self._base)
        image = await self._images.place(self._docker.image_for(launch))
        network = await self._networks.join(
            launch.space,
            launch.access.url,
            Where(
                image=base,
                constraints=await self._relay_constraints(own, constraints),
                registry=registry,
                api=api,
            ),
        )
        return Place(
            image=image,
            constraints=constraints,
            network=network,
            registry=registry,
            grace_s=self._grace_s,
            base=base,
            mounts=self._copies.mounts(launch),
        )

    async def _relay_constraints(self, own: str, constraints: Sequence[str]) -> Sequence[str]:
        """Relays stay with the manager where it takes services: a lost node that had one would leave its address behind for a while."""
        node = (await self._nodes()).get(own)
        takes = node is not None and node["Spec"].get("Availability") == "active"
        return (f"node.id=={own}",) if takes else constraints

    async def _create(self, launch: Launch, place: Place, api: Version) -> None:
        assert launch.access is not None
        environment = {
            **launch.environment,
            **launch.access.environment(),
            **self._copies.environment(launch),
            "OVERLORD_SESSION": launch.session,
            "OVERLORD_CONNECT": CONNECT,
        }
        if launch.layer:
            environment["MINION_ENVIRONMENT"] = DIRECTORY
        labels = {
            "instance": self._instance,
            "job": launch.job,
            "session": launch.session,
            "epoch": str(self._epoch),
            "network": place.network,
        }
        name = self._name(launch.session)
        spec = session_spec(
            name,
            launch,
            place,
            self._profile,
            environment=environment,
            labels=labels,
            command=self._command,
            api=api,
        )
        try:
            await self._manager.create_service(spec, registry=place.registry)
        except Conflict:
            if session_of(await self._manager.service(name)) != launch.session:
                raise RunnerRefused(f"a service named {name} exists and is not ours; remove it") from None

    async def _until_placed(self, session: SessionId) -> None:
        """Until its task runs, or ran. Raises RunnerRefused with the swarm's words when it cannot, and takes the service away."""
        task: Task | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._start_s):
                while True:
                    found = by_session(await self._manager.tasks(self._name(session)), self._instance)
                    task = first_of(found.get(session, []))
                    if task is not None and container_of(task) and task["Status"]["State"] != "rejected":
                        if task["Status"]["State"] not in {"preparing", "ready", "starting"}:
                            return
                    elif task is not None and task["Status"]["State"] in {"rejected", "failed"}:
                        break
                    await asyncio.sleep(_WAIT_S)
        words = "its task was not made" if task is None else words_of(task)
        node = (await self._nodes()).get(str((task or {}).get("NodeID", "")), {})
        await self._manager.remove_service(self._name(session))
        if "insufficient resources" in words:
            raise RunnerUnavailable(f"no node of the swarm has room for session {session}: {words}")
        raise RunnerRefused(f"session {session} was refused: {words}{remedy(words, node)}")

    async def _seen(self, session: SessionId, tasks: Sequence[Task], nodes: Nodes) -> Running | None:
        task = first_of(tasks)
        if task is None:
            with contextlib.suppress(Missing):
                if session_of(await self._manager.service(self._name(session))) == session:
                    lost = self._notes.has(session, Note.STARTED)
                    return Running(session=session, ending=_NO_TASK if lost else None)
            gone = self._notes.vanished(session)
            return None if gone is None else Running(session=session, ending=gone)
        return Running(session=session, ending=await self._ending(session, task, nodes))

    async def _ending(self, session: SessionId, task: Task, nodes: Nodes) -> Ending | None:
        stopped = self._notes.has(session, Note.STOP)
        ending = ending_of(task, nodes, stopped=stopped)
        if ending is None or ending.exit_code != _KILLED:
            return ending
        out_of_memory = await self._images.ran_out_of_memory(container_of(task))
        return ending_of(task, nodes, stopped=stopped, out_of_memory=out_of_memory)

    async def _used(self) -> set[str]:
        """The networks sessions have."""
        services = await self._manager.services(self._label)
        return {str(each["Spec"]["Labels"].get(f"{LABEL}.network")) for each in services if session_of(each)}

    async def _watch(self) -> None:
        """Tell ends as they are seen: a manager's events say nothing of tasks."""
        while True:
            with contextlib.suppress(ExternalServiceError):
                tasks = by_session(await self._manager.tasks(self._name(SessionId(""))), self._instance)
                nodes = await self._nodes()
                self._told &= tasks.keys()
                for session in tasks.keys() - self._told:
                    task = first_of(tasks[session])
                    if task is not None and ending_of(task, nodes, stopped=False) is not None:
                        self._told.add(session)
                        self._endings.notify(session)
                await self._networks.remove_unused(self._used)
            await asyncio.sleep(_LOOK_S)

    async def _watch_setups(self) -> None:
        async for session in self._docker.follow():
            self._endings.notify(session)


def _in_layer(key: str) -> Launch:
    """What stands for any session in an environment, where only its image counts."""
    return Launch(session=SessionId(""), job="", environment={}, session_api=Path(), layer=key)
