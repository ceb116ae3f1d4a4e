"""How an exported job is written: into a directory of its own, through no link, over no file, the manifest last.

Every directory is opened by its handle and every file made anew, so that nothing that appears meanwhile is followed. A mark
stands in the directory until all of it is there: whoever was interrupted is told by it what they have.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from overlord.domain.text.json_text import json_text
from overlord.domain.text.plain import count
from overlord.errors import Refused

MANIFEST = "manifest.json"
UNFINISHED = "unfinished.json"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Absent(TypedDict):
    """Evidence that could not be written."""

    kind: str
    session: str | None
    sha256: str
    size: int
    why: str


class Written(TypedDict):
    """A file of the export."""

    path: str
    sha256: str
    size: int


class Manifest(TypedDict):
    """What an export holds, and what it does not."""

    job: int
    files: list[Written]
    removed: list[Absent]
    """Evidence that retention removed."""
    missing: list[Absent]
    """Evidence that should be there and cannot be read."""
    redacted: list[str]
    """Files that the contract's `redact` patterns changed; a ledger among them does not hash to its own hashes any more."""


@dataclass(slots=True, kw_only=True)
class Bundle:
    """What is to be written."""

    files: dict[str, bytes] = field(default_factory=dict)
    removed: list[Absent] = field(default_factory=list)
    missing: list[Absent] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)


def check_free(place: Path) -> None:
    """Raises Refused unless there is nothing, or an empty directory."""
    try:
        found = os.lstat(place)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritable(place, error) from None
    if not stat.S_ISDIR(found.st_mode):
        raise Refused(f"{place} is no directory; name another one with --to")
    try:
        names = {item.name for item in place.iterdir()}
    except OSError as error:
        raise _unwritable(place, error) from None
    if UNFINISHED in names:
        there = sum(len(files) for _, _, files in os.walk(place))
        raise Refused(
            f"{place} has an export that was interrupted, with {count(there, 'file')}; "
            "remove it and export again, or name another directory with --to"
        )
    if MANIFEST in names:
        raise Refused(f"{place} has a whole export already; name another directory with --to")
    if names:
        raise Refused(f"{place} is not empty; name another directory with --to")


def write_files(place: Path, bundle: Bundle, *, job: int) -> Manifest:
    """Write it all; what was written. Raises Refused."""
    check_free(place)
    manifest = Manifest(
        job=job,
        files=[
            Written(path=path, sha256=sha256(content).hexdigest(), size=len(content))
            for path, content in sorted(bundle.files.items())
        ],
        removed=bundle.removed,
        missing=bundle.missing,
        redacted=sorted(bundle.redacted),
    )
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _opened(os.open(place, _DIRECTORY)) as root:
            _write(root, UNFINISHED, json_text({"job": job, "files": len(bundle.files)}).encode())
            _write_all(root, bundle.files)
            _write(root, MANIFEST, f"{json_text(manifest, indent=2)}\n".encode())
            os.unlink(UNFINISHED, dir_fd=root)
    except OSError as error:
        raise _unwritable(place, error) from None
    return manifest


def _unwritable(place: Path, error: OSError) -> Refused:
    return Refused(f"{place} cannot be written: {error.strerror}")


@contextlib.contextmanager
def _opened(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)


def _write_all(root: int, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        *directories, name = path.split("/")
        with contextlib.ExitStack() as stack:
            at = root
            for directory in directories:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(directory, 0o700, dir_fd=at)
                at = stack.enter_context(_opened(os.open(directory, _DIRECTORY, dir_fd=at)))
            _write(at, name, content)


def _write(directory: int, name: str, content: bytes) -> None:
    with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=directory), "wb") as file:
        file.write(content)
