"""A working tree as it lies there, byte for byte: every file that git tracks, and those it does not track and does not ignore.

Nothing of the user's is run or written: git is asked for two lists, and the files are read by us. Contents are hashed once and known
again by their times. What a filter makes (Git LFS, encryption) is as the index has it: a filter is a program, and what it hides is
not shown. So is what the user told git not to look at (`git update-index --skip-worktree`, `--assume-unchanged`).
"""

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path
from typing import BinaryIO

from overlord.adapters.git.command import git
from overlord.domain.text.plain import count
from overlord.entrypoints.local.checkout import QUIET, Checkout
from overlord.entrypoints.mcp.checkout.project_root import shown
from overlord.entrypoints.mcp.checkout.secret_files import has_secret_name, holds_secret
from overlord.errors import GitFailed, Refused

MOST_UNTRACKED = 2_000
MOST_NEW_BYTES = 200_000_000
"""Of what is in no object of git's, together."""
MOST_LISTED_BYTES = 64_000_000
GITLINK, SYMLINK, EXECUTABLE, PLAIN = "160000", "120000", "100755", "100644"
RACY_NS = 2_000_000_000
"""A file that was changed so shortly before it was read may be changed again within the same tick of its clock."""
Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFile:
    """One path of the copy: an object that git has, or a content that it has not."""

    mode: str
    object: str = ""
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingTree:
    """What was found."""

    files: Mapping[bytes, TreeFile]
    left_out: tuple[str, ...] = ()
    """What is not tracked and not shown: it looks like a secret, has a filter, or is a repository of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tracked:
    mode: str
    object: str
    is_as_committed: bool
    """Git does not look at the file: it is left out of a sparse checkout, or the user said so."""


@dataclass(slots=True)
class Hashes:
    """The contents that were hashed before, by path, with the times the file had then. A file of ours; a damaged one counts for nothing."""

    file: Path
    known: dict[str, tuple[Stamp, str]] = field(default_factory=dict)
    seen: dict[str, tuple[Stamp, str]] = field(default_factory=dict)

    def load(self) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            read = json.loads(self.file.read_text(encoding="ascii"))
            self.known = {name: (tuple(stamp), oid) for name, (stamp, oid) in read.items()}

    def save(self) -> None:
        if self.seen != self.known:
            new = self.file.with_suffix(".new")
            new.write_text(json.dumps(self.seen), encoding="ascii")
            new.replace(self.file)

    def get(self, path: str, stamp: Stamp) -> str:
        """The object of a file that has not changed since; empty where that is not known."""
        found = self.known.get(path)
        if found is None or found[0] != stamp:
            return ""
        self.seen[path] = found
        return found[1]

    def put(self, path: str, stamp: Stamp, oid: str) -> None:
        if time.time_ns() - max(stamp[0], stamp[1]) > RACY_NS:
            self.seen[path] = (stamp, oid)


async def listed(own: Checkout) -> tuple[dict[bytes, _Tracked], list[bytes], frozenset[bytes]]:
    """What git tracks, what it does not track and does not ignore, and of which of both a filter makes what git keeps."""
    assert own.root is not None, "a server's checkout has files"
    excludes = await _users_file(own, "core.excludesFile", "ignore")
    settings = {**QUIET, **excludes}
    where = {"GIT_WORK_TREE": str(own.root)}
    tracked_words = ("--no-optional-locks", "ls-files", "-z", "-v", "--stage")
    output = await git(own.git_dir, *tracked_words, settings=settings, environment=where, directory=own.root)
    tracked: dict[bytes, _Tracked] = {}
    for line in output.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        tag, mode, oid, stage = head.decode().split()
        if stage == "0" or path not in tracked:  # a conflict has one entry for each side
            is_as_committed = tag.islower() or tag == "S"
            tracked[path] = _Tracked(mode=mode, object=oid, is_as_committed=is_as_committed)
    others_words = ("--no-optional-locks", "ls-files", "-z", "--others", "--exclude-standard")
    others = await git(
        own.git_dir,
        *others_words,
        settings=settings,
        environment=where,
        directory=own.root,
        limit_bytes=MOST_LISTED_BYTES,
    )
    found = others.split(b"\0")[:-1]
    return tracked, found, await _filtered(own, (*tracked, *found))


async def _users_file(own: Checkout, key: str, usual: str) -> dict[str, str]:
    """The setting for a file that this user has for every repository; git does not read their configuration here."""
    home = os.environ.get("HOME", "")
    asked = {name: os.environ[name] for name in ("XDG_CONFIG_HOME",) if name in os.environ} | {"HOME": home}
    file = ""
    with contextlib.suppress(GitFailed):
        words = ("config", "--global", "--type=path", "--get", key)
        asked["GIT_CONFIG_GLOBAL"] = str(Path(home) / ".gitconfig")
        file = (await git(own.git_dir, *words, environment=asked)).decode(errors="surrogateescape").strip()
    standard = Path(os.environ.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "git" / usual
    if not file and home and standard.is_file():
        file = str(standard)
    return {key: file} if file else {}


async def _filtered(own: Checkout, paths: Sequence[bytes]) -> frozenset[bytes]:
    """Paths whose content in git is made by a filter."""
    words = ("check-attr", "-z", "--stdin", "filter")
    output = await git(
        own.git_dir,
        *words,
        settings={**QUIET, **await _users_file(own, "core.attributesFile", "attributes")},
        environment={"GIT_WORK_TREE": str(own.root)},
        directory=own.root,
        stdin=b"".join(path + b"\0" for path in paths),
        has_attributes=True,
    )
    fields = output.split(b"\0")[:-1]
    answers = zip(fields[::3], fields[2::3], strict=True)
    return frozenset(path for path, value in answers if value not in {b"unspecified", b"unset"})


def read(
    own: Checkout,
    tracked: Mapping[bytes, _Tracked],
    others: list[bytes],
    filtered: frozenset[bytes],
    hashes: Hashes,
) -> WorkingTree:
    """Every file with its content or its object. Raises Refused where there is too much, or something cannot be read."""
    assert own.root is not None, "a server's checkout has files"
    hashes.load()
    reader = _Reader(root=own.root, hashes=hashes, bytes_left=MOST_NEW_BYTES)
    files: dict[bytes, TreeFile] = {}
    for path, entry in tracked.items():
        if entry.mode == GITLINK or path in filtered or entry.is_as_committed:
            files[path] = TreeFile(mode=entry.mode, object=entry.object)
        elif (found := reader.file(path, entry.object)) is not None:
            files[path] = found
    left_out = list(_take_others(reader, others, filtered, files))
    hashes.save()
    return WorkingTree(files=files, left_out=tuple(left_out))


def _take_others(
    reader: "_Reader", others: list[bytes], filtered: frozenset[bytes], files: dict[bytes, TreeFile]
) -> Iterator[str]:
    """Add what is not tracked; what is left out of it."""
    taken = 0
    for path in others:
        name = path.decode(errors="surrogateescape")
        if path.endswith(b"/") or path in filtered or has_secret_name(name):
            yield name
            continue
        found = reader.file(path, "")
        if found is None:
            continue
        if found.content is not None and holds_secret(found.content):
            reader.bytes_left += len(found.content)
            yield name
            continue
        taken += 1
        if taken > MOST_UNTRACKED:
            raise Refused(
                f"{count(len(others), 'file')} are not tracked by git, and at most {MOST_UNTRACKED:,} of them are copied for a worker; many are"
                f" in {_largest(others)}: commit them, or name them in .gitignore"
            )
        files[path] = found


def _largest(paths: list[bytes]) -> str:
    """The directory that most of these are in."""
    counts: dict[bytes, int] = {}
    for path in paths:
        top = path.partition(b"/")[0] if b"/" in path else b"."
        counts[top] = counts.get(top, 0) + 1
    return shown(max(counts, key=lambda name: counts[name]).decode(errors="replace"))


@dataclass(slots=True, kw_only=True)
class _Reader:
    root: Path
    hashes: Hashes
    bytes_left: int
    _links: dict[bytes, bool] = field(default_factory=dict)

    def file(self, path: bytes, oid: str) -> TreeFile | None:
        """A path as it lies there; None where no file or link is. `oid` is the object that git has for it, empty for none."""
        if self._is_below_link(path):
            return None
        place = self.root / os.fsdecode(path)
        try:
            found = place.lstat()
            if stat.S_ISLNK(found.st_mode):
                content = os.fsencode(os.readlink(place))  # noqa: PTH115 - a Path would write it another way
                return self._as_file(SYMLINK, content, oid)
            if not stat.S_ISREG(found.st_mode):
                return None
            mode = EXECUTABLE if found.st_mode & stat.S_IXUSR else PLAIN
            return self._regular(path, place, mode, found, oid)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            name = shown(path.decode(errors="replace"))
            raise Refused(
                f"{name} cannot be read: {error.strerror}; a worker is shown all that git tracks"
            ) from None

    def _regular(self, path: bytes, place: Path, mode: str, found: os.stat_result, oid: str) -> TreeFile:
        name = path.decode(errors="surrogateescape")
        stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        if oid and self.hashes.get(name, stamp) == oid:
            return TreeFile(mode=mode, object=oid)
        descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if oid and _hashed(file, found.st_size) == oid:
                self.hashes.put(name, stamp, oid)
                return TreeFile(mode=mode, object=oid)
            file.seek(0)
            self._check_room(found.st_size)
            return self._as_file(mode, file.read(self.bytes_left + 1), "")

    def _as_file(self, mode: str, content: bytes, oid: str) -> TreeFile:
        if oid and blob_id(content) == oid:
            return TreeFile(mode=mode, object=oid)
        self._check_room(len(content))
        self.bytes_left -= len(content)
        return TreeFile(mode=mode, content=content)

    def _check_room(self, size: int) -> None:
        if size > self.bytes_left:
            raise Refused(
                f"the files that are not in git as they are hold more than {MOST_NEW_BYTES // 1_000_000} MB, which is the most that is copied for a"
                " worker; commit large ones, or name them in .gitignore"
            )

    def _is_below_link(self, path: bytes) -> bool:
        """Whether a directory on the way is a link: what is there is no file of this repository's."""
        parent = path.rpartition(b"/")[0]
        if not parent:
            return False
        if parent not in self._links:
            place = self.root / os.fsdecode(parent)
            self._links[parent] = self._is_below_link(parent) or place.is_symlink()
        return self._links[parent]


def _hashed(file: BinaryIO, size: int) -> str:
    """The name that git has for a file's content."""
    digest = sha1(b"blob %d\0" % size, usedforsecurity=False)
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def blob_id(content: bytes) -> str:
    """The same of a content at hand."""
    return sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
