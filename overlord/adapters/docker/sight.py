"""Whether an engine finds the same files at a path as we do. It may be in another container's place, or on another machine."""

import contextlib
import secrets
from pathlib import Path

from overlord.adapters.docker.engine import DockerEngine
from overlord.errors import RunnerRefused

_PLACE = "/sight"


async def sees(engine: DockerEngine, image: str, directory: Path) -> bool:
    """Lay a mark in the directory and look for it through the engine, in a container of `image` that is never started.

    Raises RunnerUnavailable, and OSError where nothing can be written.
    """
    name = f"overlord-sight-{secrets.token_hex(6)}"
    mark = directory / f".{name}"
    mount = {"Type": "bind", "Source": str(directory), "Target": _PLACE, "ReadOnly": True}
    asked = {"Image": image, "HostConfig": {"NetworkMode": "none", "Mounts": [mount]}}
    mark.touch()
    try:
        with contextlib.suppress(RunnerRefused):  # the engine has nothing at all at this path
            await engine.create(name, asked)
            return await engine.holds(name, f"{_PLACE}/{mark.name}")
        return False
    finally:
        mark.unlink(missing_ok=True)
        await engine.remove(name)
