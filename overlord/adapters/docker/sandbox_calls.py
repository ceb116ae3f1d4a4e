"""System calls a session must not have, tried from inside its container. Standard library only; see `sandbox_check.py`.

Each try is made in a forked child: a call that works may change the process that made it.
"""

import ctypes
import errno
import mmap
import os
import platform
import signal
from collections.abc import Callable

X86 = platform.machine() == "x86_64"
CLONE_NEWUSER = 0x10000000
_NUMBERS = {  # on x86-64 and on arm64
    "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "kexec_load": (246, 104),
    "finit_module": (313, 273),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "swapon": (167, 224),
}


def in_child(act: Callable[[], int]) -> int:
    """What a forked child returns, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(act())
        finally:
            os._exit(255)  # also when it raised: the traceback of a child says nothing the exit code does not
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def call(number: int, *arguments: int) -> int:
    """The error number a system call gives in a child; 0 when it worked. A call that kills is as good as refused."""

    def act() -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        worked = libc.syscall(number, *(ctypes.c_long(value) for value in arguments)) != -1
        return 0 if worked else ctypes.get_errno()

    code = in_child(act)
    return errno.EPERM if code < 0 else code


def refused(name: str, *arguments: int) -> str | None:
    got = call(_NUMBERS[name][0 if X86 else 1], *(arguments or (0, 0, 0, 0, 0)))
    return None if got in {errno.EPERM, errno.ENOSYS} else f"{name}: {errno.errorcode.get(got, 'it works')}"


def all_refused(*names: str) -> str | None:
    return ", ".join(filter(None, (refused(name) for name in names))) or None


def clone_refused() -> str | None:
    """Whether a new user namespace is out of reach, by the call whose flags a filter sees and by the one it cannot."""
    if call(435, 0, 0) != errno.ENOSYS:
        return "clone3 is there, and no filter can see its flags"
    clone = call(56 if X86 else 220, CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)
    return refused("unshare", CLONE_NEWUSER) or (
        None if clone == errno.EPERM else "clone makes a user namespace"
    )


def everything_refused() -> str | None:
    return all_refused(*(set(_NUMBERS) - {"io_uring_setup", "unshare"}))


def other_bits_refused() -> str | None:
    """System calls of 32-bit and x32 programs, which a filter for one architecture would never see."""
    if not X86:
        return None
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
    entry = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    if in_child(lambda: 42 if entry() > 0 else 0) == 42:
        return "32-bit system calls work"
    return "x32 system calls work" if call(0x40000000 | 39) == 0 else None
