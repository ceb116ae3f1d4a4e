"""Tries, from inside a session's service, to get through each wall that a swarm holds; prints one JSON line per wall.

It goes on from `docker/sandbox_check.py`, whose points are the same where the walls are. Its text is run in the container (see
`profile_check.py`), so it uses the standard library only.
"""

import os
import re
import socket
import struct
from contextlib import suppress
from pathlib import Path

from overlord.adapters.docker.sandbox_check import POINTS
from overlord.adapters.docker.sandbox_check import main as try_points
from overlord.adapters.docker.sandbox_limits import Expect

_OURS = {"OVERLORD_TOKEN"}
"""It opens this session's own session API, and nothing else."""
_ANYWHERE = "00000000"
_QUESTION = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + b"\7example\3com\0" + struct.pack(">2H", 1, 1)
_TRY_S = 3.0


def service_network(expect: Expect) -> str | None:
    """Whether the network is one without a way out."""
    routes = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    if any(route[1] == route[7] == _ANYWHERE for route in routes):
        return "there is a route to anywhere"
    for host, port in expect["targets"]:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as link:
            link.settimeout(_TRY_S)
            with suppress(OSError):
                link.connect((host, int(port)))
                return f"{host}:{port} answers"
    return None


def service_relay(_: Expect) -> str | None:
    """Whether nodes can speak to each other: the one thing that a session has to reach."""
    host, port = os.environ["OVERLORD_CONNECT"].rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=20).close()
    except OSError as error:
        return f"it does not answer ({error}); nodes need port 4789 (UDP) and 7946 (TCP, UDP) of each other"
    return None


def service_names(_: Expect) -> str | None:
    """Whether the engine's own name server, which knows the relay, passes questions on."""
    servers = re.findall(r"^nameserver\s+(\S+)", Path("/etc/resolv.conf").read_text(), re.M)
    for server in servers:
        with (
            socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as link,
            suppress(OSError),
        ):
            link.settimeout(_TRY_S)
            link.connect((server, 53))
            link.send(_QUESTION)
            answers = struct.unpack_from(">H", link.recv(512), 6)[0]
            if answers:
                return f"{server} finds other names than the relay's"
    return None


def service_environment(_: Expect) -> str | None:
    found = [name for name in os.environ if re.search("TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", name)]
    extra = sorted(set(found) - _OURS)
    return f"looks like a secret: {', '.join(extra)}" if extra else None


OWN = (service_network, service_relay, service_names, service_environment)
PROMISED = (
    *("user", "capabilities", "new_privileges", "service_network", "service_relay", "service_names"),
    *("sockets", "io_uring", "namespaces_new", "tracing", "keyring", "kernel", "other_bits", "root_files"),
    *("mounts", "tmp_programs", "disk", "limits", "processes", "memory", "first_process"),
    *("service_environment", "devices", "kernel_files", "engine"),
)
"""What a service promises. Namespaces are every container's own, and nobody can compare them from another machine."""


def main() -> None:
    POINTS.update({act.__name__: act for act in OWN})
    try_points()


if __name__ == "__main__":
    main()
