"""Checkouts as callers have them, with real git, and a home for what is known of them."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from overlord.domain.identifiers import Sha
from overlord.entrypoints.mcp.checkout import applying, patching, snapshot
from overlord.entrypoints.mcp.checkout.patching import FileChange
from overlord.entrypoints.mcp.checkout.project_root import checkout_at
from overlord.entrypoints.mcp.checkout.snapshot import Snapshot
from tests.local import USER, git

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
Content = str | bytes | None


def raw_git(directory: Path, *arguments: str, index: Path | None = None, stdin: bytes = b"") -> bytes:
    """Git's own bytes: names and contents that are no text."""
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environment |= USER
    if index is not None:
        environment["GIT_INDEX_FILE"] = str(index)
    command = ["git", "-C", str(directory), *arguments]
    done = subprocess.run(command, capture_output=True, env=environment, input=stdin, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(root: Path, files: Mapping[str, Content]) -> None:
    """Make files as they are named; None for one that goes."""
    for name, content in files.items():
        place = root / name
        if content is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def contents(root: Path) -> dict[str, tuple[str, bytes]]:
    """Every file below a directory but git's own: its kind, and what it holds."""
    found = {}
    for directory, names, files in os.walk(root):
        if ".git" in names:
            names.remove(".git")
        for name in [*files, *(name for name in names if Path(directory, name).is_symlink())]:
            place = Path(directory, name)
            path = str(place.relative_to(root))
            if place.is_symlink():
                found[path] = ("link", os.fsencode(os.readlink(place)))
            else:
                kind = "program" if place.stat().st_mode & 0o100 else "file"
                found[path] = (kind, place.read_bytes())
    return found


def git_dir_of(root: Path) -> dict[str, tuple[str, bytes]]:
    """Every file of git's own."""
    return contents(root / ".git")


@contextlib.contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """As on a disk that is nearly full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A checkout, and the home that its copies go to."""

    root: Path
    home: Path

    @property
    def mirror(self) -> Path:
        return self.home / "mirrors" / "local" / "calc.git"

    @property
    def state(self) -> Path:
        return self.home / "checkouts" / "one"

    async def snapshot(self, at: datetime = NOON) -> Snapshot:
        self.state.mkdir(parents=True, exist_ok=True)
        return await snapshot.take(checkout_at(self.root), mirror=self.mirror, state=self.state, at=at)

    def files_of(self, commit: str) -> dict[str, tuple[str, bytes]]:
        """What a commit of the mirror holds."""
        found = {}
        kinds = {"100644": "file", "100755": "program", "120000": "link", "160000": "submodule"}
        for line in raw_git(self.mirror, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode().split()
            blob = b"" if mode == "160000" else raw_git(self.mirror, "cat-file", "blob", oid)
            found[os.fsdecode(path)] = (kinds[mode], blob)
        return found

    def patch(self, base: str, files: Mapping[str, Content], worked: Path) -> bytes:
        """What a session's change of a commit is as a patch: made in a copy of it."""
        raw_git(worked.parent, "clone", "--quiet", "--no-checkout", str(self.mirror), str(worked))
        raw_git(worked, "fetch", "--quiet", str(self.mirror), base)
        raw_git(worked, "checkout", "--quiet", "--force", base)
        write(worked, files)
        return self.patch_of(worked, base)

    def patch_of(self, worked: Path, base: str) -> bytes:
        raw_git(worked, "add", "--all", "--force")
        return raw_git(worked, "diff", "--cached", "--binary", "--full-index", base)

    async def changes(self, patch: bytes, base: Sha) -> Sequence[FileChange]:
        return await patching.changes_of(patch, mirror=self.mirror, base=base, scratch=self.state)

    async def apply(self, patch: bytes, base: Sha, *, resumes: bool = False) -> None:
        applying.apply(self.root, await self.changes(patch, base), resumes=resumes)


__all__ = [
    "NOON",
    "Content",
    "Kept",
    "contents",
    "git",
    "git_dir_of",
    "no_file_larger_than",
    "raw_git",
    "write",
]
