"""What a patch does to the commit it was made on, file by file: git applies it to the commit, and says how the result differs.

The words of the patch are not trusted with any path or mode: each is looked at again before a file is touched.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

from overlord.adapters.git.command import git
from overlord.adapters.git.content.reading import is_there
from overlord.adapters.git.taking_in import borrowed
from overlord.domain.identifiers import Sha
from overlord.entrypoints.mcp.checkout.project_root import shown
from overlord.entrypoints.mcp.checkout.working_tree import EXECUTABLE, PLAIN, SYMLINK
from overlord.errors import GitFailed, Refused

_NONE = "000000"
_KINDS = frozenset({_NONE, PLAIN, EXECUTABLE, SYMLINK})
_STRICT = {"core.protectHFS": "true", "core.protectNTFS": "true", "core.autocrlf": "false"}
MOST_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A path as a commit has it. A link's content is its target."""

    mode: str
    object: str

    @property
    def is_link(self) -> bool:
        return self.mode == SYMLINK


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One path that a patch touches."""

    path: bytes
    before: FileState | None
    """None where there was nothing."""
    after: FileState | None
    content: bytes = b""
    """What it holds afterwards."""

    @property
    def shown(self) -> str:
        return shown(self.path.decode(errors="replace"))


async def changes_of(patch: bytes, *, mirror: Path, base: Sha, scratch: Path) -> Sequence[FileChange]:
    """What a patch does to a commit. Raises Refused where it does not fit it, or does what no patch may."""
    if not is_there(mirror):
        raise Refused("the files it began on are not kept any more")
    with tempfile.TemporaryDirectory(dir=scratch, prefix="patching-") as made:
        place = Path(made)
        (place / "objects").mkdir()
        environment = {
            "GIT_INDEX_FILE": str(place / "index"),
            "GIT_OBJECT_DIRECTORY": str(place / "objects"),
            **borrowed(mirror / "objects"),
        }
        try:
            await git(mirror, "read-tree", base, environment=environment, bounded=True)
        except GitFailed:
            raise Refused("the files it began on are not kept any more") from None
        try:
            words = ("apply", "--cached", "--binary", "--whitespace=nowarn", "-")
            await git(mirror, *words, environment=environment, settings=_STRICT, stdin=patch, bounded=True)
            tree = (await git(mirror, "write-tree", environment=environment, bounded=True)).decode().strip()
        except GitFailed as error:
            raise Refused(f"git does not take the patch: {error}") from None
        listing = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, tree)
        output = await git(mirror, *listing, environment=environment, bounded=True)
        found = [_change(*pair) for pair in _pairs(output)]
        contents = await _contents(mirror, [c.after.object for c in found if c.after], environment)
    return [
        FileChange(
            path=change.path,
            before=change.before,
            after=change.after,
            content=contents[change.after.object] if change.after else b"",
        )
        for change in found
    ]


def _pairs(output: bytes) -> list[tuple[bytes, bytes]]:
    fields = output.split(b"\0")[:-1]
    return list(zip(fields[::2], fields[1::2], strict=True))


def _change(head: bytes, path: bytes) -> FileChange:
    before_mode, after_mode, before, after, _ = head.decode().removeprefix(":").split()
    change = FileChange(
        path=path,
        before=None if before_mode == _NONE else FileState(mode=before_mode, object=before),
        after=None if after_mode == _NONE else FileState(mode=after_mode, object=after),
    )
    if not {before_mode, after_mode} <= _KINDS:
        raise Refused(f"{change.shown} is a submodule, which no patch changes here")
    _check_path(change)
    return change


def _check_path(change: FileChange) -> None:
    """No path leaves the checkout, and none is git's own, by whatever name a file system knows it."""
    for part in change.path.split(b"/"):
        is_odd = part in {b"", b".", b".."} or (b"\\" in part and b".." in part)
        if is_odd or _is_gits(part.decode(errors="replace")):
            raise Refused(f"{change.shown} is no path that a patch may write")


def _is_gits(part: str) -> bool:
    """Whether a file system may take a name for that of git's own directory."""
    plain = "".join(char for char in part.casefold().rstrip(" .") if char.isprintable())
    return plain in {".git", "git~1"}


def check_link(change: FileChange) -> None:
    """A link may only lead to something in the checkout, also by way of other links: what comes after one of them is never `..`. Raises
    Refused."""
    if change.after is None or not change.after.is_link:
        return
    text = change.content.decode(errors="surrogateescape")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    up = len(parts) - len(list(dropwhile(lambda part: part == "..", parts)))
    leads_out = text.startswith("/") or up > change.path.count(b"/") or ".." in parts[up:]
    if not text or "\0" in text or leads_out or any(map(_is_gits, parts)):
        raise Refused(f"{change.shown} would be a link that may lead out of the checkout")


async def _contents(mirror: Path, objects: list[str], environment: dict[str, str]) -> dict[str, bytes]:
    """What blobs hold. Raises Refused where it is too much."""
    wanted = sorted(set(objects))
    if not wanted:
        return {}
    asked = "".join(f"{name}\n" for name in wanted).encode()
    words = ("cat-file", "--batch-check=%(objectsize)")
    sizes = await git(mirror, *words, environment=environment, stdin=asked, bounded=True)
    if sum(int(size) for size in sizes.split()) > MOST_BYTES:
        raise Refused(f"its files hold more than {MOST_BYTES // 1_000_000} MB")
    output = await git(mirror, "cat-file", "--batch", environment=environment, stdin=asked, bounded=True)
    found, at = {}, 0
    for name in wanted:
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        found[name] = output[end + 1 : end + 1 + size]
        at = end + size + 2
    return found
