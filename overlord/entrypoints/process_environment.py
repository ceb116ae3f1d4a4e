"""What this process was started with, kept from other processes of the same user.

The kernel shows a process's environment as it was at the start, in `/proc/<pid>/environ`, to every process of the same
user, and sessions of the process runner are such processes. So that memory is overwritten, after everything in it was
copied. Secrets of the settings then leave the environment altogether, so that no program we start inherits them; they
stay in `environment()`. And since they are in our memory, the kernel is told to show that to root alone.

Tried and not taken: to start the program a second time with less. It costs a start, and the secrets must be handed over
in something that can be read as well.
"""

import os
import sys
from pathlib import Path

from overlord.settings.env import SECRETS

_SET_DUMPABLE = 4
"""PR_SET_DUMPABLE of <linux/prctl.h>."""
_ENV_START, _ENV_END = 47, 48
"""Where these fields stand in /proc/self/stat, counted from the first one after the program's name."""
_withdrawn: dict[str, str] = {}


def environment() -> dict[str, str]:
    """The environment this process was started with, also what is concealed by now."""
    return {**_withdrawn, **os.environ}


def conceal_environment() -> None:
    """Keep what this process was started with and holds from others. To be called once, before there is a second thread."""
    import ctypes  # most of what this costs: not for those that only ask for the version

    shown = _shown()
    start, end = _block()
    if shown and end - start == len(shown):
        _copy_to_the_heap()
        ctypes.memset(start, 0, end - start)
    for name in SECRETS & os.environ.keys():
        _withdrawn[name] = os.environ.pop(name)
    if any(_shown()):
        print(
            "overlord: the kernel still shows this process's environment to others of its user",
            file=sys.stderr,
        )
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def _copy_to_the_heap() -> None:
    """Let the C library have copies of what it still finds in the memory that is shown."""
    for name, value in os.environb.items():
        if name:  # a line that is no variable, which the C library refuses
            os.unsetenv(name)
            os.putenv(name, value)


def _shown() -> bytes:
    """What others see; nothing where the kernel does not show environments."""
    try:
        return Path("/proc/self/environ").read_bytes()
    except OSError:
        return b""


def _block() -> tuple[int, int]:
    """Between which addresses the kernel reads it; both are 0 where it does not say."""
    try:
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[_ENV_START]), int(fields[_ENV_END])
    except (OSError, IndexError):
        return 0, 0
