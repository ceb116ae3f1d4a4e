"""A commit of ours over a checkout's files, uncommitted and untracked ones included, brought into a mirror.

The user's repository is only read: what is new is made in a repository of our own for a moment. The same files give the same commit.
"""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.adapters.git.taking_in import borrowed, take_in
from overlord.domain.identifiers import Sha
from overlord.entrypoints.local import transfer
from overlord.entrypoints.local.checkout import Checkout, commit_of
from overlord.entrypoints.mcp.checkout import working_tree
from overlord.entrypoints.mcp.checkout.project_root import shown
from overlord.entrypoints.mcp.checkout.working_tree import Hashes, TreeFile
from overlord.errors import GitFailed, Refused

MESSAGE = b"The files of a checkout as they were when a discipline was called\n"
_WHO = b"Overlord <overlord@users.noreply.github.com>"
_BRANCH = "refs/heads/snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A copy of a checkout's files."""

    commit: Sha
    paths: frozenset[str]
    """Every file of it."""
    left_out: tuple[str, ...]
    """Files that are not in it: they look like secrets, or a filter makes what git keeps of them."""

    def has_directory(self, directory: str) -> bool:
        """Whether a directory holds a file of it."""
        return not directory or any(path.startswith(f"{directory}/") for path in self.paths)

    def check_files(self, named: Mapping[str, tuple[str, ...]], directory: str) -> None:
        """Raises Refused, with a sentence that names them, for files below the directory that are not in it."""
        for argument, paths in named.items():
            whole = {path: f"{directory}/{path}" if directory else path for path in paths}
            missing = [path for path, there in whole.items() if there not in self.paths]
            if not missing:
                continue
            hidden = [path for path in missing if whole[path] in self.left_out]
            names = ", ".join(shown(path) for path in (hidden or missing)[:5])
            more = f" and {len(missing) - 5} more" if not hidden and len(missing) > 5 else ""
            if hidden:
                raise Refused(
                    f"{argument}: {names} looks like a secret, or has a filter of git's, and git does not track it, so no worker is shown it; add it to git if it may be shown"
                )
            within = f"{directory} of the checkout" if directory else "the checkout"
            raise Refused(
                f"{argument}: there is no {names}{more} in {within}; paths are relative to project_root, and files that git ignores are not"
                " copied"
            )


async def take(own: Checkout, *, mirror: Path, state: Path, at: datetime) -> Snapshot:
    """Copy the files of a checkout into a mirror. `state` is a directory of ours for this checkout. Raises Refused."""
    try:
        head = await commit_of(own, "HEAD")
        tracked, others, filtered = await working_tree.listed(own)
        hashes = Hashes(state / "hashes.json")
        found = await asyncio.to_thread(working_tree.read, own, tracked, others, filtered, hashes)
        commit = await _committed(own, head, found.files, mirror=mirror, state=state, at=at)
    except GitFailed as error:
        raise Refused(
            f"the files of {own.place} cannot be copied ({error}); `git fsck` shows what is damaged, and a partial clone is made whole"
            " with `git fetch --refetch --no-filter`"
        ) from error
    paths = frozenset(path.decode(errors="surrogateescape") for path in found.files)
    return Snapshot(commit=commit, paths=paths, left_out=found.left_out)


async def _committed(
    own: Checkout, head: Sha, files: Mapping[bytes, TreeFile], *, mirror: Path, state: Path, at: datetime
) -> Sha:
    """Make the commit, and bring it into the mirror."""
    with tempfile.TemporaryDirectory(dir=state, prefix="making-") as made:
        scratch = Path(made)
        _make_bare(scratch)
        borrowing = borrowed(own.objects)
        parent = head
        if own.is_shallow:
            tree = await git(scratch, "rev-parse", f"{head}^{{tree}}", environment=borrowing)
            parent = await transfer.stand_in(scratch, Sha(tree.decode().strip()), head, borrowing)
        raw = await git(scratch, "cat-file", "commit", parent, environment=borrowing)
        await git(
            scratch,
            *("fast-import", "--quiet", "--done"),
            environment=borrowing,
            settings={"fastimport.unpackLimit": "1"},
            stdin=b"".join(_orders(parent, _moment(raw), files)),
        )
        commit = Sha((await git(scratch, "rev-parse", _BRANCH)).decode().strip())
        await take_in(mirror, commit, objects=(scratch / "objects", own.objects), at=at)
        return commit


def _make_bare(repository: Path) -> None:
    """What `git init --bare` makes, without a process of its own."""
    for directory in ("objects/info", "objects/pack", "refs/heads"):
        (repository / directory).mkdir(parents=True)
    (repository / "HEAD").write_text("ref: refs/heads/none\n")
    (repository / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")


def _moment(commit: bytes) -> bytes:
    """When a commit was made, as git writes it."""
    line = next(line for line in commit.split(b"\n") if line.startswith(b"committer "))
    return line.split(b" ")[-2] + b" +0000"


def _orders(parent: Sha, moment: bytes, files: Mapping[bytes, TreeFile]) -> Iterator[bytes]:
    """A commit as `git fast-import` reads it."""
    yield b"commit %b\nauthor %b %b\ncommitter %b %b\n" % (_BRANCH.encode(), _WHO, moment, _WHO, moment)
    yield b"data %d\n%b\nfrom %b\ndeleteall\n" % (len(MESSAGE), MESSAGE, parent.encode())
    for path, file in sorted(files.items()):
        if file.content is None:
            yield b"M %b %b %b\n" % (file.mode.encode(), file.object.encode(), _quoted(path))
        else:
            yield b"M %b inline %b\ndata %d\n" % (file.mode.encode(), _quoted(path), len(file.content))
            yield file.content
            yield b"\n"
    yield b"done\n"


def _quoted(path: bytes) -> bytes:
    return b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
