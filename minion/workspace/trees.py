"""Fresh copies of a commit for check steps.

What is fetched over the session API is kept in a file without a name, and a ready copy of base is only read: what runs in one
step has no path to what the next one is made from (but for processes, which nothing keeps from anything).
"""

import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO

from minion.errors import GitFailed
from minion.git import Git, persistently
from minion.protocol import Brief, CheckStep, PlanFile, Tree
from minion.workspace.conversion import EVERYTHING
from minion.workspace.ready import ReadyCopy

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


class Trees:
    """Copies of base and head of one brief."""

    def __init__(
        self,
        home: Path,
        remote: str,
        brief: Brief,
        git: Git,
        *,
        ready: ReadyCopy | None = None,
        patience_s: float = 0.0,
    ) -> None:
        """Fetch everything there is, or what a ready copy of base has not; a cut way to `remote` is tried again for `patience_s`.
        Raises GitFailed or OSError."""
        self._patience_s = patience_s
        self._git = git
        self._brief = brief
        self._ready = ready
        self._kept: IO[bytes] = tempfile.TemporaryFile(dir=home)  # noqa: SIM115
        store = home / "store.git"
        if ready is None:
            words = ("clone", "--quiet", "--bare", "--template=", remote, str(store))
            persistently(lambda: git.run(home, *words), patience_s=patience_s)
        else:
            self._fetch_head(store, remote, ready)
        with tarfile.open(fileobj=self._kept, mode="w") as archive:
            archive.add(
                store if ready is None else store / "objects", arcname=".git" if ready is None else "."
            )
        shutil.rmtree(store)

    def lay_out(self, step: CheckStep, directory: Path) -> None:
        """Make `directory` the step's tree, with its own repository. Raises GitFailed, OSError or ValueError."""
        commit = self._brief.base_sha if step.tree is Tree.BASE else self._brief.head_sha
        if self._ready is None:
            directory.mkdir(parents=True)
            self._unpack(directory)
            self._git.run(directory, "config", "core.bare", "false")
            self._check_out(directory, commit)
        else:
            base = self._brief.base_sha
            self._ready.lay_out(directory, head=base, config=_CONFIG, references={})
            if self._ready.attributes:
                (directory / ".git" / "info" / "attributes").write_text(self._ready.attributes)
            self._unpack(directory / ".git" / "objects")
            if commit != base:
                self._check_out(directory, commit)
        if step.restore:
            self._restore(directory, step.restore, commit)
        if step.plan and self._brief.terms is not None:
            for file in self._brief.terms.plan:
                lay_plan_file(directory, file)

    def _fetch_head(self, store: Path, remote: str, ready: ReadyCopy) -> None:
        """The commits that came on top of base; the rest is read where it is."""
        brief = self._brief
        self._git.run(store.parent, "init", "--quiet", "--bare", "--template=", str(store))
        ready.lend_history(store)
        (store / "packed-refs").write_text(f"{brief.base_sha} refs/heads/base\n")
        if brief.head_sha != brief.base_sha:
            wanted = f"+refs/heads/{brief.branch}:refs/heads/head"
            words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote, wanted)
            persistently(lambda: self._git.run(store, *words), patience_s=self._patience_s)
        shutil.rmtree(store / "objects" / "info")

    def _unpack(self, directory: Path) -> None:
        self._kept.seek(0)
        with tarfile.open(fileobj=self._kept, mode="r") as archive:
            # Debian 12's Python 3.11.2 has no filters. What is in the archive was put there here.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            archive.extractall(directory)  # noqa: S202 - see above

    def _check_out(self, directory: Path, commit: str) -> None:
        words = ("checkout", "--quiet", "--force", "--detach", commit)
        try:
            self._git.run(directory, *words)
        except GitFailed:
            # Attributes that git refuses: the files are laid out byte by byte.
            info = directory / ".git" / "info"
            info.mkdir(exist_ok=True)
            (info / "attributes").write_text(EVERYTHING)
            self._git.run(directory, *words)

    def close(self) -> None:
        self._kept.close()

    def _restore(self, directory: Path, paths: tuple[str, ...], commit: str) -> None:
        base = self._brief.base_sha
        at_base, here = self._names(directory, base), self._names(directory, commit)
        named = [str(PurePosixPath(path)) for path in paths if _is_inside(path)]
        for path in named:
            for name in {path, *at_base.get(path, ()), *here.get(path, ())}:
                clear(directory, name)
        if present := [name for path in named for name in at_base.get(path, ())]:
            words = ["--literal-pathspecs", "checkout", "--quiet", base]
            text = "\0".join(present)
            self._git.run(directory, *words, "--pathspec-from-file=-", "--pathspec-file-nul", input_text=text)

    def _names(self, directory: Path, commit: str) -> dict[str, list[str]]:
        """What is in a commit, by its name as Overlord writes it: bytes that are no UTF-8 are written out there."""
        listed = self._git.run(directory, "ls-tree", "-r", "-t", "-z", "--name-only", commit)
        found: dict[str, list[str]] = {}
        for name in filter(None, listed.split("\0")):
            shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            found.setdefault(shown, []).append(name)
        return found


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


def lay_plan_file(directory: Path, file: PlanFile) -> None:
    """Write an artifact of the job's plan below `plan/`, through no link that is in its way. Raises ValueError or OSError."""
    pure = PurePosixPath(file.path)
    is_plan = len(pure.parts) > 1 and pure.parts[0] == "plan"
    if (
        not is_plan
        or "\0" in file.path
        or any(part == ".." or part.casefold() == ".git" for part in pure.parts)
    ):
        raise ValueError(f"The plan has a file that is not below plan/: {file.path!r}")
    clear(directory, str(pure))
    place = directory / pure
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(file.text, "utf-8", "surrogateescape")


def _is_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    return bool(pure.parts) and not pure.is_absolute() and ".." not in pure.parts and pure.parts[0] != ".git"
