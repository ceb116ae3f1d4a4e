"""What the walls of `overlord.service` are there to stop, tried one by one; runs inside a machine, with nothing but Python.

    python3 -I walls.py PLACE [NAME …]      writes what became of each attempt to PLACE, as JSON

An attempt is made in a process of its own. What became of it: `done`, the error's name, or the signal that ended it.
"""

import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ADDR_NO_RANDOMIZE = 0x0040000
CLONE_NEWUTS = 0x04000000
GETPID_32 = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20; int 0x80; ret
SIZE_OF_KERNEL_LOG = 10

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """Lines of the unit, an attempt they stop, and who makes it: root has all that may be taken away."""

    lines: tuple[str, ...]
    attempt: Callable[[], object]
    user: str = "root"


def call(name: str, *arguments: object) -> None:
    """A system call by libc's name for it; its error is raised."""
    if getattr(libc, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def refuse_if(is_held: bool) -> None:
    if is_held:
        raise OSError(errno.EPERM, "it held")


def write(place: str) -> None:
    Path(place).write_text("")
    Path(place).unlink()


def rewrite(place: str) -> None:
    """Write to a file what it holds."""
    said = Path(place).read_text()
    Path(place).write_text(said)


def become_root() -> None:
    told = subprocess.run(["/usr/bin/id-as-root", "-u"], check=True, capture_output=True, text=True)
    refuse_if(told.stdout.strip() != "0")


def make_setuid() -> None:
    place = Path(f"program-{os.getpid()}")
    place.write_text("")
    try:
        place.chmod(0o4755)
    finally:
        place.unlink()


def in_cgroup(name: str, most: int) -> None:
    """Whether more is allowed; done as well where this machine's hierarchy cannot tell."""
    own = Path("/proc/self/cgroup").read_text().splitlines()[-1].rpartition(":")[2]
    limit = Path(f"/sys/fs/cgroup{own}/{name}")
    said = limit.read_text().strip() if limit.exists() else "max"
    refuse_if(said != "max" and int(said) <= most)


def old_system_call() -> None:
    """A system call of the 32-bit kind, from this program."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(GETPID_32)
    place = ctypes.addressof(ctypes.c_char.from_buffer(page))
    refuse_if(ctypes.CFUNCTYPE(ctypes.c_int)(place)() != os.getpid())


def raise_limit(which: int, value: int) -> None:
    resource.setrlimit(which, (value, value))


def ask_for_real_time() -> None:
    """With a priority there is none of: the kernel says so, whoever asks, if the question gets there."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(0))
    except OSError as error:
        refuse_if(error.errno != errno.EINVAL)


def leave_memory() -> None:
    """Shared memory that outlives who made it."""
    Path(f"/dev/shm/left-{os.getuid()}").write_text("")


WALLS = {
    "CapabilityBoundingSet": Wall(lines=("CapabilityBoundingSet=",), attempt=lambda: os.chown(".", 1, 1)),
    "LimitNOFILE": Wall(
        lines=("LimitNOFILE=8192",),
        attempt=lambda: raise_limit(resource.RLIMIT_NOFILE, 9000),
        user="overlord",
    ),
    "LimitCORE": Wall(
        lines=("LimitCORE=0",), attempt=lambda: raise_limit(resource.RLIMIT_CORE, 1), user="overlord"
    ),
    "LockPersonality": Wall(
        lines=("LockPersonality=yes",), attempt=lambda: call("personality", ADDR_NO_RANDOMIZE)
    ),
    "NoNewPrivileges": Wall(lines=("NoNewPrivileges=yes",), attempt=become_root, user="overlord"),
    "PrivateDevices": Wall(lines=("PrivateDevices=yes",), attempt=lambda: open("/dev/spare").close()),
    "PrivateTmp": Wall(lines=("PrivateTmp=yes",), attempt=lambda: os.stat("/tmp/of-others")),
    "ProtectClock": Wall(
        lines=("ProtectClock=yes",), attempt=lambda: call("adjtimex", ctypes.create_string_buffer(512))
    ),
    "ProtectControlGroups": Wall(
        lines=("ProtectControlGroups=yes",),
        attempt=lambda: rewrite("/sys/fs/cgroup/system.slice/cgroup.max.depth"),
    ),
    "ProtectHome": Wall(
        lines=("ProtectHome=yes",), attempt=lambda: Path("/home/somebody/letter").read_text()
    ),
    "ProtectHostname": Wall(
        lines=("ProtectHostname=yes",), attempt=lambda: socket.sethostname(socket.gethostname())
    ),
    "ProtectKernelLogs": Wall(
        lines=("ProtectKernelLogs=yes",), attempt=lambda: call("klogctl", SIZE_OF_KERNEL_LOG, None, 0)
    ),
    "ProtectKernelModules": Wall(
        lines=("ProtectKernelModules=yes",), attempt=lambda: os.listdir("/usr/lib/modules/some")
    ),
    "ProtectKernelTunables": Wall(
        lines=("ProtectKernelTunables=yes",),
        attempt=lambda: rewrite("/proc/sys/net/ipv4/ip_unprivileged_port_start"),
    ),
    "ProtectProc": Wall(
        lines=("ProtectProc=invisible",), attempt=lambda: os.stat("/proc/1"), user="overlord"
    ),
    "ProtectSystem": Wall(lines=("ProtectSystem=strict",), attempt=lambda: write(f"/etc/by-{os.getpid()}")),
    "RestrictAddressFamilies": Wall(
        lines=("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",),
        attempt=lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    ),
    "RestrictNamespaces": Wall(
        lines=("RestrictNamespaces=yes",), attempt=lambda: call("unshare", CLONE_NEWUTS)
    ),
    "RestrictRealtime": Wall(
        lines=("RestrictRealtime=yes",),
        attempt=ask_for_real_time,
    ),
    "RestrictSUIDSGID": Wall(lines=("RestrictSUIDSGID=yes",), attempt=make_setuid),
    "SystemCallFilter": Wall(
        lines=("SystemCallFilter=@system-service", "SystemCallErrorNumber=EPERM"),
        attempt=lambda: os.chroot("/"),
    ),
    "RemoveIPC": Wall(lines=("RemoveIPC=yes",), attempt=leave_memory, user="overlord"),
    "MemoryMax": Wall(lines=("MemoryMax=2G",), attempt=lambda: in_cgroup("memory.max", 2 * 2**30)),
    "MemorySwapMax": Wall(lines=("MemorySwapMax=0",), attempt=lambda: in_cgroup("memory.swap.max", 0)),
    "TasksMax": Wall(lines=("TasksMax=512",), attempt=lambda: in_cgroup("pids.max", 512)),
}
if platform.machine() == "x86_64":
    WALLS["SystemCallArchitectures"] = Wall(
        lines=("SystemCallArchitectures=native",), attempt=old_system_call
    )


def outcome(attempt: Callable[[], object]) -> str:
    """What becomes of it, tried in a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        os.write(writing, _tried(attempt).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as said:
        word = said.read()
    status = os.waitpid(child, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else word


def _tried(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except (OSError, ValueError) as error:  # ValueError: a limit that may not be raised
        return errno.errorcode.get(getattr(error, "errno", None) or errno.EPERM, "EPERM")
    except BaseException:
        return traceback.format_exc()
    return "done"


def main(place: str, *names: str) -> None:
    os.chdir(Path(place).parent)
    found = {name: outcome(WALLS[name].attempt) for name in names or WALLS}
    Path(f"{place}.new").write_text(json.dumps(found))
    Path(f"{place}.new").rename(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
