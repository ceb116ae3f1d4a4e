"""Where the runs of one repository are kept: an Overlord home of its own under `OVERLORD_HOME/local/`, with the forge it
works with. Its database, lock and wakeup socket are its own, so a daemon on the same OVERLORD_HOME is not in the way.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from overlord.entrypoints.local import checkout
from overlord.entrypoints.local.address import check_address, is_address
from overlord.entrypoints.local.checkout import Checkout
from overlord.errors import Refused
from overlord.home import Home
from overlord.settings.chat import NO_CHAT
from overlord.settings.env import MAX_SOCKET_PATH, home_of
from overlord.settings.load import Settings, load

_LONGEST_NAME = 24
_NOT_OURS = ("GITHUB_", "SLACK_", "OVERLORD_REPOS")
"""Settings of the daemon's world: a local run has one repository and a forge of its own."""
TRIES, TRY_AGAIN_S = 5, 0.01
HERE = "."
MANY = 1_000_000
NEVER_LOW = {"disk": {"least_free_gb": 0, "least_free_files": 0}}
"""Somebody waits for this one run, and is there to see that a disk is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One repository's runs. `checkout` is None for a repository that is named by its address."""

    source: str
    """As the user would name it: a path or an address."""
    checkout: Checkout | None
    slug: str
    home: Home

    @property
    def repository(self) -> str:
        """What the forge calls it."""
        return f"local/{self.slug}"

    @property
    def named(self) -> str:
        """As `--repo` takes it where the user is now."""
        if self.checkout is not None and Path.cwd().resolve().is_relative_to(self.checkout.place.resolve()):
            return HERE
        return self.source

    @property
    def forge(self) -> Path:
        return self.home.root / "forge"

    @property
    def bare(self) -> Path:
        """The forge's own repository, where every result branch is."""
        return self.forge / "git" / f"{self.repository}.git"

    @property
    def runs(self) -> Path:
        return self.home.root / "runs"

    @property
    def _lock(self) -> Path:
        return self.home.root / "run.lock"

    def settings(self, environment: Mapping[str, str], **overrides: Any) -> Settings:
        """The user's settings, for this home and this one repository."""
        variables = {name: value for name, value in environment.items() if not name.startswith(_NOT_OURS)}
        variables["OVERLORD_HOME"] = str(self.home.root)
        shared = home_of(environment) / "overlord.yaml"
        if not variables.get("OVERLORD_CONFIG") and shared.exists():
            variables["OVERLORD_CONFIG"] = str(shared)
        ours = {
            "repositories": [self.repository],
            "delivery": {"open_pulls": MANY},
            "slack": NO_CHAT,
            "portfolio": {"retrospectives": False},
        } | NEVER_LOW
        return load(variables, **ours, **overrides)

    def is_locked(self) -> bool:
        """Whether a process works here now."""
        try:
            lock = os.open(self._lock, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one that works here. Raises Refused when another process does."""
        for directory in (self.home.root.parent, self.home.root, self.runs):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self.home.root / "source").write_text(f"{self.source}\n", encoding="utf-8", errors="surrogateescape")
        lock = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _take(lock, self.source)
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # a program that is just being started may have it too
            os.close(lock)


class PlaceBusy(Refused):
    """Another process works on the repository."""


def _take(lock: int, source: str) -> None:
    for left in reversed(range(TRIES)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(TRY_AGAIN_S)  # it may be somebody who only looks whether it is held
                continue
            raise PlaceBusy(
                f"another `overlord run` works on {source}, or an `overlord mcp` with open calls; wait for it, or stop it with Ctrl-C"
            ) from None
        return


def place_of(repository: str, environment: Mapping[str, str]) -> Place:
    """Where the runs of a repository, named by a path in it or by its address, are kept; nothing is made yet.

    Raises NotFound when it is neither.
    """
    found = None
    if is_address(repository) and not Path(repository).exists():
        source = key = check_address(repository)
        name = re.split(r"[/:]", source)[-1]
    else:
        found = checkout.find(Path(repository).expanduser())
        source, key = str(found.place), str(found.common_dir)
        name = (found.common_dir.parent if found.common_dir.name == ".git" else found.common_dir).name
    slug = _slug(name)
    identity = sha256(key.encode(errors="surrogateescape")).hexdigest()[:8]
    parent = home_of(environment) / "local"
    directory = "-".join(part for part in (slug[: _room(parent, identity)].strip("-"), identity) if part)
    return Place(source=source, checkout=found, slug=slug, home=Home(parent / directory))


def _slug(name: str) -> str:
    return (
        re.sub(r"[^A-Za-z0-9_]+", "-", name.removesuffix(".git")).strip("-")[:_LONGEST_NAME] or "repository"
    )


def _room(parent: Path, identity: str) -> int:
    """How many characters of a name leave the sockets below it a path that is short enough."""
    without = len(os.fsencode(parent / f"-{identity}" / "run" / "12345678" / "s"))
    return min(_LONGEST_NAME, max(0, MAX_SOCKET_PATH - without))
