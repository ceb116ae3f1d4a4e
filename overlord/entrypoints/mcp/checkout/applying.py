"""Changes written to a checkout: all or none, only where every file is as it was, and never through a link.

Each directory on the way is opened by itself and followed through no link; a file is written beside its place and renamed into it.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from overlord.entrypoints.mcp.checkout.patching import FileChange, FileState, check_link
from overlord.entrypoints.mcp.checkout.working_tree import EXECUTABLE, blob_id
from overlord.errors import Refused

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE, _EXECUTABLE_MODE = 0o666, 0o777
_NAMED = 5
_BESIDE = re.compile(rb"\.overlord-[0-9a-f]{16}")


class NotAsItWas(Refused):
    """Files of the caller are not what the work began on."""


class PartlyWritten(Refused):
    """The rest could not be written, and not all of what was written could be put back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A path as it lies there."""

    is_link: bool
    is_executable: bool
    permissions: int
    content: bytes

    def is_as(self, state: FileState) -> bool:
        if self.is_link or state.is_link:
            return self.is_link and state.is_link and blob_id(self.content) == state.object
        return self.is_executable == (state.mode == EXECUTABLE) and blob_id(self.content) == state.object


@dataclass(slots=True)
class _Done:
    """What was written so far, to be put back if the rest cannot be."""

    replaced: list[tuple[FileChange, _Found | None]] = field(default_factory=list)
    made: list[bytes] = field(default_factory=list)


def apply(root: Path, changes: Sequence[FileChange], *, resumes: bool = False) -> None:
    """Write the changes. `resumes`: it was begun before and cut off, so that a file may also be as it is to become.

    Raises NotAsItWas, with the files named, and Refused where something cannot be written; then every file is as it was. PartlyWritten
    names those that are not.
    """
    for change in changes:
        check_link(change)
    top = os.open(root, _DIRECTORY)
    try:
        for change in changes:
            _check_repository(top, change)
        if resumes:
            _clear_beside(top, changes)
        found = {change.path: _look(top, change, changes) for change in changes}
        differing = [change for change in changes if not _fits(change, found[change.path], resumes=resumes)]
        if differing:
            is_one = len(differing) == 1
            raise NotAsItWas(
                f"{named(differing)} {'is' if is_one else 'are'} not as when the call began; the patch is in the reply: look at it and apply"
                " it yourself, or call again"
            )
        _write_all(top, changes, found)
    finally:
        os.close(top)


def _check_repository(top: int, change: FileChange) -> None:
    """Raises Refused for a path in another repository that lies in the checkout."""
    parts = change.path.split(b"/")
    for end in range(1, len(parts)):
        with (
            contextlib.suppress(OSError),
            _parent(top, b"/".join([*parts[:end], b".git"])) as (directory, name),
        ):
            os.stat(name, dir_fd=directory, follow_symlinks=False)
            raise Refused(
                f"{change.shown} is in a repository of its own within the checkout, and nothing was changed"
            )


def _clear_beside(top: int, changes: Sequence[FileChange]) -> None:
    """Remove what was written beside its place and cut off before it was renamed."""
    for path in {change.path.rpartition(b"/")[0] + b"/" for change in changes}:
        with contextlib.suppress(OSError), _parent(top, path.lstrip(b"/")) as (directory, _):
            for name in os.listdir(directory):  # noqa: PTH208 - it has no path
                if _BESIDE.fullmatch(os.fsencode(name)):
                    os.unlink(name, dir_fd=directory)


def named(changes: Sequence[FileChange]) -> str:
    """The files of some changes, the first of them by name."""
    names = ", ".join(change.shown for change in changes[:_NAMED])
    return f"{names} and {len(changes) - _NAMED} more" if len(changes) > _NAMED else names


def _fits(change: FileChange, found: "_Found | None", *, resumes: bool) -> bool:
    wanted = (change.before, change.after) if resumes else (change.before,)
    return any(
        found is None if state is None else found is not None and found.is_as(state) for state in wanted
    )


def _write_all(top: int, changes: Sequence[FileChange], found: "dict[bytes, _Found | None]") -> None:
    done = _Done()
    goes_first = sorted(changes, key=lambda change: (change.after is not None, change.path))
    try:
        for change in goes_first:
            before = found[change.path]
            if _is_done(change, before):
                continue

            def check(change: FileChange = change, before: "_Found | None" = before) -> None:
                if _look(top, change, changes) != before:
                    raise NotAsItWas(
                        f"{change.shown} was changed while the patch was written; the patch is in the reply"
                    )

            check()
            done.replaced.append((change, before))
            try:
                _put(top, change, before, done, check)
            except Refused:
                done.replaced.pop()  # it is somebody else's now
                raise
    except (OSError, Refused) as error:
        if isinstance(error, Refused):
            why = str(error)
        else:
            why = f"{_path_of(done)} cannot be written: {error.strerror}"
        if left := _undo(top, done, changes):
            they = "it was" if len(left) == 1 else "they were"
            raise PartlyWritten(
                f"{why}; {named(left)} could not be put back as {they} before: look at what was written there. The patch is in the reply"
            ) from None
        if isinstance(error, Refused):
            raise
        raise Refused(f"{_path_of(done)} cannot be written: {error.strerror}; nothing was changed") from None


def _is_done(change: FileChange, found: "_Found | None") -> bool:
    return found is None if change.after is None else found is not None and found.is_as(change.after)


def _path_of(done: _Done) -> str:
    return done.replaced[-1][0].shown if done.replaced else "the checkout"


def _undo(top: int, done: _Done, changes: Sequence[FileChange]) -> list[FileChange]:
    """Put back what was there: what was written goes first, then the directories made for it. What is not as it was after that."""
    written = [item for item in reversed(done.replaced) if item[0].after is not None]
    removed = [item for item in reversed(done.replaced) if item[0].after is None]
    left = [change for change, before in written if not _is_put_back(top, change, before, changes)]
    for path in reversed(done.made):
        with contextlib.suppress(OSError), _parent(top, path) as (directory, name):
            os.rmdir(name, dir_fd=directory)
    return left + [change for change, before in removed if not _is_put_back(top, change, before, changes)]


def _is_put_back(
    top: int, change: FileChange, before: "_Found | None", changes: Sequence[FileChange]
) -> bool:
    """Make one path what it was, unless somebody else has changed it since."""
    try:
        now = _look(top, change, changes)
        if now == before:
            return True
        if (now is None) != (change.after is None) or (now is not None and now.content != change.content):
            return False
        if before is not None:
            _make_parents(top, change.path, _Done())
        with _parent(top, change.path) as (directory, name):
            if before is None:
                os.unlink(name, dir_fd=directory)
            else:
                _write(directory, name, before.content, is_link=before.is_link, mode=before.permissions)
    except (OSError, Refused):
        return False
    return True


def _put(
    top: int, change: FileChange, before: "_Found | None", done: _Done, check: Callable[[], None]
) -> None:
    """Make one path what it is to become."""
    if change.after is None:
        with _parent(top, change.path) as (directory, name):
            os.unlink(name, dir_fd=directory)
        _remove_empty(top, change.path)
        return
    _make_parents(top, change.path, done)
    with _parent(top, change.path) as (directory, name):
        _write(
            directory,
            name,
            change.content,
            is_link=change.after.is_link,
            is_executable=change.after.mode == EXECUTABLE,
            mode=_permissions(before, change.after),
            check=check,
        )


def _permissions(before: "_Found | None", after: FileState) -> int | None:
    """The file's own, with the executable bits for whoever may read; None for a new file, which the user's umask has a say in."""
    if before is None or before.is_link:
        return None
    if after.mode == EXECUTABLE:
        return before.permissions | (before.permissions & 0o444) >> 2
    return before.permissions & ~0o111


def _write(
    directory: int,
    name: bytes,
    content: bytes,
    *,
    is_link: bool,
    mode: int | None,
    is_executable: bool = False,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Write beside the place, then, if the check raises nothing, rename into it."""
    beside = b".overlord-%b" % secrets.token_hex(8).encode()
    try:
        if is_link:
            os.symlink(content, beside, dir_fd=directory)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            usual = _EXECUTABLE_MODE if is_executable else _MODE
            with os.fdopen(os.open(beside, flags, usual, dir_fd=directory), "wb") as file:
                file.write(content)
                file.flush()
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
        check()
        os.rename(beside, name, src_dir_fd=directory, dst_dir_fd=directory)
    except (OSError, Refused):
        with contextlib.suppress(OSError):
            os.unlink(beside, dir_fd=directory)
        raise


def _look(top: int, change: FileChange, changes: Sequence[FileChange]) -> "_Found | None":
    """What is at a path; None for nothing. A directory that the same changes empty is nothing. Raises NotAsItWas for all else."""
    try:
        with _parent(top, change.path) as (directory, name):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            permissions = stat.S_IMODE(found.st_mode)
            if stat.S_ISLNK(found.st_mode):
                target = os.readlink(name, dir_fd=directory)
                return _Found(is_link=True, is_executable=False, permissions=permissions, content=target)
            if stat.S_ISDIR(found.st_mode) and _is_emptied(change, changes):
                return None
            if not stat.S_ISREG(found.st_mode):
                raise NotAsItWas(f"{change.shown} is no file any more; the patch is in the reply")
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, dir_fd=directory), "rb") as file:
                content = file.read()
            is_executable = bool(permissions & stat.S_IXUSR)
            return _Found(
                is_link=False, is_executable=is_executable, permissions=permissions, content=content
            )
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        if _has_file_above(change, changes):
            return None
        raise NotAsItWas(
            f"a directory of {change.shown} is a file or a symbolic link; the patch is in the reply"
        ) from None
    except OSError as error:
        raise Refused(f"{change.shown} cannot be read: {error.strerror}; nothing was changed") from None


def _is_emptied(change: FileChange, changes: Sequence[FileChange]) -> bool:
    """Whether a file takes the place of a directory whose files the same changes remove."""
    below = change.path + b"/"
    return change.before is None and any(
        other.path.startswith(below) and other.after is None for other in changes
    )


def _has_file_above(change: FileChange, changes: Sequence[FileChange]) -> bool:
    """Whether a directory takes the place of a file that the same changes remove."""
    return change.before is None and any(
        change.path.startswith(other.path + b"/") and other.before is not None and other.after is None
        for other in changes
    )


@contextlib.contextmanager
def _parent(top: int, path: bytes) -> Iterator[tuple[int, bytes]]:
    """The directory of a path, reached through no link, and the path's last part."""
    *parts, name = path.split(b"/")
    current = os.dup(top)
    try:
        for part in parts:
            following = _directory(part, current)
            os.close(current)
            current = following
        yield current, name
    finally:
        os.close(current)


def _directory(name: bytes, parent: int) -> int:
    """A directory by its name. Raises NotADirectoryError for a link to one as well, whatever the system says of it."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
        raise


def _make_parents(top: int, path: bytes, done: _Done) -> None:
    parts = path.split(b"/")[:-1]
    for end in range(1, len(parts) + 1):
        whole = b"/".join(parts[:end])
        with _parent(top, whole) as (directory, name), contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=directory)
            done.made.append(whole)


def _remove_empty(top: int, path: bytes) -> None:
    """Remove the directories that a removed file leaves empty, as git does."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        try:
            with _parent(top, path) as (directory, name):
                os.rmdir(name, dir_fd=directory)
        except OSError:
            return
