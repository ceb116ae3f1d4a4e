"""What setup leaves in its tree beside what is tracked, kept for every later tree: compiled modules, generated code,
`node_modules`.

Left out is what any tool makes again: caches, build directories, byte code, metadata of editable installs, virtual
environments; and links that lead out of the tree, which would be no links to anything elsewhere.
"""

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from minion.setup.environment import Kind, OverlayEntry

LARGEST_COPIED = 20 * 1024 * 1024
_PACKAGES = "node_modules"
_LEFT_OUT = frozenset({
    ".git", "__pycache__", "build", ".eggs", ".tox", ".nox", ".venv", "pip-wheel-metadata", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".hypothesis", ".gradle", ".coverage",
    ".pdm-build",
})  # fmt: skip
_LOCKS = frozenset(
    {"poetry.lock", "pdm.lock", "uv.lock", "Pipfile.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"}
)
"""Not the repository's choice if it has none; and a session that adds one must not have it hidden."""
_LEFT_OUT_ENDINGS = (".egg-info", ".dist-info", ".pyc", ".pyo")
_LEFT_OUT_ANYWHERE = frozenset({"__pycache__", ".git"})
_MARKS = ("CACHEDIR.TAG", "pyvenv.cfg")
"""A directory with one of these says by itself that it is a cache, or a virtual environment."""


def keep(tree: Path, tracked: Collection[str], store: Path) -> tuple[OverlayEntry, ...]:
    """Move what is kept from `tree` to the same places in `store`. `tracked` are the names of base."""
    base = _Base(tree, tracked)
    found = [name for name in base.untracked() if base.tidy(name)]
    kept = tuple(base.described(name) for name in found)
    for name in found:
        target = store / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(tree / name, target)
    return kept


class _Base:
    """A tree, and what of it belongs to the base commit."""

    def __init__(self, tree: Path, tracked: Collection[str]) -> None:
        self._tree = tree
        self._files = frozenset(tracked)
        self._directories = frozenset(str(up) for name in tracked for up in PurePosixPath(name).parents)

    def untracked(self, directory: str = ".") -> Iterator[str]:
        """The topmost names in which nothing is tracked, without what is left out."""
        for entry in sorted(os.scandir(self._tree / directory), key=lambda entry: entry.name):
            name = str(PurePosixPath(directory, entry.name))
            if name in self._files:
                continue
            if name in self._directories and entry.is_dir(follow_symlinks=False):
                yield from self.untracked(name)
            elif not _is_left_out(Path(entry.path)) and _is_text(name):
                yield name

    def tidy(self, name: str) -> bool:
        """Remove from something untracked what is left out; whether anything is left to keep."""
        top = self._tree / name
        if not top.is_dir() or top.is_symlink():
            return self._stays(top)
        for directory, below, files in os.walk(top):
            for entry in (*below, *files):
                place = Path(directory, entry)
                if entry in _LEFT_OUT_ANYWHERE or not self._stays(place):
                    _remove(place)
            below[:] = [entry for entry in below if os.path.lexists(Path(directory, entry))]
        return any(top.iterdir())

    def described(self, name: str) -> OverlayEntry:
        """How something comes into another tree."""
        top = self._tree / name
        size, outward = 0, set[str]()
        for place in _everything(top):
            size += place.lstat().st_size
            if place.is_symlink() and self._holds(place):
                outward |= {str(up.relative_to(self._tree)) for up in place.parents if up.is_relative_to(top)}
        if not top.is_dir() or top.is_symlink() or (size <= LARGEST_COPIED and top.name != _PACKAGES):
            return OverlayEntry(path=name, kind=Kind.LINKED if size > LARGEST_COPIED else Kind.COPIED)
        if not outward and top.name != _PACKAGES:
            return OverlayEntry(path=name, kind=Kind.LINKED)
        return OverlayEntry(path=name, kind=Kind.SPREAD, spread=tuple(sorted(outward - {name})))

    def _holds(self, place: Path) -> bool:
        """Whether what a link leads to is tracked: then it must be found in every session's own tree."""
        name = os.path.relpath(os.path.realpath(place), os.path.realpath(self._tree))
        return name in self._files or name in self._directories

    def _stays(self, place: Path) -> bool:
        """Whether it is a file or directory, or a link that means the same wherever the tree is."""
        if not place.is_symlink():
            return stat.S_IFMT(place.lstat().st_mode) in {stat.S_IFREG, stat.S_IFDIR}
        inside = Path(os.path.realpath(place)).is_relative_to(os.path.realpath(self._tree))
        return inside and not place.readlink().is_absolute()


def _everything(top: Path) -> Iterator[Path]:
    yield top
    if top.is_dir() and not top.is_symlink():
        for directory, below, files in os.walk(top):
            yield from (Path(directory, entry) for entry in (*below, *files))


def _is_left_out(place: Path) -> bool:
    name = place.name
    if name in _LEFT_OUT | _LOCKS or name.endswith(_LEFT_OUT_ENDINGS):
        return True
    return not place.is_symlink() and any((place / mark).is_file() for mark in _MARKS)


def _is_text(name: str) -> bool:
    """Whether the name can be written down; the record of an environment is JSON."""
    return name.encode("utf-8", "surrogateescape") == name.encode("utf-8", "replace")


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
