"""A ready copy of the base commit, made by Overlord and only read here: a session that has one clones nothing.

It holds the commit's history as a bare repository, its files as one stream in the order of its index, and what git may take
for changed. Laying it out writes every file once and the index with what each file then is, so git looks at none of them again.
"""

import mmap
import os
import shutil
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minion.errors import BadStart

if TYPE_CHECKING:
    from minion.workspace.large import Large

# The names `overlord/adapters/git/ready.py` gives them.
REPOSITORY, INDEX, CONTENT, DOUBTFUL, ATTRIBUTES = "repo.git", "index", "content", "doubtful", "attributes"
TREE, MODULES, PATH, LARGE = "tree", "modules", "path", "large"

_GITLINK, _SYMLINK = 0o160000, 0o120000
_HEADER = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")
"""Of an index entry: changed and modified (s, ns), device, inode, mode, user, group, size."""
_MODE, _SIZE, _NAME_AT = 6, 9, 62
_HASH_BYTES = 20
LOOK_AGAIN_S = 0.05
_32_BITS = 0xFFFFFFFF


class ReadyCopy:
    """The copy at one place."""

    def __init__(self, place: Path) -> None:
        self._place = place

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], base: str) -> "ReadyCopy | None":
        """The copy a session was started with, if it is one of this base commit."""
        if not (place := environment.get("MINION_READY")):
            return None
        copy = cls(Path(place))
        if "MINION_READY_WAIT_S" in environment:
            copy._await(environment)
        return copy if copy.base() == base and (copy._place / CONTENT).is_file() else None

    def _await(self, environment: Mapping[str, str]) -> None:
        """Wait until the copy is on this machine, where it is fetched beside this session. Raises BadStart where the session cannot do
        without it and it does not come."""
        wait_s = float(environment["MINION_READY_WAIT_S"])
        until = time.monotonic() + wait_s
        while not self._place.is_dir():
            if time.monotonic() >= until:
                if environment.get("MINION_READY_NEEDED"):
                    raise BadStart(
                        f"the copy of the repository did not come to this machine within {wait_s:g} s"
                    )
                return
            time.sleep(LOOK_AGAIN_S)

    def base(self) -> str:
        """The commit it is a copy of; empty when there is none."""
        try:
            return (self._place / REPOSITORY / "HEAD").read_text().strip()
        except OSError:
            return ""

    @property
    def tree(self) -> str:
        """The tree of its commit."""
        return (self._place / TREE).read_text().strip()

    @property
    def attributes(self) -> str:
        """What git must be told of files before it sees them; nothing for most repositories."""
        file = self._place / ATTRIBUTES
        return file.read_text() if file.exists() else ""

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Files git may take for changed though nobody touched them, because attributes convert what they hold."""
        names = (self._place / DOUBTFUL).read_bytes().split(b"\0")[:-1]
        return tuple(os.fsdecode(name) for name in names)

    def lend_history(self, repository: Path) -> None:
        """Let a bare repository read the commits there are here."""
        history = self._place / REPOSITORY
        (repository / "objects" / "info").mkdir(parents=True, exist_ok=True)
        (repository / "objects" / "info" / "alternates").write_text(f"{history / 'objects'}\n")
        if (history / "shallow").exists():
            shutil.copyfile(history / "shallow", repository / "shallow")

    def lay_out(self, root: Path, *, head: str, config: str, references: Mapping[str, str]) -> None:
        """Make `root` a working copy of the base commit. `head` is what HEAD says; `references` are commits by name.

        Raises OSError or ValueError and leaves a part of it when it cannot.
        """
        root.mkdir(parents=True)
        index = bytearray((self._place / INDEX).read_bytes())
        # Older than any edit to come: what is changed within the same second is seen to be newer.
        stamp = int((self._place / INDEX).stat().st_mtime) - 2
        with _opened(self._place / CONTENT) as content:
            _Tree(root, index, content, stamp).write()
        for module in self._modules():
            top = root / os.fsdecode((module / PATH).read_bytes())
            with _opened(module / CONTENT) as content:
                _Tree(top, bytearray((module / INDEX).read_bytes()), content, stamp).write()
        self._repository(root / ".git", head, config, references)
        (root / ".git" / "index").write_bytes(_sealed(index))

    @property
    def large(self) -> "tuple[Large, ...]":
        """The files it has the content of in the place of a pointer of Git LFS."""
        if not (file := self._place / LARGE).exists():
            return ()
        from minion.workspace.large import read  # most sessions have none

        return read(file.read_bytes())

    @property
    def modules(self) -> tuple[str, ...]:
        """The submodules whose files it holds."""
        return tuple(os.fsdecode((module / PATH).read_bytes()) for module in self._modules())

    def _modules(self) -> list[Path]:
        """Those that hold others come first: the directory of one is made by what holds it."""
        place = self._place / MODULES
        return sorted(place.iterdir(), key=lambda part: int(part.name)) if place.is_dir() else []

    def _repository(self, git: Path, head: str, config: str, references: Mapping[str, str]) -> None:
        """Written by hand: a few small files, where each git command would be another program to start."""
        for part in ("objects/pack", "refs/heads", "info"):
            (git / part).mkdir(parents=True)
        self.lend_history(git)
        lines = [f"{commit} {name}\n" for name, commit in sorted(references.items())]
        (git / "packed-refs").write_text("# pack-refs with: fully-peeled sorted \n" + "".join(lines))
        (git / "config").write_text(config)
        (git / "HEAD").write_text(f"{head}\n")


@contextmanager
def _opened(file: Path) -> Iterator[memoryview]:
    if not file.stat().st_size:
        yield memoryview(b"")
        return
    with (
        file.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as data,
        memoryview(data) as view,
    ):
        yield view


class _Entry(NamedTuple):
    position: int
    name: bytes
    mode: int
    size: int


class _Tree:
    """Files written in the order of an index, which learns what became of each."""

    def __init__(self, root: Path, index: bytearray, content: memoryview, stamp: int) -> None:
        self._top = os.open(root, os.O_RDONLY)
        self._index = index
        self._content = content
        self._stamp = stamp
        self._made = {b""}

    def write(self) -> None:
        """Write every file. Directories are of our own making, so nothing is ever written through a link."""
        offset, directory, opened = 0, b"", os.dup(self._top)
        try:
            for entry in _entries(self._index):
                parent, _, name = entry.name.rpartition(b"/")
                if parent != directory:
                    self._make(parent)
                    os.close(opened)
                    opened, directory = os.open(parent or b".", os.O_RDONLY, dir_fd=self._top), parent
                if entry.mode == _GITLINK:
                    os.mkdir(name, dir_fd=opened)
                    continue
                part = self._content[offset : offset + entry.size]
                offset += entry.size
                self._note(entry, self._write_one(entry, name, part, opened))
            if offset != len(self._content):
                raise ValueError("the ready copy's content is not what its index says")
        finally:
            os.close(opened)
            os.close(self._top)

    def _make(self, directory: bytes) -> None:
        if directory in self._made:
            return
        self._make(directory.rpartition(b"/")[0])
        os.mkdir(directory, dir_fd=self._top)
        self._made.add(directory)

    def _write_one(self, entry: _Entry, name: bytes, part: memoryview, directory: int) -> os.stat_result:
        stamp = (self._stamp * 1_000_000_000,) * 2
        if entry.mode == _SYMLINK:
            os.symlink(bytes(part), name, dir_fd=directory)
            os.utime(name, ns=stamp, dir_fd=directory, follow_symlinks=False)
            return os.stat(name, dir_fd=directory, follow_symlinks=False)
        mode = 0o777 if entry.mode & 0o100 else 0o666
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=directory)
        try:
            while part:
                part = part[os.write(file, part) :]
            os.utime(file, ns=stamp)
            return os.fstat(file)
        finally:
            os.close(file)

    def _note(self, entry: _Entry, seen: os.stat_result) -> None:
        seconds, nanoseconds = divmod(seen.st_ctime_ns, 1_000_000_000)
        owner = (seen.st_dev & _32_BITS, seen.st_ino & _32_BITS, entry.mode, seen.st_uid, seen.st_gid)
        _STAT.pack_into(self._index, entry.position, seconds, nanoseconds, self._stamp, 0, *owner, entry.size)


def _entries(index: bytearray) -> Iterator[_Entry]:
    """Every entry of an index of version 2, in order. Raises ValueError for another one."""
    magic, version, count = _HEADER.unpack_from(index)
    if (magic, version) != (b"DIRC", 2):
        raise ValueError("the ready copy's index is not of version 2")
    position = _HEADER.size
    for _ in range(count):
        end = index.index(0, position + _NAME_AT)
        fields = _STAT.unpack_from(index, position)
        yield _Entry(position, bytes(index[position + _NAME_AT : end]), fields[_MODE], fields[_SIZE])
        position += (end - position + 8) // 8 * 8


def _sealed(index: bytearray) -> bytearray:
    from hashlib import sha1  # a session without a ready copy does not pay for it

    index[-_HASH_BYTES:] = sha1(index[:-_HASH_BYTES], usedforsecurity=False).digest()
    return index
