"""The swarm of `overlord demo --runner swarm`: three real engines in network namespaces of this machine, or a swarm one has."""

import asyncio
import subprocess
from contextlib import AsyncExitStack
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from overlord.config_files import config_directory
from overlord.embedded.swarm_lab import LabFailed, SwarmLab, swarm_lab
from overlord.entrypoints.terminal.show import console
from overlord.errors import SettingsError

IMAGE = "overlord-minion:latest"


async def swarm_settings(stack: AsyncExitStack, home: Path, *, manager: str, host: str) -> dict[str, Any]:
    """The settings that sessions run on a swarm by. `manager`: the address of a manager of a swarm one has, whose nodes have the
    image and reach this machine at `host`; without it a lab is made, for as long as the stack lasts. Raises SettingsError."""
    if manager:
        if not host:
            raise SettingsError("say with --host by which address the nodes of that swarm reach this machine")
        return {"session_listener": {"address": f"{host}:0"}, "swarm": {"address": manager}}
    lab = await _lab(stack, home)
    console.print(f"A swarm of {len(lab.nodes)} engines is up: {', '.join(node.name for node in lab.nodes)}")
    return {
        "session_listener": {"address": f"{lab.host}:0", "listen": f"{lab.host}:0"},
        "swarm": {"address": lab.manager.address, "engines": [node.address for node in lab.nodes]},
    }


async def _lab(stack: AsyncExitStack, home: Path) -> SwarmLab:
    seccomp = stack.enter_context(as_file(config_directory() / "seccomp.json"))
    options = ("--no-new-privileges", f"--seccomp-profile={seccomp}")
    console.print("Making a swarm of three engines …")
    try:
        lab = await stack.enter_async_context(swarm_lab(options=options))
        await _lay_images(lab, home / "images.tar")
    except LabFailed as error:
        raise SettingsError(
            f"no swarm can be made here: {error}. With one of your own: --swarm tcp://MANAGER:2375 --host ADDRESS"
        ) from None
    return lab


async def _lay_images(lab: SwarmLab, archive: Path) -> None:
    """Lay the images of sessions on the manager, which gives them to the others as they are needed. Raises LabFailed."""
    words = ["docker", "save", "--output", str(archive), IMAGE, IMAGE.replace(":", "-setup:")]
    try:
        await asyncio.to_thread(subprocess.run, words, check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise LabFailed(f"{said or 'docker save failed'}; `make images` makes the images") from None
    try:
        await lab.manager.load(archive)
    finally:
        await asyncio.to_thread(archive.unlink)
