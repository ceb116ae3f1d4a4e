"""Tries, from inside a session's Pod, to get through each wall that a cluster holds; prints one JSON line per wall.

It goes on from `docker/sandbox_check.py`, whose points are the same where the walls are. Its text is run in the Pod (see `profile_check.py`),
so it uses the standard library only.
"""

import os
import re
import socket
from pathlib import Path

from overlord.adapters.docker.sandbox_check import DEVICES, POINTS, WRITABLE
from overlord.adapters.docker.sandbox_check import main as try_points
from overlord.adapters.docker.sandbox_limits import Expect

TERMINATION_LOG = "/dev/termination-log"
"""Where a program may leave its last words for the cluster."""
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_OURS = {"OVERLORD_TOKEN"}
"""It opens this session's own session API, and nothing else."""


def cluster_network(expect: Expect) -> str | None:
    """Whether the cluster keeps its NetworkPolicies: without one every Pod reaches the cluster's own API."""
    inside = (os.environ.get("KUBERNETES_SERVICE_HOST", ""), os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
    for host, port in (inside, *expect["targets"]):
        if not host:
            continue
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as link:
            link.settimeout(3)
            if link.connect_ex((host, int(port))) == 0:
                return f"{host}:{port} answers; the cluster's network keeps no NetworkPolicy"
    return None


def service_account(_: Expect) -> str | None:
    return "there is a token of the cluster's" if ACCOUNT.exists() else None


def pod_mounts(expect: Expect) -> str | None:
    WRITABLE.add(TERMINATION_LOG)
    return POINTS["mounts"](expect)


def pod_devices(expect: Expect) -> str | None:
    DEVICES.add("termination-log")
    return POINTS["devices"](expect)


def pod_first_process(_: Expect) -> str | None:
    name = Path("/proc/1/comm").read_text().strip()
    return f"it is {name}: TERM would be ignored" if name.startswith("python") else None


def pod_environment(_: Expect) -> str | None:
    found = [name for name in os.environ if re.search("TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", name)]
    extra = sorted(set(found) - _OURS)
    return f"looks like a secret: {', '.join(extra)}" if extra else None


OWN = (cluster_network, service_account, pod_mounts, pod_devices, pod_first_process, pod_environment)
PROMISED = (
    *(
        "user",
        "capabilities",
        "new_privileges",
        "cluster_network",
        "names",
        "service_account",
        "namespaces_new",
    ),
    *(
        "keyring",
        "kernel",
        "root_files",
        "pod_mounts",
        "disk",
        "memory",
        "pod_first_process",
        "pod_environment",
    ),
    *("pod_devices", "kernel_files", "engine"),
)
"""What a Pod promises. Processes, open files and ptrace are a node's own settings, and nothing a Pod can ask for."""


def main() -> None:
    POINTS.update({act.__name__: act for act in OWN})
    try_points()


if __name__ == "__main__":
    main()
