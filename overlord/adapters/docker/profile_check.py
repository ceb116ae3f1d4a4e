"""Proves a profile on this engine: runs `sandbox_check.py` inside a container that it holds, and reads what got through."""

import asyncio
import contextlib
import json
import os
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from overlord.adapters.docker.profile import MEGABYTE, Profile
from overlord.adapters.docker.runner import DockerRunner
from overlord.adapters.docker.sandbox_check import POINTS
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch

_PARTS = ("sandbox_calls", "sandbox_limits", "sandbox_check")
_MEMORY_MB = 256
_CHECK_S = 120
_NAMESPACES = ("net", "pid", "ipc", "mnt", "uts")
# Each part becomes a module under the name the next one imports it by; the last one runs.
_START = """
import os, sys, types
for name, text in {parts!r}:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
sys.modules[name].main()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """One wall, and what got through it. `node`: where it was tried; empty where there is one machine."""

    point: str
    holds: bool
    detail: str
    node: str = ""


Make = Callable[[Path, Sequence[str]], DockerRunner]
"""Makes the runner to be checked: with this root, and this command in place of the Minion."""


async def check_sandbox(
    make: Make,
    *,
    points: Sequence[str] = (),
    services: Sequence[tuple[str, int]] = (),
    canary: str = "",
    within: Path | None = None,
) -> Sequence[Wall]:
    """Try every wall (or `points`) from inside. `services` are listeners of this machine that must not be reached,
    `canary` a text that a process of it carries in its environment; without them there is nothing to try there.
    `within` is a directory that the engine finds where we do; this machine's temporary files may be ours alone.
    Raises RunnerUnavailable, RunnerRefused."""
    data = {"host_services": services, "other_environments": canary}
    points = points or [point for point in POINTS if data.get(point, True)]
    # Reversed, because what a session is told stands in its own environment, where the canary must not be found.
    asked = {"points": points, "services": services, "canary_reversed": canary[::-1]}
    with tempfile.TemporaryDirectory(prefix="overlord-check-", dir=within) as directory:
        runner = make(Path(directory, "runner"), ("python3", "-I", "-c", check_program()))
        launch = Launch(
            session=SessionId(f"self-check-{uuid.uuid4().hex[:8]}"),
            job="self-check",
            environment={"SANDBOX_EXPECT": json.dumps({**_expectation(), **asked})},
            session_api=_open_session_api(Path(directory)),
            memory_mb=_MEMORY_MB,
        )
        return walls_of(await _output(runner, launch), points)


def _open_session_api(directory: Path) -> Path:
    """A session API open to all, so that only the read-only mount stands between a session and its files."""
    session_api = directory / "door"
    session_api.mkdir()
    session_api.chmod(0o777)
    (session_api / "s").touch()
    return session_api


async def _output(runner: DockerRunner, launch: Launch) -> str:
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


def check_program(*more: str) -> str:
    """The check as one text that `python -c` runs. `more`: modules that go on from it, by their whole names; the last one runs."""
    names = [*(f"overlord.adapters.docker.{name}" for name in _PARTS), *more]
    parts = []
    for name in names:
        package, _, module = name.rpartition(".")
        parts.append((name, files(package).joinpath(f"{module}.py").read_text("utf-8")))
    return _START.format(parts=parts)


def _expectation() -> Mapping[str, Any]:
    promised = Profile()
    return {
        "user": promised.user,
        "pids": promised.pids,
        "memory_mb": _MEMORY_MB,
        "disks": {"/tmp": 64, "/work": 1024, "/dev/shm": 64},  # noqa: S108 - paths inside the container
        "limits": {"nofile": promised.open_files, "core": 0, "fsize": promised.file_mb * MEGABYTE},
        "namespaces": {name: str(Path(f"/proc/{os.getpid()}/ns/{name}").readlink()) for name in _NAMESPACES},
    }


def walls_of(output: str, points: Sequence[str]) -> Sequence[Wall]:
    """What was tried; a check that ended early leaves one wall that did not hold, with its last words."""
    lines = [line for line in output.splitlines() if line]
    try:
        walls = [Wall(**json.loads(line)) for line in lines]
    except (ValueError, TypeError):
        return [Wall(point="self-check", holds=False, detail=output[-500:])]
    if [wall.point for wall in walls] != [*points]:
        walls.append(Wall(point="self-check", holds=False, detail="it ended before it had tried everything"))
    return walls
