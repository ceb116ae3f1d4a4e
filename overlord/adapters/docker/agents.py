"""The programs of coding agents, taken from their images into volumes that sessions see read-only.

A session runs in its environment's image, whoever works in it. So an agent's program comes beside that: its image holds it below
`/opt/agents/<program>`, and the engine itself copies it from there into a named volume when a container is made of the two. The
volume is named for the image's id, so that another image has another volume, and every Overlord of an engine shares them. The last
file that is written to it says that it is whole: an engine that was stopped in the middle left none.
"""

import asyncio
import contextlib
import io
import re
import tarfile
from collections.abc import Mapping
from typing import Any

from minion.protocol import AGENTS_DIRECTORY
from overlord.adapters.docker.engine import Conflict, DockerEngine, Missing
from overlord.domain.agent_programs import building
from overlord.domain.launch import AgentProgram
from overlord.errors import RunnerRefused, RunnerUnavailable

LABEL = "overlord.agent"
FILL_S = 600
"""The longest an engine may take to copy a program."""
WHOLE = ".whole"
"""The file that says so."""
_PROGRAM = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TRIES = 100
_LEFT_TRIES = 50
_PAUSE_S = 0.1


class DockerAgents:
    """The agents' programs of one engine."""

    def __init__(self, engine: DockerEngine, *, address: str | None) -> None:
        self._engine = engine
        self._patient = DockerEngine(address=address, call_s=FILL_S)
        self._filling = asyncio.Lock()
        self._filled: set[str] = set()
        self._replaced: set[str] = set()
        """Volumes of images that are none any more, while sessions still have them."""

    async def version(self, program: AgentProgram) -> str:
        """What the image says; of one that says nothing, which image it is. Empty for what is in the session's own image."""
        if not program.image:
            return ""
        found = await self._image(program)
        said = str(((found["Config"] or {}).get("Labels") or {}).get(LABEL, ""))
        return said.partition(" ")[2] or f"image {_short(found)}"

    async def volume(self, program: AgentProgram) -> str:
        """The volume that holds an agent's program, filled when it is not there. Empty where the session's own image has it.
        Raises RunnerRefused, with the remedy, for an image that is missing or holds no such program."""
        if not program.image:
            return ""
        found = await self._image(program)
        name = f"overlord-agent-{program.program}-{_short(found)}"
        async with self._filling:
            if name not in self._filled:
                await self._fill(name, program, str(found["Id"]))
                self._filled.add(name)
                await self._find_replaced()
        return name

    async def check(self, container: str, program: AgentProgram, volume: str) -> None:
        """Whether a container that was made has the whole program: somebody may have removed the volume just before, and the engine
        then makes an empty one. Raises RunnerUnavailable, and the next try fills it anew."""
        if volume and not await self._engine.holds(container, f"{_place(program)}/{WHOLE}"):
            self._filled.discard(volume)
            raise RunnerUnavailable(
                f"the volume {volume} lost the program of {program.program}; it is filled again at the next try"
            )

    async def remove_replaced(self) -> None:
        """Remove the volumes of replaced images that no session has any more."""
        for name in list(self._replaced):
            with contextlib.suppress(Conflict):
                await self._engine.remove_volume(name)
                self._replaced.discard(name)

    def close(self) -> None:
        self._patient.close()

    async def _image(self, program: AgentProgram) -> Mapping[str, Any]:
        if not _PROGRAM.fullmatch(program.program):
            raise RunnerRefused(f"{program.program!r} cannot be the name of an agent's program")
        try:
            return await self._engine.image(program.image)
        except Missing:
            raise RunnerRefused(
                f"the engine has no image {program.image}, which holds the program of {program.program}:"
                f" {building(program.program)}"
            ) from None

    async def _fill(self, name: str, program: AgentProgram, image: str) -> None:
        for tried in range(_TRIES):
            is_new = not await self._exists(name)
            try:
                await self._patient.create(name, _configuration(name, program, image))
            except Conflict:
                # Another Overlord is at it, or was when it was killed.
                if tried == _LEFT_TRIES:
                    await self._engine.remove(name)
                await asyncio.sleep(_PAUSE_S)
                continue
            try:
                if await self._engine.holds(name, f"{_place(program)}/{WHOLE}"):
                    return
                if is_new:
                    await self._finish(name, program)
                    return
            finally:
                await self._engine.remove(name)
            await self._engine.remove_volume(name)  # one that was never whole
        raise RunnerUnavailable(f"the volume {name} is just being filled; it is looked at again")

    async def _finish(self, name: str, program: AgentProgram) -> None:
        """Say that a volume is whole, if it has a program at all."""
        place = _place(program)
        if await self._engine.holds(name, f"{place}/bin"):
            await self._engine.put(name, place, _mark())
            return
        await self._engine.remove(name)
        await self._engine.remove_volume(name)
        raise RunnerRefused(
            f"the image {program.image} has nothing at {place}/bin, where sessions look for the program of {program.program}:"
            " put it there, or name no image for this agent where the image of its sessions brings its command"
        )

    async def _exists(self, name: str) -> bool:
        try:
            await self._engine.volume(name)
        except Missing:
            return False
        return True

    async def _find_replaced(self) -> None:
        """Look for volumes of images that their name has left, and remove what can be removed."""
        for volume in await self._engine.volumes(LABEL):
            labels = volume.get("Labels") or {}
            if not (name := labels.get(f"{LABEL}.image", "")):
                continue
            try:
                current = str((await self._engine.image(name))["Id"])
            except Missing:
                current = ""
            if current != labels.get(f"{LABEL}.id"):
                self._replaced.add(str(volume["Name"]))
        await self.remove_replaced()


def _place(program: AgentProgram) -> str:
    return f"{AGENTS_DIRECTORY}/{program.program}"


def _short(image: Mapping[str, Any]) -> str:
    return str(image["Id"]).removeprefix("sha256:")[:12]


def _configuration(volume: str, program: AgentProgram, image: str) -> dict[str, Any]:
    """A container that is never started: with its making the engine copies the image's files into the empty volume."""
    labels = {LABEL: program.program, f"{LABEL}.image": program.image, f"{LABEL}.id": image}
    mount = {
        "Type": "volume",
        "Source": volume,
        "Target": _place(program),
        "VolumeOptions": {"Labels": labels},
    }
    host = {"NetworkMode": "none", "Mounts": [mount]}
    return {"Image": image, "Cmd": ["-"], "Labels": {LABEL: program.program}, "HostConfig": host}


def _mark() -> bytes:
    """An empty file, packed as the engine takes it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(WHOLE))
    return packed.getvalue()
