"""What a step's command leaves beside its tree: read when all it started is dead, and believed if the runner sealed it."""

import hmac
import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

MOST_NAMES_BYTES = 200_000


class Results:
    """A directory for one run of a command, with a key only the guarded runner reads."""

    def __init__(self, directory: Path, *, only: Sequence[str] = ()) -> None:
        """Make it. `only` names the tests to run, if not all. Raises OSError."""
        directory.mkdir(parents=True)
        self.directory = directory
        self._key = os.urandom(32)
        (directory / "key").write_text(self._key.hex())
        if only:
            (directory / "only").write_text(json.dumps(list(only)))

    def sealed(self, exit_code: int | None, limit_bytes: int) -> tuple[bytes, tuple[str, ...]] | None:
        """The JUnit XML and the names of failed tests that the runner sealed together with this exit code."""
        junit = read(self.directory / "junit.xml", limit_bytes)
        failed = read(self.directory / "failed", MOST_NAMES_BYTES)
        seal = read(self.directory / "seal", 100)
        if junit is None or failed is None or seal is None:
            return None
        told = f"{exit_code} {sha256(junit).hexdigest()} {sha256(failed).hexdigest()}"
        if not hmac.compare_digest(hmac.new(self._key, told.encode(), "sha256").hexdigest().encode(), seal):
            return None
        return junit, tuple(json.loads(failed))


def read(file: Path, limit_bytes: int) -> bytes | None:
    """A regular file of bearable size that no link leads to, or nothing."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode) or kind.st_size > limit_bytes:
            return None
        with open(descriptor, "rb", closefd=False) as source:
            return source.read(limit_bytes)
    finally:
        os.close(descriptor)


def read_inside(tree: Path, name: str, limit_bytes: int) -> bytes | None:
    """As `read`, for a file of the tree: no link on the way to it either."""
    place = tree
    for part in PurePosixPath(name).parts[:-1]:
        place /= part
        if part == ".." or place.is_symlink():
            return None
    with suppress(ValueError):
        return read(place / PurePosixPath(name).name, limit_bytes)
    return None
