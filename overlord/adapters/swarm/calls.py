"""Calls to a manager of a swarm: services, tasks, nodes and networks. What is said of threads and faults in `docker/engine.py` holds here.

The requests are made as they are in the engine's reference: what the SDK has names for is behind what a session's walls need.
"""

import asyncio
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from overlord.adapters.docker.engine import Conflict, DockerEngine, Faulted, Missing
from overlord.adapters.swarm.spec import STOPPED
from overlord.errors import RunnerRefused, RunnerUnavailable

LOG_QUIET_S = 5.0
"""How long a log may stay silent before it is taken for whole: a manager waits for good for a node that is gone."""
_LOOK_S = 0.1
_UPDATES = 5
_MOST_LOG_BYTES = 8 * 1024 * 1024
_FRAME = struct.Struct(">BxxxL")
"""The head of a part of a log: its stream, its length."""


class SwarmManager(DockerEngine):
    """One manager. A worker, or an engine without a swarm, refuses everything: see `swarm_of`."""

    async def version(self) -> tuple[int, int]:
        """The version of the API that is spoken."""
        text = await self._call(lambda api: str(api.api_version))
        major, _, minor = text.partition(".")
        return int(major), int(minor)

    async def create_service(self, spec: Mapping[str, Any], *, registry: str = "") -> str:
        """Make a service; its id. With a registry's name, nodes get what this machine signs in there with. Raises Conflict
        when the name is taken."""

        def ask(api: Any) -> str:
            headers = _sign_in(api, registry)
            made = api._post_json(api._url("/services/create"), data=dict(spec), headers=headers)
            return str(api._result(made, True)["ID"])

        return await self._call(ask)

    async def service(self, name: str) -> Mapping[str, Any]:
        """Raises Missing when there is none."""
        found: Mapping[str, Any] = await self._call(lambda api: api.inspect_service(name))
        return found

    async def services(self, label: str) -> Sequence[Mapping[str, Any]]:
        """Every service with this label."""
        return await self._call(lambda api: list(api.services(filters={"label": label})))

    async def update_service(self, shown: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
        """Change a service from what it was shown as. Raises Faulted when somebody else changed it meanwhile."""

        def ask(api: Any) -> None:
            url = api._url("/services/{0}/update", shown["ID"])
            changed = api._post_json(url, data=dict(spec), params={"version": shown["Version"]["Index"]})
            api._raise_for_status(changed)

        await self._call(ask)

    async def move_away(self, name: str) -> None:
        """Have a service's task ended and kept: no node is good for it any more. A service that is scaled down loses its log."""
        for _ in range(_UPDATES):
            try:
                shown = await self.service(name)
                spec = {**shown["Spec"]}
                placement = {**spec["TaskTemplate"].get("Placement", {}), "Constraints": [STOPPED]}
                spec["TaskTemplate"] = {**spec["TaskTemplate"], "Placement": placement}
                await self.update_service(shown, spec)
                return
            except Missing:
                return
            except (Faulted, RunnerRefused) as error:
                if "out of sequence" not in str(error):
                    raise
        raise RunnerUnavailable(f"the service {name} is changed by others all the time")

    async def remove_service(self, name: str) -> None:
        """One that is gone is no error."""
        with suppress(Missing):
            await self._call(lambda api: api.remove_service(name))

    async def tasks(self, name: str) -> Sequence[Mapping[str, Any]]:
        """Every task of services whose names begin so, also of such as are being removed."""
        return await self._call(lambda api: list(api.tasks(filters={"name": name})))

    async def nodes(self) -> Sequence[Mapping[str, Any]]:
        return await self._call(lambda api: list(api.nodes()))

    async def holds_tasks(self, name: str) -> bool:
        """Whether services whose names begin so still have something on a node that can be asked to let go of it."""
        down = {node["ID"] for node in await self.nodes() if node["Status"]["State"] == "down"}
        return any(task.get("NodeID") and task["NodeID"] not in down for task in await self.tasks(name))

    async def lets_go(self, name: str, *, within_s: float) -> bool:
        """Wait until no node holds anything of services whose names begin so; whether that came in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        while True:
            if not await self.holds_tasks(name):
                return True
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(_LOOK_S)

    async def networks(self, label: str) -> Sequence[Mapping[str, Any]]:
        """Every network with this label."""
        return await self._call(lambda api: list(api.networks(filters={"label": label})))

    async def create_network(self, name: str, *, internal: bool, labels: Mapping[str, str]) -> None:
        """Make an overlay network. Raises Conflict when the name is taken."""
        try:
            await self._call(
                lambda api: api.create_network(
                    name, driver="overlay", internal=internal, labels=dict(labels), check_duplicate=True
                )
            )
        except Faulted as error:
            if "name conflicts" in str(error):
                raise Conflict(str(error)) from None
            raise

    async def remove_network(self, name: str) -> bool:
        """Whether it is gone: one that something still uses stays."""
        try:
            await self._call(lambda api: api.remove_network(name))
        except Missing:
            return True
        except RunnerRefused:
            return False
        return True

    async def service_logs(self, name: str) -> bytes:
        """What a service's tasks printed, as far as their nodes say it in time. Raises Missing."""

        def ask(api: Any) -> bytes:
            from requests.exceptions import RequestException

            params = {"stdout": True, "stderr": True, "follow": False, "tail": "all"}
            url, read = api._url("/services/{0}/logs", name), bytearray()
            with api.get(url, params=params, stream=True, timeout=(self._call_s, LOG_QUIET_S)) as reply:
                api._raise_for_status(reply)
                with suppress(RequestException):
                    for part in reply.iter_content(65536):
                        read += part
                        if len(read) > _MOST_LOG_BYTES:
                            break
            return b"".join(_frames(bytes(read)))

        return await self._call(ask)

    async def push(self, image: str, registry: str) -> str:
        """Give an image to a registry; what it is called there, by its digest. Raises RunnerRefused with the registry's words."""
        there, tag = name_in(registry, image)

        def ask(api: Any) -> str:
            digest = ""
            api.tag(image, there, tag)
            for part in api.push(there, tag=tag, stream=True, decode=True):
                if "error" in part:
                    raise RunnerRefused(f"the registry {registry} refused {there}:{tag}: {part['error']}")
                digest = (part.get("aux") or {}).get("Digest") or digest
            return f"{there}@{digest}" if digest else f"{there}:{tag}"

        return await self._call(ask)

    async def in_registry(self, name: str) -> str:
        """The digest that a registry has under a name, asked from this engine with what this machine signs in there with. Raises
        RunnerRefused where it has none or does not answer."""

        def ask(api: Any) -> str:
            reply = api._get(
                api._url("/distribution/{0}/json", name), headers=_sign_in(api, name.rpartition("/")[0])
            )
            return str(api._result(reply, True)["Descriptor"]["digest"])

        return await self._call(ask)

    async def send(self, image: str, to: DockerEngine) -> None:
        """Lay an image of this engine on another one, by its name."""

        def read(api: Any) -> Iterator[bytes]:
            return api.get_image(image)  # type: ignore[no-any-return]

        parts = await self._call(read)
        await to.load(parts)


def swarm_of(info: Mapping[str, Any]) -> str:
    """The id of an engine's node in the swarm it manages. Raises RunnerRefused, which says what to do, where it manages none."""
    swarm = info.get("Swarm") or {}
    state = swarm.get("LocalNodeState") or "inactive"
    if state == "locked":
        raise RunnerRefused("the swarm of this engine is locked: `docker swarm unlock` opens it")
    if state != "active":
        raise RunnerRefused(
            f"this engine is in no swarm ({state}): `docker swarm init` makes one, and `docker swarm join` on each other node"
        )
    if not swarm.get("ControlAvailable"):
        managers = ", ".join(str(each.get("Addr", "")) for each in swarm.get("RemoteManagers") or ())
        raise RunnerRefused(
            f"this engine is a worker of its swarm: set swarm.address to a manager's ({managers or 'see `docker node ls`'}),"
            f" or `docker node promote {info.get('Name', 'NODE')}` there"
        )
    return str(swarm["NodeID"])


def name_in(registry: str, image: str) -> tuple[str, str]:
    """What an image of ours is called in a registry: the repository and the tag."""
    repository, _, tag = image.rpartition(":") if ":" in image.rsplit("/", 1)[-1] else (image, "", "latest")
    return f"{registry.rstrip('/')}/{repository.rsplit('/', 1)[-1]}", tag


def _sign_in(api: Any, registry: str) -> dict[str, str]:
    """What a node needs to fetch from a registry that this machine is signed in to."""
    if not registry:
        return {}
    from docker.auth import get_config_header

    found = get_config_header(api, registry.split("/", 1)[0])
    return {"X-Registry-Auth": found.decode("ascii")} if found else {}


def _frames(read: bytes) -> Iterator[bytes]:
    """The text of a log that comes in parts of two streams; what was cut off in the middle is taken as far as it is there."""
    at = 0
    while at + _FRAME.size <= len(read):
        _, length = _FRAME.unpack_from(read, at)
        at += _FRAME.size
        yield read[at : at + length]
        at += length
