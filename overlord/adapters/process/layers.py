"""Environments as directories of this machine, for sessions that run as processes."""

import os
import platform
import re
import sys
from contextlib import suppress
from pathlib import Path

from overlord.adapters.trash import Trash
from overlord.errors import RunnerRefused

FINISHED = "environment.json"
"""What a setup writes last."""
_KEY = re.compile(r"[0-9a-f]{8,64}")


def checked_key(key: str) -> str:
    """The key itself. Raises RunnerRefused for what is none, and might name something else."""
    if not _KEY.fullmatch(key):
        raise RunnerRefused(f"{key!r} cannot be an environment's key")
    return key


class ProcessLayers:
    """One directory for each key below `root`. What is set up stays where it was made: programs know their own path."""

    def __init__(self, root: Path, trash: Trash, *, python: str) -> None:
        self._root = root
        self._trash = trash
        self._python = python

    def ground(self, image: str) -> str:
        if image:
            raise RunnerRefused(
                f"the repository asks for the image {image}, and sessions here run as processes: start Docker, or"
                " take `image` out of .nebulus/environment.yaml"
            )
        return f"{self._python} {platform.platform()} {sys.version}"

    def prepare(self, key: str) -> None:
        """An empty directory."""
        self.remove(key)
        self.directory(key).mkdir(parents=True)

    def keep(self, key: str) -> int:
        if not self.has(key):
            raise RunnerRefused("the setup left no finished environment")
        return _size(self.directory(key))

    def has(self, key: str) -> bool:
        return (self.directory(key) / FINISHED).is_file()

    def remove(self, key: str) -> None:
        self._trash.discard(self.directory(key))

    def directory(self, key: str) -> Path:
        return self._root / checked_key(key)

    def cache(self, space: str) -> Path:
        """Where setups of a space keep what they download; no space reads another's."""
        return self._root / "cache" / space.casefold()

    def cached(self) -> list[str]:
        """The spaces that have some."""
        return sorted(
            str(place.relative_to(self._root / "cache")) for place in (self._root / "cache").glob("*/*")
        )

    def forget_cache(self, space: str) -> None:
        self._trash.discard(self.cache(space))


def _size(directory: Path) -> int:
    """The bytes of its files; what its own user closed, or is just going away, counts for nothing."""
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total
