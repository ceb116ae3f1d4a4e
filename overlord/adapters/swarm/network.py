"""What a session can reach: for each space an overlay network without a way out, and in it a relay to the session listener.

Networks and relays are found by their names and labels, so a restarted daemon needs no notes of them. They outlive the last
session that needs them for a while: the next one begins faster.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from overlord.adapters.docker.engine import Conflict, Faulted, Missing
from overlord.adapters.docker.profile import MEGABYTE, Profile
from overlord.adapters.swarm.calls import SwarmManager
from overlord.adapters.swarm.spec import LABEL, Version, walls, words_of
from overlord.errors import RunnerRefused, RunnerUnavailable

PORT = 7000
ALIAS = "relay"
CONNECT = f"{ALIAS}:{PORT}"
"""Where sessions find their relay, whatever node it is on."""
_READY_S = 60.0
_GONE_S = 30.0
_LOOK_S = 0.2
_TRIES = 5
_MEMORY_MB = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What relays are started from, and on which nodes."""

    image: str
    constraints: Sequence[str]
    registry: str
    api: Version


class SpaceNetworks:
    """The networks of one instance."""

    def __init__(
        self,
        manager: SwarmManager,
        *,
        instance: str,
        profile: Profile,
        idle_s: float,
        before_removed: Callable[[str], Awaitable[None]],
    ) -> None:
        """`idle_s`: how long a network stays that no session needs. `before_removed` takes away what else is in one."""
        self._manager = manager
        self._before_removed = before_removed
        self._instance = instance
        self._profile = profile
        self._idle_s = idle_s
        self._making = asyncio.Lock()
        self._needed_at: dict[str, float] = {}
        self._users: dict[str, int] = {}

    async def join(self, space: str, url: str, where: Where) -> str:
        """The network of a space's sessions, with a relay in it that runs; `leave` has to follow. `url` is the session listener's.
        Raises RunnerRefused, RunnerUnavailable."""
        name = self.name(space)
        self._users[name] = self._users.get(name, 0) + 1
        try:
            async with self._making:
                await self._make(name, space, url, where)
        except BaseException:
            self.leave(space)
            raise
        return name

    def leave(self, space: str) -> None:
        """Whoever joined has its service now, or has none."""
        name = self.name(space)
        self._users[name] -= 1
        self._needed_at[name] = asyncio.get_running_loop().time()

    async def remove_unused(self, in_use: Callable[[], Any]) -> None:
        """Remove what no session has needed for a while. `in_use` gives the names of networks that services of sessions have."""
        async with self._making:
            networks = await self._manager.networks(f"{LABEL}.instance={self._instance}")
            names = [str(network["Name"]) for network in networks]
            if not names:
                return
            used, now = await in_use(), asyncio.get_running_loop().time()
            spaces = [name for name in names if name != self._outside]
            needed = {name for name in spaces if name in used or self._users.get(name)}
            self._needed_at |= dict.fromkeys(needed, now)
            idle = [
                name
                for name in spaces
                if name not in needed and now - self._needed_at.setdefault(name, now) >= self._idle_s
            ]
            await asyncio.gather(*(self._remove(name) for name in idle))
            if set(idle) == set(spaces):
                await self._manager.remove_network(self._outside)

    def name(self, space: str) -> str:
        return f"{LABEL}-{self._instance}-net-{sha256(space.casefold().encode()).hexdigest()[:12]}"

    @property
    def _outside(self) -> str:
        return f"{LABEL}-{self._instance}-out"

    async def _make(self, network: str, space: str, url: str, where: Where) -> None:
        """See that a network is there with its relay. A daemon before this one may still remove what no session has yet."""
        for _ in range(_TRIES):
            await self._network(network, space, internal=True)
            await self._network(self._outside, "", internal=False)
            if await self._relay(network, space, url, where):
                return
        raise RunnerUnavailable(f"others remove the relay of the network {network} again and again")

    async def _network(self, name: str, space: str, *, internal: bool) -> None:
        labels = {f"{LABEL}.instance": self._instance, f"{LABEL}.space": space.casefold()}
        if name in [n["Name"] for n in await self._manager.networks(f"{LABEL}.instance={self._instance}")]:
            return
        with suppress(Conflict):
            await self._manager.create_network(name, internal=internal, labels=labels)

    async def _relay(self, network: str, space: str, url: str, where: Where) -> bool:
        """See that the relay of a network is there, for this listener, and runs. False when others removed it meanwhile."""
        service = f"{network}-relay"
        asked = self._spec(network, space, url, where)
        shown: Mapping[str, Any] | None = None
        with suppress(Missing):
            shown = await self._manager.service(service)
        if shown is not None and shown["Spec"]["TaskTemplate"]["ContainerSpec"]["Args"] != _arguments(url):
            await self._manager.remove_service(service)
            await self._manager.lets_go(f"{service}.", within_s=_GONE_S)
            shown = None
        if shown is None:
            try:
                await self._manager.create_service(asked, registry=where.registry)
            except Conflict:
                pass
            except (Missing, Faulted) as error:
                if "not found" not in str(error):
                    raise
                return False  # its network is gone
        return await self._until_ready(service)

    def _spec(self, network: str, space: str, url: str, where: Where) -> dict[str, Any]:
        container = walls(self._profile, where.api)
        container |= {
            "Image": where.image,
            "Command": ["python", "-I", "-c", files(__package__).joinpath("relay.py").read_text("utf-8")],
            "Args": _arguments(url),
            "StopGracePeriod": 1_000_000_000,
        }
        # It alone asks for names: the listener's.
        container.pop("DNSConfig")
        limits = {"MemoryBytes": _MEMORY_MB * MEGABYTE, "Pids": self._profile.pids}
        return {
            "Name": f"{network}-relay",
            "Labels": {f"{LABEL}.instance": self._instance, f"{LABEL}.relay": space.casefold()},
            "TaskTemplate": {
                "ContainerSpec": container,
                "Resources": {"Limits": limits},
                "RestartPolicy": {"Condition": "any", "Delay": 500_000_000},
                "Placement": {"Constraints": list(where.constraints)},
                "Networks": [{"Target": network, "Aliases": [ALIAS]}, {"Target": self._outside}],
            },
            "Mode": {"Replicated": {"Replicas": 1}},
            "EndpointSpec": {"Mode": "dnsrr"},
        }

    async def _until_ready(self, service: str) -> bool:
        """Wait until a relay runs; False when it is gone. Raises RunnerRefused, with the swarm's words, when it does not start."""
        said = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(_READY_S):
                while True:
                    tasks = await self._manager.tasks(f"{service}.")
                    if any(_runs(task) for task in tasks):
                        return True
                    if not await self._is_there(service):
                        return False
                    said = next((words_of(task) for task in tasks), said)
                    if any(task["Status"]["State"] == "rejected" for task in tasks):
                        break
                    await asyncio.sleep(_LOOK_S)
        await self._manager.remove_service(service)
        raise RunnerRefused(f"the relay of sessions to their listener does not start: {said}")

    async def _is_there(self, service: str) -> bool:
        try:
            await self._manager.service(service)
        except Missing:
            return False
        return True

    async def _remove(self, network: str) -> None:
        await self._before_removed(network)
        await self._manager.remove_service(f"{network}-relay")
        await self._manager.lets_go(f"{network}-relay.", within_s=_GONE_S)
        if await self._manager.remove_network(network):
            self._needed_at.pop(network, None)


def _arguments(url: str) -> list[str]:
    """The relay's: its port, and the address of the session listener."""
    parts = urlsplit(url)
    if not parts.hostname or not parts.port:
        raise RunnerRefused(f"session_listener.address must be host:port, not {url}")
    return [str(PORT), parts.hostname, str(parts.port)]


def _runs(task: Mapping[str, Any]) -> bool:
    return bool(task["Status"]["State"] == "running" and task["DesiredState"] == "running")
