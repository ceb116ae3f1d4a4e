"""What the kernel lets this process have. Descriptors are shared by everything it does, so nobody may take them all."""

import errno
import resource

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})
"""Why a program cannot be started that are true of this machine for a moment, and say nothing about the program."""
WANTED_DESCRIPTORS = 8192
"""As many as the unit in deploy/ allows. More would be inherited by programs that look at each descriptor they could have."""


def raise_descriptor_limit(wanted: int = WANTED_DESCRIPTORS) -> None:
    """Let this process open `wanted` descriptors, or as many as it may have; many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def descriptor_limit() -> int:
    """How many descriptors this process may have open."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
