"""What a git program may take that reads what a session sent: memory, one allocation, time of the processor.

A pack of a kilobyte can unfold to gigabytes, so the size of a push says nothing of what it costs to read. The kernel ends a
program that takes too much (its children too), and git itself refuses the single large allocation, which gives the clearer message.
Data is limited and not the address space: git maps whole packs, and an honest repository has packs of gigabytes. A
cgroup of its own would need one delegated to this program (systemd alone does that, a container seldom), and a session
has one such program of weight at a time; so there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_MIB = 1024 * 1024
_LIMIT = 'ulimit -d "$0" && ulimit -S -t "$1" && shift && exec "$@"'


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLimits:
    """The limits of one program and of each of its children."""

    memory_bytes: int
    """All it may allocate."""
    cpu_s: int
    allocation_bytes: int | None = None
    """The largest single allocation."""

    @property
    def program(self) -> tuple[str, ...]:
        """What a command line begins with to run under them: limits set from outside would come after the first children."""
        return ("sh", "-c", _LIMIT, str(self.memory_bytes // 1024), str(self.cpu_s))

    @property
    def environment(self) -> dict[str, str]:
        return {} if self.allocation_bytes is None else {"GIT_ALLOC_LIMIT": str(self.allocation_bytes)}


READING = GitLimits(memory_bytes=1024 * _MIB, cpu_s=120, allocation_bytes=256 * _MIB)
"""For taking a push in, and for all that is read of it afterwards. GitHub takes no file of more than 100 MiB, and to unfold one
git holds it twice."""
SERVING = GitLimits(memory_bytes=4096 * _MIB, cpu_s=600)
"""For a fetch: all of the base's history is among what is listed then."""
SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "core.bigFileThreshold": "32m",
        "core.deltaBaseCacheLimit": "64m",
        "pack.threads": "1",
        "pack.windowMemory": "64m",
        "pack.deltaCacheSize": "32m",
    }
)
"""With these, git stays far below the limits with honest work: larger files go through as streams, and are binary in a diff."""
