"""Commits and trees of our own making, without a working copy."""

import os
import tempfile
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

from overlord.adapters.git.command import LASTING, git
from overlord.adapters.git.content.diff import shown
from overlord.domain.identifiers import Sha

_COMMITTER = {"NAME": "Overlord", "EMAIL": "overlord@users.noreply.github.com"}


async def commit_tree(
    repository: Path, tree: Sha, parent: Sha, message: str, at: datetime, *more: Sha
) -> Sha:
    """One commit under our name; `more` are further parents. Same arguments, same SHA."""
    parents = (argument for commit in (parent, *more) for argument in ("-p", commit))
    arguments = ("commit-tree", tree, *parents, "-F", "-")
    output = await git(
        repository,
        *arguments,
        environment=_identity(at),
        stdin=message.encode(),
        settings=LASTING,
        bounded=True,
    )
    return Sha(output.decode().strip())


async def tree_without(
    repository: Path, commit: Sha, *, base: Sha, paths: Collection[str], scratch: Path
) -> Sha:
    """The tree of `commit` with `paths` as they are at `base`; `scratch` is where an index may lie for a moment."""
    arguments = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", base, commit)
    names = (await git(repository, *arguments, bounded=True)).split(b"\0")[:-1]
    # What is no UTF-8 was judged by how it is shown, so it is found by that.
    entries = b"".join([await _entry(repository, base, name) for name in names if shown(name) in paths])
    return await _written(repository, commit, entries, scratch)


async def tree_with(
    repository: Path, commit: Sha, files: Mapping[str, bytes | None], *, scratch: Path
) -> Sha:
    """The tree of `commit` with these plain files; None for one that goes."""
    entries = b""
    for path, content in sorted(files.items()):
        if content is None:
            entries += b"0 %b\t%b\0" % (b"0" * 40, os.fsencode(path))
            continue
        blob = await git(
            repository, "hash-object", "-w", "--stdin", stdin=content, settings=LASTING, bounded=True
        )
        entries += b"100644 %b\t%b\0" % (blob.strip(), os.fsencode(path))
    return await _written(repository, commit, entries, scratch)


async def _written(repository: Path, commit: Sha, entries: bytes, scratch: Path) -> Sha:
    """The tree of `commit` with index lines over it."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        index = {"GIT_INDEX_FILE": str(Path(directory) / "index")}
        await git(repository, "read-tree", commit, environment=index, bounded=True)
        await git(
            repository, "update-index", "-z", "--index-info", environment=index, stdin=entries, bounded=True
        )
        tree = await git(repository, "write-tree", environment=index, settings=LASTING, bounded=True)
    return Sha(tree.decode().strip())


async def merge_tree(repository: Path, head: Sha, other: Sha) -> tuple[Sha, tuple[str, ...]]:
    """The tree of a merge, and the paths in conflict, whose files hold both sides between marks."""
    arguments = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", head, other)
    output = await git(repository, *arguments, fine=(0, 1), settings=LASTING, bounded=True)
    tree, *paths = output.split(b"\0")
    return Sha(tree.decode()), tuple(dict.fromkeys(shown(path) for path in paths if path))


async def _entry(repository: Path, commit: Sha, name: bytes) -> bytes:
    """The index line that puts a path back as it is at `commit`, or takes it away when it is not there."""
    asked = ("--literal-pathspecs", "ls-tree", "-z", commit, "--", os.fsdecode(name))
    return await git(repository, *asked, bounded=True) or b"0 %b\t%b\0" % (b"0" * 40, name)


def _identity(at: datetime) -> dict[str, str]:
    stamp = f"{int(at.timestamp())} +0000"
    people = {
        f"GIT_{who}_{field}": value for who in ("AUTHOR", "COMMITTER") for field, value in _COMMITTER.items()
    }
    return {**people, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
