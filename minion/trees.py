"""Fresh copies of a commit for check steps.

The repository is fetched once and kept in a file without a name: what runs in one step has no path to what the
next one is made from.
"""

import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO

from minion.git import Git
from minion.protocol import Brief, CheckStep, Tree


class Trees:
    """Copies of base and head of one brief."""

    def __init__(self, home: Path, remote: str, brief: Brief, git: Git) -> None:
        """Fetch everything there is. Raises GitFailed."""
        self._git = git
        self._brief = brief
        self._kept: IO[bytes] = tempfile.TemporaryFile(dir=home)  # noqa: SIM115
        store = home / "store.git"
        git.run(home, "clone", "--quiet", "--bare", "--template=", remote, str(store))
        with tarfile.open(fileobj=self._kept, mode="w") as archive:
            archive.add(store, arcname=".git")
        shutil.rmtree(store)

    def lay_out(self, step: CheckStep, directory: Path) -> None:
        """Make `directory` the step's tree, with its own repository. Raises GitFailed or OSError."""
        directory.mkdir(parents=True)
        self._kept.seek(0)
        with tarfile.open(fileobj=self._kept, mode="r") as archive:
            archive.extractall(directory, filter="data")
        commit = self._brief.base_sha if step.tree is Tree.BASE else self._brief.head_sha
        self._git.run(directory, "config", "core.bare", "false")
        self._git.run(directory, "checkout", "--quiet", "--force", "--detach", commit)
        if step.restore:
            self._restore(directory, step.restore)

    def close(self) -> None:
        self._kept.close()

    def _restore(self, directory: Path, paths: tuple[str, ...]) -> None:
        base = self._brief.base_sha
        listed = self._git.run(directory, "ls-tree", "-r", "-t", "-z", "--name-only", base)
        at_base = set(listed.split("\0"))
        names = [str(PurePosixPath(path)) for path in paths if _is_inside(path)]
        for name in names:
            clear(directory, name)
        if present := [name for name in names if name in at_base]:
            words = ["--literal-pathspecs", "checkout", "--quiet", base]
            given = "\0".join(present)
            self._git.run(directory, *words, "--pathspec-from-file=-", "--pathspec-file-nul", given=given)


def clear(directory: Path, name: str) -> None:
    """Remove what is at `name`, without following a link that was put in its way."""
    place = directory
    for part in PurePosixPath(name).parts:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
            return
    if place.is_dir():
        shutil.rmtree(place)


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(pure.parts) and not pure.is_absolute() and ".." not in pure.parts and pure.parts[0] != ".git"
