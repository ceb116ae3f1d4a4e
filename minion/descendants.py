"""Everything a command leaves running, also what left its process group: found, because orphans come to us.

Linux gives a subreaper the orphans of its descendants. The program that judges is also made unreadable to
processes of the same user, so that what it judges cannot reach into it.
"""

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
LONGEST_HUNT_S = 20.0


def adopt_orphans() -> None:
    """From here on, orphaned descendants of this process become its children."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def hide() -> None:
    """Close this process's memory and descriptors to others of the same user (ptrace, /proc, pidfd_getfd)."""
    _prctl(PR_SET_DUMPABLE, 0)


def children() -> frozenset[int]:
    """The processes whose parent this one is."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found |= {int(word) for word in (task / "children").read_text().split()}
    return frozenset(found)


def end_all_but(known: frozenset[int]) -> bool:
    """Kill every child that is not `known`, and what becomes a child by that; False when some would not end."""
    until = time.monotonic() + LONGEST_HUNT_S
    while left := children() - known:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
    return True


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
