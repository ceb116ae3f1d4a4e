"""Files below one directory that people and programs may write to at the same time: found by plain names, through no link, and each
written as a whole or not at all.

Every directory is opened by the handle of the one above it, so nothing that appears meanwhile is followed.
"""

import contextlib
import errno
import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnreadableFileError(Exception):
    """Why a file cannot be read or written, in words for people."""


class FileTree:
    """A directory, by the paths of files from its top."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def mark(self, path: str) -> str:
        """What changes whenever a file is written to, at the price of one look; empty while it is not there."""
        try:
            found = (self.root / _checked(path)).lstat()
        except OSError:
            return ""
        return f"{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_size}-{found.st_ino}"

    def read(self, path: str, *, most: int) -> bytes | None:
        """What a file holds; None where there is none. Raises UnreadableFileError for a link, what is no file, and more than `most`."""
        with _explained(path):
            try:
                with self._directory(path) as (directory, name):
                    handle = os.open(name, _READ, dir_fd=directory)
            except FileNotFoundError:
                return None
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                os.close(handle)
                raise UnreadableFileError("it is no plain file: put one in its place")
            with os.fdopen(handle, "rb") as file:
                content = file.read(most + 1)
        if len(content) > most:
            raise UnreadableFileError(f"it is larger than {most // 1024} kB: shorten it")
        return content

    def put(self, path: str, content: bytes, *, expected: str | None = None) -> None:
        """Have a file hold this. With `expected`, only while its content has this digest, or, where that is empty, while there is none.

        Raises UnreadableFileError where a link is in the way, it holds something else, or it cannot be written.
        """
        with _explained(path), self._directory(path, make=True) as (directory, name):
            _check_plain(directory, name)
            making = f".{name}.{secrets.token_hex(6)}.part"
            try:
                with os.fdopen(os.open(making, _NEW, 0o600, dir_fd=directory), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                if expected is not None and self._digest(directory, name) != expected:
                    raise UnreadableFileError("somebody wrote to it meanwhile: it was left as it is")
                os.rename(making, name, src_dir_fd=directory, dst_dir_fd=directory)
                os.fsync(directory)
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(making, dir_fd=directory)

    def names(self, path: str, *, most: int) -> list[str]:
        """The names in a directory, in order; none where there is no directory, or a link is in its way."""
        try:
            with self._directory(f"{path}/x") as (directory, _), os.scandir(directory) as entries:
                return sorted(entry.name for entry in itertools.islice(entries, most))
        except OSError:
            return []

    def remove(self, path: str) -> None:
        """Take a file away, if it is there. A link is left, as whoever put it there wants it."""
        with (
            _explained(path),
            contextlib.suppress(FileNotFoundError),
            self._directory(path) as (directory, name),
        ):
            _check_plain(directory, name)
            os.unlink(name, dir_fd=directory)

    @contextlib.contextmanager
    def _directory(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The directory a file is in, open, and the file's own name."""
        *folders, name = _checked(path).split("/")
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for folder in folders:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, 0o700, dir_fd=handle)
                below = os.open(folder, _DIRECTORY, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle, name
        finally:
            os.close(handle)

    @staticmethod
    def _digest(directory: int, name: str) -> str:
        try:
            with os.fdopen(os.open(name, _READ, dir_fd=directory), "rb") as file:
                return digest_of(file.read())
        except FileNotFoundError:
            return ""


def digest_of(content: bytes) -> str:
    """What tells one content from another."""
    return sha256(content).hexdigest()


def _checked(path: str) -> str:
    if any(part in {"", ".", ".."} or "\0" in part for part in path.split("/")):
        raise UnreadableFileError(f"{path!r} is no path of a file below a directory")
    return path


def _check_plain(directory: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise UnreadableFileError("a link or a directory is in its place: remove it")


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENXIO}:
            raise UnreadableFileError(f"{path} has a link or no directory in its way: remove it") from None
        raise UnreadableFileError(error.strerror or str(error)) from None
