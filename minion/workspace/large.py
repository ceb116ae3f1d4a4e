"""Files whose content Git LFS keeps: a session finds the content, and a commit gets the pointer it stands for.

Git itself knows nothing of that here. Whatever a command made git look at again, what was not changed is saved as it was.
"""

import os
from collections.abc import Collection, Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from minion.errors import GitFailed
from minion.git import Git

_PLAIN = ("100644", "100755")


class Large(NamedTuple):
    """One file as it was laid out."""

    path: str
    oid: str
    size: int

    @property
    def pointer(self) -> str:
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.oid}\nsize {self.size}\n"


def read(data: bytes) -> tuple[Large, ...]:
    """What a ready copy says of them."""
    items = (item.split(b" ", 2) for item in data.split(b"\0")[:-1])
    return tuple(Large(os.fsdecode(path), oid.decode(), int(size)) for oid, size, path in items)


class Pointers:
    """The pointers of one working copy, put back into trees that are made of it."""

    def __init__(self, git: Git, root: Path, large: Collection[Large]) -> None:
        self._git = git
        self._root = root
        self._by_path = {kept.path: kept for kept in large}
        self._by_size: dict[int, list[Large]] = {}
        for kept in large:
            self._by_size.setdefault(kept.size, []).append(kept)

    def put_back(self, start: str, tree: str, index: Path, *, strict: bool) -> str:
        """`tree`, which `index` holds, with pointers where the content is one that is kept, also under another name.

        A file whose kept content was changed is as at `start`; if `strict`, that raises GitFailed.
        """
        if not self._by_path or tree == start:
            return tree
        extra = {"GIT_INDEX_FILE": str(index)}
        listed = self._git.run(self._root, "diff-tree", "-r", "-z", "--no-renames", start, tree)
        words = iter(listed.split("\0")[:-1])
        entries, changed = [], []
        for about, path in zip(words, words, strict=True):
            old_mode, mode, old, *_ = about[1:].split(" ")
            if mode not in _PLAIN:
                continue
            if (kept := self._content(path)) is not None:
                made = self._git.run(
                    self._root, "hash-object", "-w", "--stdin", input_text=kept.pointer
                ).strip()
                entries.append(f"{mode} {made}\t{path}\0")
            elif path in self._by_path:
                changed.append(path)
                entries.append(f"{old_mode} {old}\t{path}\0")
        if changed and strict:
            raise _not_stored(changed)
        if not entries:
            return tree
        self._git.run(
            self._root, "update-index", "-z", "--index-info", extra=extra, input_text="".join(entries)
        )
        return self._git.run(self._root, "write-tree", extra=extra).strip()

    def _content(self, path: str) -> Large | None:
        """The kept content a file has now."""
        place = self._root / path
        if place.is_symlink() or not place.is_file():
            return None
        alike = self._by_size.get(place.stat().st_size)
        if not alike:
            return None
        made = sha256()
        with place.open("rb") as file:
            while chunk := file.read(1 << 20):
                made.update(chunk)
        return next((kept for kept in alike if kept.oid == made.hexdigest()), None)


def _not_stored(paths: Iterable[str]) -> GitFailed:
    names = ", ".join(paths)
    return GitFailed(
        f"{names}: Git LFS keeps this content, and a changed one cannot be part of the work. Take the change back "
        f"(git checkout leaves a pointer there, which is as good), or end with task_blocked and say what is needed."
    )
