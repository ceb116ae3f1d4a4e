"""How asyncio learns that a child process has ended: from the kernel, as Python 3.12 and later do by themselves.

Before 3.12 it starts a thread for each child that waits for its end: dozens for a job, most of them git's.
"""

import asyncio
import os
import sys
from collections.abc import Callable

from typing_extensions import TypeVarTuple, override

Arguments = TypeVarTuple("Arguments")

if sys.version_info < (3, 12):
    UNKNOWN = 255
    """What a child is said to have ended with whose end somebody else has collected; asyncio's own word."""

    class _Watcher(asyncio.PidfdChildWatcher):
        """Python 3.11's is good for one loop alone; this one, like the later ones, for whichever is running."""

        @override
        def is_active(self) -> bool:
            return True

        @override
        def attach_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
            """It belongs to none."""

        @override
        def add_child_handler(
            self, pid: int, callback: Callable[[int, int, *Arguments], object], *args: *Arguments
        ) -> None:
            ended, loop = os.pidfd_open(pid), asyncio.get_running_loop()

            def handle_signal() -> None:
                loop.remove_reader(ended)
                os.close(ended)
                try:
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                except ChildProcessError:
                    code = UNKNOWN
                callback(pid, code, *args)

            loop.add_reader(ended, handle_signal)

        @override
        def remove_child_handler(self, pid: int) -> bool:
            return False  # asyncio itself never asks for it


def watch_children() -> None:
    """Have the kernel tell, for the whole process. Where it cannot, as in some sandboxes, nothing changes."""
    if sys.version_info < (3, 12) and _has_process_descriptors():
        asyncio.set_child_watcher(_Watcher())


def _has_process_descriptors() -> bool:
    """Whether the kernel hands out descriptors of processes."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True
