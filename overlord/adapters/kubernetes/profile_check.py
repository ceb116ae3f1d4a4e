"""Proves the walls of a cluster: runs `sandbox_check.py` inside a session's Pod, and reads what got through."""

import asyncio
import contextlib
import json
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from overlord.adapters.docker.profile_check import Wall, check_program, walls_of
from overlord.adapters.kubernetes.runner import KubernetesRunner
from overlord.adapters.kubernetes.sandbox_check import PROMISED
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch, SessionAccess
from overlord.domain.session import CONTAINER_UID, Ending
from overlord.errors import RunnerRefused

_MEMORY_MB = 256
_CHECK_S = 600
_NOWHERE = SessionAccess(url="https://192.0.2.1:9", token="", authority="")
"""An address that is nobody's: the check is to reach nothing."""
METADATA = ("169.254.169.254", 80)
Make = Callable[[Path, Sequence[str]], KubernetesRunner]
"""Makes the runner to be checked: with this root, and this command in place of the Minion; its instance is no daemon's."""


async def check_pod(
    make: Make, *, points: Sequence[str] = (), targets: Sequence[tuple[str, int]] = (METADATA,)
) -> Sequence[Wall]:
    """Try every wall (or `points`) from inside. `targets`: what must not be reached, beside the cluster's API.
    Raises RunnerUnavailable, RunnerRefused."""
    points = points or PROMISED
    expect = {
        "points": points,
        "targets": targets,
        "user": f"{CONTAINER_UID}:{CONTAINER_UID}",
        "memory_mb": _MEMORY_MB,
        "disks": {"/tmp": 64, "/work": 1024, "/dev/shm": 64},  # noqa: S108 - paths inside the Pod
    }
    with tempfile.TemporaryDirectory(prefix="overlord-check-") as directory:
        program = check_program("overlord.adapters.kubernetes.sandbox_check")
        runner = make(Path(directory), ("python", "-I", "-c", program))
        launch = Launch(
            session=SessionId(f"self-check-{uuid.uuid4().hex[:8]}"),
            job="self-check",
            environment={"SANDBOX_EXPECT": json.dumps(expect)},
            session_api=Path(directory),
            access=_NOWHERE,
            memory_mb=_MEMORY_MB,
        )
        return walls_of(await _output(runner, launch), points)


async def _output(runner: KubernetesRunner, launch: Launch) -> str:
    try:
        await runner.start(launch)
        ending: Ending | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_S):
                while ending is None:
                    ending = await runner.wait(launch.session)
        said = await runner.logs(launch.session, limit_bytes=1024 * 1024)
        if not said and ending is not None and ending.detail:
            raise RunnerRefused(f"the check could not run in the cluster: {ending.detail}")
        return said
    finally:
        await runner.remove(launch.session)
        await runner.remove_policies()
        await runner.close()
