"""Tries, from inside a session's container, to get through each wall of its profile; prints one JSON line per wall.

Its text is run in the container (see `docker_check.py`), so it uses the standard library only. `SANDBOX_EXPECT`
(JSON) says what the walls should be and which to try. A wall that could not be tried counts as open.
"""

import errno
import json
import os
import re
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from overlord.adapters.docker.sandbox_calls import (
    all_refused,
    clone_refused,
    everything_refused,
    in_child,
    other_bits_refused,
    refused,
)
from overlord.adapters.docker.sandbox_limits import TMP, Expect, disk, limits, memory, processes, tmp_programs

WRITABLE = {str(TMP), "/work", "/proc", "/dev", "/dev/pts", "/dev/mqueue", "/dev/shm"}  # noqa: S108
DEVICES = {*("console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm")}
DEVICES |= {*("stderr", "stdin", "stdout", "tty", "urandom", "zero")}
ROOMS = ("/", "/usr", "/etc", "/opt", "/var/tmp", "/run", "/home", "/dev")  # noqa: S108
FAMILIES = {"vsock": 40, "packet": 17, "crypto": 38, "bluetooth": 31, "xdp": 44}


def status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def user(expect: Expect) -> str | None:
    mine = f"{os.getuid()}:{os.getgid()}"
    return None if mine == expect["user"] and set(os.getgroups()) <= {os.getgid()} else f"it runs as {mine}"


def capabilities(_: Expect) -> str | None:
    lines = [name for name, value in status().items() if name.startswith("Cap") and int(value, 16)]
    return f"not empty: {', '.join(lines)}" if lines else None


def new_privileges(_: Expect) -> str | None:
    return None if status()["NoNewPrivs"] == "1" else "a setuid program would get them"


def network(_: Expect) -> str | None:
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        return f"interfaces: {', '.join(names)}"
    with socket.socket() as link:
        link.settimeout(2)
        metadata = link.connect_ex(("169.254.169.254", 80))
    return None if metadata == errno.ENETUNREACH else "there is a way to the cloud's metadata"


def host_services(expect: Expect) -> str | None:
    for address, port in expect["services"]:
        with socket.socket() as link:
            link.settimeout(2)
            if link.connect_ex((address, port)) == 0:
                return f"{address}:{port} answers"
    return None


def names(_: Expect) -> str | None:
    servers = re.findall(r"^nameserver\s+(\S+)", Path("/etc/resolv.conf").read_text(), re.M)
    for server in servers:
        with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as link:
            if link.connect_ex((server, 53)) == 0 and not server.startswith("127."):
                return f"the name server {server} can be reached"
    return None


def sockets(_: Expect) -> str | None:
    opened = []
    for name, family in FAMILIES.items():
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
            with suppress(OSError):
                socket.socket(family, kind).close()
                opened.append(name)
    return f"can be opened: {', '.join(sorted(set(opened)))}" if opened else None


def io_uring(_: Expect) -> str | None:
    return refused("io_uring_setup", 1, 0)


def namespaces_new(_: Expect) -> str | None:
    return clone_refused()


def tracing(_: Expect) -> str | None:
    return all_refused("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd")


def keyring(_: Expect) -> str | None:
    return all_refused("keyctl", "add_key")


def kernel(_: Expect) -> str | None:
    return everything_refused()


def other_bits(_: Expect) -> str | None:
    return other_bits_refused()


def root_files(_: Expect) -> str | None:
    for room in ROOMS:
        with suppress(OSError):
            (Path(room) / ".sandbox-check").write_text("x")
            return f"{room} can be written"
    return None if os.statvfs("/").f_flag & os.ST_RDONLY else "the root is not mounted read-only"


def mounts(_: Expect) -> str | None:
    fields = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    writable = {field[4] for field in fields if "rw" in field[5].split(",")} - WRITABLE
    open_ones = [place for place in sorted(writable) if os.access(place, os.W_OK) and not _is_masked(place)]
    return f"writable: {', '.join(open_ones)}" if open_ones else None


def _is_masked(place: str) -> bool:
    """Whether the engine laid /dev/null over it."""
    return Path(place).stat().st_rdev == os.makedev(1, 3)


def session_api(_: Expect) -> str | None:
    directory = Path("/run/door")
    for what, act in (
        ("made", lambda: (directory / "new").write_text("x")),
        ("removed", lambda: next(directory.iterdir()).unlink()),
        ("reopened", lambda: directory.chmod(0o777)),
    ):
        with suppress(OSError, StopIteration):
            act()
            return f"its files can be {what}"
    return None


def first_process(_: Expect) -> str | None:
    name = Path("/proc/1/comm").read_text().strip()
    return None if name in {"docker-init", "tini", "catatonit"} else f"it is {name}: TERM would be ignored"


def namespaces(expect: Expect) -> str | None:
    shared = [
        name
        for name, host in expect["namespaces"].items()
        if str(Path(f"/proc/self/ns/{name}").readlink()) == host
    ]
    return f"shared with the host: {', '.join(shared)}" if shared else None


def other_environments(expect: Expect) -> str | None:
    canary = expect["canary_reversed"][::-1].encode()
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if canary in entry.read_bytes():
                return "a stranger's environment can be read"
    return None


def own_environment(_: Expect) -> str | None:
    found = [name for name in os.environ if re.search("TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", name)]
    return f"looks like a secret: {', '.join(found)}" if found else None


def devices(_: Expect) -> str | None:
    extra = sorted({entry.name for entry in Path("/dev").iterdir()} - DEVICES)
    if extra:
        return f"there are {', '.join(extra)}"
    with suppress(OSError):
        os.mknod("/work/disk", 0o60600, os.makedev(8, 0))
        return "a disk's device can be made"
    return None


def kernel_files(_: Expect) -> str | None:
    for name in (
        "sys/kernel/core_pattern",
        "sys/vm/overcommit_memory",
        "sysrq-trigger",
        "sys/kernel/hostname",
    ):
        with suppress(OSError), (Path("/proc") / name).open("r+b"):
            return f"/proc/{name} can be written"
    with suppress(OSError):
        return "memory of the kernel can be read" if Path("/proc/kcore").open("rb").read(1) else None
    return None


def engine(_: Expect) -> str | None:
    found = [
        path
        for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd")
        if Path(path).exists()
    ]
    return f"there is {', '.join(found)}" if found else None


POINTS: dict[str, Callable[[Expect], str | None]] = {
    act.__name__: act
    for act in (
        *(
            user,
            capabilities,
            new_privileges,
            network,
            host_services,
            names,
            sockets,
            io_uring,
            namespaces_new,
        ),
        *(
            tracing,
            keyring,
            kernel,
            other_bits,
            root_files,
            mounts,
            session_api,
            tmp_programs,
            disk,
            limits,
            processes,
        ),
        *(
            memory,
            first_process,
            namespaces,
            other_environments,
            own_environment,
            devices,
            kernel_files,
            engine,
        ),
    )
}


def main() -> None:
    expect = json.loads(os.environ["SANDBOX_EXPECT"])
    for name in expect["points"]:
        try_point(name, expect)


def try_point(name: str, expect: Expect) -> None:
    """In a process of its own: a try that is killed, or breaks, must not take the others along."""

    def act() -> int:
        got_through = POINTS[name](expect)
        print(
            json.dumps({"point": name, "holds": got_through is None, "detail": got_through or ""}), flush=True
        )
        return 0

    sys.stdout.flush()
    code = in_child(act)
    if code != 0:
        print(
            json.dumps({"point": name, "holds": False, "detail": f"could not be tried (exit {code})"}),
            flush=True,
        )


if __name__ == "__main__":
    main()
