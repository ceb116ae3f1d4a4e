"""What a step's command leaves beside its tree, read when all it started is dead; and what the guarded pytest tells.

The report is written here, from outcomes that come while tests run: the process that runs them holds neither a report
nor a key.
"""

import json
import os
import socket
import stat
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from minion.checks.guarded_run import MOST_LINE_BYTES, GuardedRun, RunOutcome
from minion.checks.packed import MOST_BYTES, Packer, TooLarge

_LONGEST_WAIT_S = 20.0


class Results:
    """A directory for one run of a command, and a socket that becomes the guarded runner's standard input."""

    def __init__(self, directory: Path, *, only: Sequence[str] = (), watched: Sequence[str] = ()) -> None:
        """Make it. `only` names the tests to run, if not all; `watched` the lines they are told to touch. Raises OSError."""
        directory.mkdir(parents=True)
        self.directory = directory
        if only:
            (directory / "only").write_text(json.dumps(list(only)))
        if watched:
            (directory / "watched").write_text(json.dumps(list(watched)))
        self._near, self.far = socket.socketpair()
        self._run = GuardedRun()
        self._listener = threading.Thread(target=self._listen, name="results", daemon=True)
        self._listener.start()

    def close(self) -> None:
        """Let go of both ends, whoever still holds one."""
        self.far.close()
        with suppress(OSError):
            self._near.shutdown(socket.SHUT_RDWR)
        self._listener.join()
        self._near.close()

    def outcome(self, exit_code: int, limit_bytes: int) -> RunOutcome:
        """What was told by a run that ended with this exit code; to be asked when its processes are dead."""
        self.far.close()
        self._listener.join(_LONGEST_WAIT_S)
        if self._listener.is_alive():
            return RunOutcome(doubt="somebody still holds its end")
        return self._run.outcome(exit_code, limit_bytes)

    def _listen(self) -> None:
        """Take all that comes, so that the runner never waits for long."""
        rest = b""
        with suppress(OSError):
            while data := self._near.recv(65536):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if answer := self._run.take(line):
                        self._near.sendall(answer)
                if len(rest) > MOST_LINE_BYTES:
                    self._run.take(rest)
                    rest = b""
        if rest:
            self._run.take(rest)


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


def packed_inside(tree: Path, name: str, limit_bytes: int) -> tuple[str | None, str]:
    """The report in a file of the tree, packed where it is large, or nothing and why. No link leads to it."""
    place = tree
    for part in PurePosixPath(name).parts[:-1]:
        place /= part
        if part == ".." or place.is_symlink():
            return None, f"{name} was not written"
    try:
        descriptor = os.open(
            place / PurePosixPath(name).name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except (OSError, ValueError):
        return None, f"{name} was not written"
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None, f"{name} is no file"
    packer = Packer()
    with os.fdopen(descriptor, "rb") as source:
        try:
            while piece := source.read(1 << 20):
                packer.take(piece)
        except TooLarge:
            return None, f"{name} is too large: more than {MOST_BYTES >> 20} MiB"
        except OSError as error:
            return None, f"{name} cannot be read: {error.strerror}"
    text = packer.text()
    if len(text) > limit_bytes:
        return (
            None,
            f"{name} is too large: {packer.size:,} bytes, {len(text):,} of them packed; {limit_bytes:,} are taken",
        )
    return text, ""
