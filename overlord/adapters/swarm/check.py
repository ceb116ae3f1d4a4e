"""Whether a swarm is ready for sessions, asked of its manager and of the engines that images are laid on; nothing is changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from overlord.adapters.docker.engine import DockerEngine, Missing
from overlord.adapters.look import Look
from overlord.adapters.swarm.calls import SwarmManager, name_in, swarm_of
from overlord.adapters.swarm.placement import Node, is_ready, meets
from overlord.adapters.swarm.spec import (
    PRIVILEGES_API,
    TMPFS_OPTIONS_API,
    Version,
    lacking,
    node_name,
)
from overlord.errors import ExternalServiceError, RunnerRefused

_ENGINES = ((25, PRIVILEGES_API), (27, TMPFS_OPTIONS_API))
"""The engines that first speak these versions of the API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What settings say of a swarm. `image` is the one of sessions, `stamp` the version of the Minion it must hold."""

    address: str | None
    image: str
    stamp: str
    constraints: Sequence[str]
    registry: str
    engines: Sequence[str]


async def examine_swarm(wanted: Wanted, *, call_s: int) -> Sequence[Look]:
    """What was found of a swarm; one look alone where its manager does not answer or is none."""
    manager, found = SwarmManager(address=wanted.address, call_s=call_s), list[Look]()
    try:
        info = await manager.info()
        own, api = swarm_of(info), await manager.version()
        nodes = await manager.nodes()
        managers = sum(node["Spec"].get("Role") == "manager" for node in nodes)
        said = f"Docker {info['ServerVersion']}, API {api[0]}.{api[1]}, on {info['Name']}, {_count(managers, 'manager')}"
        found.append(Look(what="swarm", is_well=True, said=said))
        found += [_nodes(nodes), _placement(wanted, nodes, own), _walls(nodes, api)]
        identifier, look = await _image(manager, wanted)
        found.append(look)
        if identifier:
            found += await _supply(manager, wanted, nodes, own, identifier)
    except ExternalServiceError as error:
        found.append(Look(what="swarm", is_well=False, said=str(error)))
    finally:
        manager.close()
    return found


async def usable_nodes(wanted: Wanted, *, call_s: int) -> tuple[Sequence[Node], Version]:
    """The nodes that sessions may run on now, and the API of their manager. Raises RunnerRefused, RunnerUnavailable."""
    manager = SwarmManager(address=wanted.address, call_s=call_s)
    try:
        own = swarm_of(await manager.info())
        nodes, api = await manager.nodes(), await manager.version()
    finally:
        manager.close()
    look = _placement(wanted, nodes, own)
    usable = _usable(wanted, nodes, own)
    if not usable:
        raise RunnerRefused(look.said)
    return usable, api


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _names(nodes: Sequence[Node]) -> str:
    return ", ".join(sorted(node_name(node) for node in nodes))


def _nodes(nodes: Sequence[Node]) -> Look:
    ready = [node for node in nodes if is_ready(node)]
    drained = [node for node in nodes if node["Spec"].get("Availability") != "active"]
    away = [node for node in nodes if node not in drained and node not in ready]
    parts = [f"{len(ready)} ready"]
    if drained:
        parts.append(f"{len(drained)} drained or paused ({_names(drained)})")
    if away:
        parts.append(f"{len(away)} down ({_names(away)})")
    return Look(what="nodes", is_well=bool(ready) and not away, said=", ".join(parts), is_sure=not ready)


def _usable(wanted: Wanted, nodes: Sequence[Node], own: str) -> Sequence[Node]:
    is_everywhere = bool(wanted.registry or wanted.engines)
    return [
        node
        for node in nodes
        if is_ready(node) and meets(node, wanted.constraints) and (is_everywhere or node["ID"] == own)
    ]


def _placement(wanted: Wanted, nodes: Sequence[Node], own: str) -> Look:
    """Where sessions may go."""
    ready = [node for node in nodes if is_ready(node)]
    usable = _usable(wanted, nodes, own)
    if usable:
        said = f"sessions run on {_names(usable)}"
        if not wanted.registry and not wanted.engines and len(ready) > 1:
            said += ", the manager's own node, alone: name a registry in swarm.registry, or the other nodes' engines in swarm.engines"
            return Look(what="placement", is_well=False, said=said, is_sure=False)
        return Look(what="placement", is_well=True, said=said)
    asked = ", ".join(wanted.constraints)
    if not ready:
        said = "no node takes sessions: see `docker node ls`"
    elif not any(meets(node, wanted.constraints) for node in ready):
        said = f"swarm.constraints ({asked}) leave none of {_names(ready)}: mark a node, as `docker node update --label-add` does"
    else:
        said = (
            "sessions run on the manager's own node alone, which takes none or does not meet swarm.constraints: name a registry in"
            " swarm.registry, or the other nodes' engines in swarm.engines"
        )
    return Look(what="placement", is_well=False, said=said)


def _walls(nodes: Sequence[Node], api: Version) -> Look:
    """What services of these engines can be held by."""
    lacks = list(lacking(api))
    for major, since in _ENGINES:
        older = [node for node in nodes if api >= since and _engine_of(node) < major]
        if older:
            lacks.append(
                f"{_names(older)}: an engine before {major}, which leaves out walls that its manager asks for"
            )
    if lacks:
        said = f"{'; '.join(lacks)}: `overlord doctor --sandbox` tries each node"
        return Look(what="walls", is_well=False, said=said, is_sure=False)
    return Look(what="walls", is_well=True, said="services can be asked for all of them")


def _engine_of(node: Node) -> int:
    version = str(((node.get("Description") or {}).get("Engine") or {}).get("EngineVersion", ""))
    major = version.partition(".")[0]
    return int(major) if major.isdecimal() else 0


async def _image(manager: DockerEngine, wanted: Wanted) -> tuple[str, Look]:
    """The id of the sessions' image at the manager; empty where it cannot be used."""
    try:
        shown = await manager.image(wanted.image)
    except Missing:
        said = f"the manager's engine has no image {wanted.image}: run `make images` there"
        return "", Look(what="image", is_well=False, said=said)
    if ((shown.get("Config") or {}).get("Labels") or {}).get("overlord.minion") != wanted.stamp:
        said = f"{wanted.image} was built from another version of the Minion; run `make images`"
        return "", Look(what="image", is_well=False, said=said)
    said = f"{wanted.image}, {shown['Size'] / 1e6:.0f} MB, built {shown['Created'][:10]}"
    return str(shown["Id"]), Look(what="image", is_well=True, said=said)


async def _supply(
    manager: SwarmManager, wanted: Wanted, nodes: Sequence[Node], own: str, identifier: str
) -> Sequence[Look]:
    """Where the nodes get the image from."""
    if wanted.registry:
        return [await _registry(manager, wanted)]
    if not wanted.engines:
        return []
    looks, laid = [], {own}
    for node, look in await asyncio.gather(*(_engine(each, nodes, identifier) for each in wanted.engines)):
        looks.append(look)
        laid.add(node)
    bare = [node for node in _usable(wanted, nodes, own) if node["ID"] not in laid]
    if bare:
        said = f"nobody lays images on {_names(bare)}: sessions that are placed there are refused; name these engines too"
        looks.append(Look(what="swarm.engines", is_well=False, said=said))
    return looks


async def _registry(manager: SwarmManager, wanted: Wanted) -> Look:
    there, tag = name_in(wanted.registry, wanted.image)
    try:
        digest = await manager.in_registry(f"{there}:{tag}")
    except Missing:
        said = f"{there}:{tag} is not there yet: the first session pushes it"
        return Look(what="registry", is_well=False, said=said, is_sure=False)
    except ExternalServiceError as error:
        said = f"{there}:{tag} is not there yet, or the registry does not answer: {error}"
        return Look(what="registry", is_well=False, said=said, is_sure=False)
    return Look(what="registry", is_well=True, said=f"{there}:{tag}, {digest[:19]}")


async def _engine(address: str, nodes: Sequence[Node], identifier: str) -> tuple[str, Look]:
    """The id of the node that an engine of the settings is, and how well it is there."""
    engine = DockerEngine(address=address)
    what = f"engine {address}"
    try:
        identity = str(((await engine.info()).get("Swarm") or {}).get("NodeID") or "")
        node = next((node for node in nodes if node["ID"] == identity), None)
        if node is None:
            said = "it is no node of this swarm: correct swarm.engines, or `docker swarm join` there"
            return "", Look(what=what, is_well=False, said=said)
        await engine.image(identifier)
        return identity, Look(what=what, is_well=True, said=f"{node_name(node)}, which has the image")
    except Missing:
        said = f"{node_name(node)} has not got the image yet: the first session lays it there"
        return identity, Look(what=what, is_well=True, said=said)
    except ExternalServiceError as error:
        return "", Look(what=what, is_well=False, said=str(error))
    finally:
        engine.close()
