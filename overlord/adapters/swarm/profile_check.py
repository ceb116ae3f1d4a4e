"""Proves the walls of a swarm: runs `sandbox_check.py` inside a session's service on each node, and reads what got through."""

import asyncio
import contextlib
import json
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from overlord.adapters.docker.profile import MEGABYTE, Profile
from overlord.adapters.docker.profile_check import Wall, check_program, walls_of
from overlord.adapters.swarm.placement import Node
from overlord.adapters.swarm.runner import SwarmRunner
from overlord.adapters.swarm.sandbox_check import PROMISED
from overlord.adapters.swarm.spec import TMPFS_OPTIONS_API, Version, node_name
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch, SessionAccess
from overlord.errors import ExternalServiceError

_MEMORY_MB = 256
_CHECK_S = 300
_NODES = 3
"""Nodes that are tried at once."""
_PORTS = (22, 2377, 7946)
METADATA = ("169.254.169.254", 80)
ON_DISK = "but for /work, which is on the node's disk, without a limit of its size"
Make = Callable[[Path, Sequence[str], str], SwarmRunner]
"""Makes the runner to be checked: with this root, this command in place of the Minion, and this constraint besides those of the
settings; its instance is no daemon's."""


async def check_nodes(
    make: Make, nodes: Sequence[Node], *, api: Version, url: str, points: Sequence[str] = ()
) -> Sequence[Wall]:
    """Try every wall (or `points`) from inside, on each of these nodes. `url` is where the relay leads: the session listener's."""
    points, room = points or PROMISED, asyncio.Semaphore(_NODES)
    expect = {**_expectation(nodes, api), "points": points}

    async def check(node: Node) -> Sequence[Wall]:
        async with room:
            try:
                walls = await _check(make, node, expect, url)
            except ExternalServiceError as error:
                walls = [Wall(point="self-check", holds=False, detail=str(error))]
        return [replace(_told(wall, api), node=node_name(node)) for wall in walls]

    ordered = sorted(nodes, key=node_name)
    return [wall for walls in await asyncio.gather(*map(check, ordered)) for wall in walls]


def _told(wall: Wall, api: Version) -> Wall:
    """What a wall holds with an exception says so."""
    if wall.point == "disk" and wall.holds and api < TMPFS_OPTIONS_API:
        return replace(wall, detail=ON_DISK)
    return wall


def _expectation(nodes: Sequence[Node], api: Version) -> Mapping[str, Any]:
    promised = Profile()
    disks = {"/tmp": 64, "/dev/shm": 64}  # noqa: S108 - paths inside the container
    if api >= TMPFS_OPTIONS_API:
        disks["/work"] = 1024
    addresses = [address for node in nodes if (address := str(node["Status"].get("Addr") or ""))]
    return {
        "user": promised.user,
        "pids": promised.pids,
        "memory_mb": _MEMORY_MB,
        "disks": disks,
        "limits": {"nofile": promised.open_files, "core": 0, "fsize": promised.file_mb * MEGABYTE},
        "targets": [METADATA, *((address, port) for address in addresses for port in _PORTS)],
    }


async def _check(make: Make, node: Node, expect: Mapping[str, Any], url: str) -> Sequence[Wall]:
    with tempfile.TemporaryDirectory(prefix="overlord-check-") as directory:
        program = check_program("overlord.adapters.swarm.sandbox_check")
        runner = make(Path(directory), ("python3", "-I", "-c", program), f"node.id=={node['ID']}")
        launch = Launch(
            session=SessionId(f"self-check-{uuid.uuid4().hex[:8]}"),
            job="self-check",
            environment={"SANDBOX_EXPECT": json.dumps(expect)},
            session_api=Path(directory),
            access=SessionAccess(url=url, token="", authority=""),
            memory_mb=_MEMORY_MB,
        )
        return walls_of(await _output(runner, launch), expect["points"])


async def _output(runner: SwarmRunner, launch: Launch) -> str:
    try:
        await runner.start(launch)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_S):
                async for ended in runner.follow():
                    if ended == launch.session:
                        break
        return await runner.logs(launch.session, limit_bytes=MEGABYTE)
    finally:
        await runner.remove(launch.session)
        await runner.close()
