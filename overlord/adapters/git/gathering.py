"""What a ready copy holds beyond its own commit: the files of submodules and what Git LFS keeps, gathered before it is made."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from overlord.adapters.git.lfs import LfsObjects, pointers
from overlord.adapters.git.submodule import Module, Submodules
from overlord.domain.identifiers import Sha
from overlord.domain.launch import Remote
from overlord.domain.repositories.extent import LFS, MODULES, Extent
from overlord.domain.repositories.lfs import Pointer
from overlord.errors import Unobtainable

LONGEST_S = 1800.0
"""For all of it together: nothing else of its repository is begun meanwhile. What came is kept for the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """For one commit."""

    modules: tuple[Module, ...] = ()
    """Those that hold others come first."""
    objects: Mapping[bytes, Path] = field(default_factory=dict)
    """What is laid out in the place of a pointer, by the pointer's path."""
    pointers: Mapping[bytes, Pointer] = field(default_factory=dict)
    """What each of these stands in the place of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where what was fetched for a repository is kept."""

    modules: Path
    objects: Path
    scratch: Path

    def module(self, address: str) -> Path:
        return self.modules / f"{sha256(address.encode()).hexdigest()[:32]}.git"

    def object(self, oid: str) -> Path:
        return self.objects / oid

    def forget(
        self, marks: Collection[str], objects: Collection[str], discard: Callable[[Path], None]
    ) -> None:
        """Let go of what was fetched when no ready copy is left that was made of it. `marks` are those of the copies,
        `objects` what of Git LFS is in them."""
        for place, word in ((self.modules, MODULES), (self.objects, LFS)):
            if place.exists() and not any(word in mark for mark in marks):
                discard(place)
        for kept in list(self.objects.glob("*")):
            if kept.name not in objects:
                discard(kept)


async def gather(
    mirror: Path, base: Sha, extent: Extent, remote: Remote, places: Places, *, most_bytes: int
) -> Gathered:
    """Fetch what a space's settings ask for. Raises Unobtainable, and ForgeUnavailable for what passes by itself."""
    modules: list[Module] = []
    objects: dict[bytes, Path] = {}
    wanted: dict[bytes, Pointer] = {}
    try:
        async with asyncio.timeout(LONGEST_S):
            if extent.submodules:
                modules = await Submodules(remote, places.module, most_bytes=most_bytes).gather(mirror, base)
            if extent.lfs:
                wanted = await pointers(mirror, base, places.scratch)
                objects = await LfsObjects(remote, places.object, most_bytes=most_bytes).gather(wanted)
    except TimeoutError:
        raise Unobtainable(
            f"What {base} names beside itself did not all come within {LONGEST_S:.0f} s."
        ) from None
    return Gathered(modules=tuple(modules), objects=objects, pointers=wanted)
