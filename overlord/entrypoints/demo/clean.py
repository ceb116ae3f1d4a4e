"""`overlord demo --clean`: removes what demos left on this machine, and only that.

A demo's home is a folder that says so itself (`MARK`), below the temporary folder and of this user; one whose demo still runs is left
alone. Containers, images and volumes are those that carry its instance's label. The images that sessions run in are not a demo's
own: they stay, and the command that removes them is printed.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from overlord import wakeup
from overlord.adapters.docker.engine import DockerEngine
from overlord.domain.text.plain import count
from overlord.entrypoints.terminal.show import show_text
from overlord.errors import ExternalServiceError
from overlord.home import Home

PREFIX = "overlord-demo-"
MARK = "made-by-overlord-demo"
"""A file in each demo's home."""
OURS = ("overlord-minion", "overlord-minion-setup", "overlord")
"""What `make images` builds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What is gone now, and what was left."""

    homes: int = 0
    running: tuple[Path, ...] = ()
    objects: int = 0
    """Containers, images and volumes."""
    images: tuple[str, ...] = ()
    """Images that stay."""


def make_home(below: Path | None = None) -> Path:
    """A new demo's home, below the temporary folder if not elsewhere."""
    home = Path(tempfile.mkdtemp(prefix=PREFIX, dir=below))
    (home / MARK).touch()
    return home


def homes(below: Path | None = None) -> list[Path]:
    """The homes of demos that this user ran."""
    found = (below or Path(tempfile.gettempdir())).glob(f"{PREFIX}*")
    return sorted(path for path in found if _is_ours(path))


def _is_ours(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return not path.is_symlink() and path.stat().st_uid == os.getuid() and (path / MARK).is_file()
    return False


async def clean(address: str | None, below: Path | None = None) -> Removed:
    """Remove it. `address` is the engine's; where none answers, nothing of a demo's is in it."""
    found = homes(below)
    running = tuple(path for path in found if wakeup.is_heard(Home(path).wakeup))
    left = [path for path in found if path not in running]
    engine = DockerEngine(address=address)
    removed, images = 0, tuple[str, ...]()
    try:
        for path in left:
            if (path / "instance").exists():
                removed += await _remove_objects(engine, Home(path).instance())
        images = await _images(engine)
    except ExternalServiceError:
        pass  # no engine, or none for this user: nothing of ours is in it
    finally:
        engine.close()
    for path in left:
        await asyncio.to_thread(shutil.rmtree, path)
    return Removed(homes=len(left), running=running, objects=removed, images=images)


async def _remove_objects(engine: DockerEngine, instance: str) -> int:
    label = f"overlord.instance={instance}"
    containers = [str(item["Id"]) for item in await engine.labelled(label)]
    for name in containers:
        await engine.remove(name)
    tags = [tag for image in await engine.images(label) for tag in image.get("RepoTags") or ()]
    for tag in tags:
        await engine.remove_image(tag)
    volumes = [str(item["Name"]) for item in await engine.volumes(label)]
    for name in volumes:
        await engine.remove_volume(name)
    return len(containers) + len(tags) + len(volumes)


async def _images(engine: DockerEngine) -> tuple[str, ...]:
    """Those of `make images` that the engine has."""
    tags = {tag for image in await engine.images("overlord.minion") for tag in image.get("RepoTags") or ()}
    return tuple(name for name in OURS if f"{name}:latest" in tags)


def show(removed: Removed) -> None:
    """What was done, and what is left to do, in commands that can be pasted."""
    if removed.homes or removed.objects:
        objects = f", and {removed.objects} of its containers, images and volumes" if removed.objects else ""
        show_text(f"Removed: {count(removed.homes, 'demo folder')}{objects}.")
    else:
        show_text(f"No demo left anything in {tempfile.gettempdir()}.")
    for path in removed.running:
        show_text(f"A demo still runs in {path}: it was left alone.")
    show_images(removed.images)


def show_images(images: Sequence[str]) -> None:
    """How the images go, where there are some."""
    if images:
        show_text("The images that sessions run in stay, for your own runs. To remove them too:")
        show_text(f"  docker image rm {' '.join(images)}")
