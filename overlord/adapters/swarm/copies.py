"""Ready copies on the nodes of a swarm: a volume for each repository on each node, which one program fills and sessions read.

For each copy that is wanted there is a service that runs once on every node sessions may be placed on: whichever node the next
session comes to has it, or is just fetching it. The service goes with its network, or when it is old.
"""

import asyncio
import datetime
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from overlord.adapters.docker.engine import Conflict
from overlord.adapters.docker.profile import MEGABYTE, Profile
from overlord.adapters.remote_copies import COPIES, FETCHING, RemoteCopy
from overlord.adapters.swarm.calls import SwarmManager
from overlord.adapters.swarm.network import CONNECT
from overlord.adapters.swarm.spec import LABEL, Place, Version, walls
from overlord.domain.launch import Launch

COPY = f"{LABEL}.copy"
"""The label of a service that fetches: the network it does that in."""
OLD = datetime.timedelta(minutes=10)
_MEMORY_MB = 512
_TRIES = 3


class SwarmCopies:
    """The copies of one instance."""

    def __init__(self, manager: SwarmManager, *, instance: str, profile: Profile) -> None:
        self._manager = manager
        self._instance = instance
        self._profile = profile
        self._asked: set[str] = set()

    def mounts(self, launch: Launch) -> list[dict[str, Any]]:
        """Where a session finds its copy: for reading only."""
        copy = RemoteCopy.of(launch)
        return [] if copy is None else [self._mount(copy, read_only=True)]

    def environment(self, launch: Launch) -> dict[str, str]:
        """What a session is told of its copy."""
        copy = RemoteCopy.of(launch)
        return {} if copy is None else copy.for_session()

    async def fetch(self, launch: Launch, place: Place, api: Version) -> None:
        """See to it that the nodes a session may come to have its copy; nobody waits for that here."""
        copy = RemoteCopy.of(launch)
        if copy is None or (name := self._name(copy)) in self._asked:
            return
        with suppress(Conflict):
            await self._manager.create_service(self._spec(name, copy, place, api), registry=place.registry)
        self._asked.add(name)
        await self._remove(await self._of(place.network, older_than=OLD, but=name))

    async def leave(self, network: str) -> None:
        """Take away what fetches in a network that is about to be removed."""
        await self._remove(await self._of(network))

    async def _of(
        self, network: str, *, older_than: datetime.timedelta | None = None, but: str = ""
    ) -> list[str]:
        now = datetime.datetime.now(datetime.UTC)
        services = await self._manager.services(f"{COPY}={network}")
        return [
            str(each["Spec"]["Name"])
            for each in services
            if each["Spec"]["Name"] != but
            and (older_than is None or now - _created(each["CreatedAt"]) > older_than)
        ]

    async def _remove(self, names: Sequence[str]) -> None:
        self._asked -= set(names)
        await asyncio.gather(*(self._manager.remove_service(name) for name in names))
        for name in names:
            await self._manager.lets_go(f"{name}.", within_s=10)

    def _name(self, copy: RemoteCopy) -> str:
        return f"{LABEL}-{self._instance}-copy-{copy.key}"

    def _mount(self, copy: RemoteCopy, *, read_only: bool) -> dict[str, Any]:
        volume = f"{LABEL}-{self._instance}-copies-{copy.space_key}"
        return {"Type": "volume", "Source": volume, "Target": COPIES, "ReadOnly": read_only}

    def _spec(self, name: str, copy: RemoteCopy, place: Place, api: Version) -> dict[str, Any]:
        container = walls(self._profile, api)
        environment = {**copy.for_fetching(), "OVERLORD_CONNECT": CONNECT}
        container |= {
            "Image": place.base,
            "Command": list(FETCHING),
            # A new volume is its root's. Without any capability root may write there, and nothing else.
            "User": "0:0",
            "Env": [f"{key}={value}" for key, value in environment.items()],
            "Mounts": [*container["Mounts"], self._mount(copy, read_only=False)],
        }
        return {
            "Name": name,
            "Labels": {f"{LABEL}.instance": self._instance, COPY: place.network},
            "TaskTemplate": {
                "ContainerSpec": container,
                "Resources": {"Limits": {"MemoryBytes": _MEMORY_MB * MEGABYTE, "Pids": self._profile.pids}},
                "RestartPolicy": {"Condition": "on-failure", "Delay": 2_000_000_000, "MaxAttempts": _TRIES},
                "Placement": {"Constraints": list(place.constraints)},
                "Networks": [{"Target": place.network}],
            },
            "Mode": {"Global": {}},
            "EndpointSpec": {"Mode": "dnsrr"},
        }


def _created(text: str) -> datetime.datetime:
    """A moment as the engine writes it, with nanoseconds."""
    return datetime.datetime.fromisoformat(text[:19] + "+00:00")
