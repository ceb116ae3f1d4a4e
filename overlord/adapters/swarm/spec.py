"""A session as a service of a swarm: the walls of `docker/profile.py` as far as a service can carry them, and what a task became.

Always a replicated service of one, which is never restarted, and no job: engines before 24 keep the containers of removed jobs for
good, and a job that is stopped loses its log. What a service cannot ask for on an engine of an older API, the engine's own
defaults have to give: `lacking` names it, and the doctor tries it from inside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from overlord.adapters.docker.profile import MEGABYTE, WORK, Profile
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch
from overlord.domain.session import Ending, EndKind

LABEL = "overlord"
MARK = f"{LABEL}.service"
"""The label of a task's container: its instance and session. A session's own container of Docker has other labels."""
STOPPED = "node.id==stopped"
"""A constraint no node meets: what a service that is stopped is moved to."""
PRIVILEGES_API = (1, 44)
"""From here a service may ask for no-new-privileges and a seccomp profile."""
TMPFS_OPTIONS_API = (1, 46)
"""From here a service's tmpfs may be for programs, and somebody's."""
UNREACHED = "127.0.0.1"
"""The name server of a session: its own loopback, where none listens. Engines before 26 pass questions of an internal network on."""
_ENDED_BY_OTHERS = {
    129: "HUP",
    130: "INT",
    137: "KILL, or out of memory",
    143: "TERM",
    255: "the engine went down",
}
_ENDED = {"complete", "failed", "shutdown"}
_UNPLACED = {"new", "pending", "assigned", "accepted"}
GONE = {"remove", "orphaned"}
Task = Mapping[str, Any]
Version = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a session's service is put."""

    image: str
    constraints: Sequence[str]
    network: str
    """The network it reaches its relay through; empty for none."""
    registry: str = ""
    grace_s: float = 10.0
    base: str = ""
    """The image of the Minion there, without anybody's environment."""
    mounts: Sequence[Mapping[str, Any]] = ()
    """What it has beside its own scratch space."""


def session_spec(
    name: str,
    launch: Launch,
    place: Place,
    profile: Profile,
    *,
    environment: Mapping[str, str],
    labels: Mapping[str, str],
    command: Sequence[str] | None,
    api: Version,
) -> dict[str, Any]:
    """The whole service of a session."""
    container = walls(profile, api) | {
        "Image": place.image,
        "Env": [f"{key}={value}" for key, value in environment.items()],
        "Labels": {MARK: f"{labels['instance']}/{launch.session}"},
        "Hostname": "minion",
        "StopGracePeriod": int(place.grace_s * 1_000_000_000),
    }
    container["Mounts"] = [*container["Mounts"], *place.mounts]
    if command is not None:
        container["Command"] = list(command)
    limits = {
        "MemoryBytes": min(launch.memory_mb, profile.memory_mb) * MEGABYTE,
        "NanoCPUs": int(min(launch.cpus, profile.cpus) * 1_000_000_000),
        "Pids": profile.pids,
    }
    # Memory is set aside, so that no node is given more sessions than it has room for; processors are shared.
    reserved = {"MemoryBytes": limits["MemoryBytes"]}
    return {
        "Name": name,
        "Labels": {f"{LABEL}.{key}": value for key, value in labels.items()},
        "TaskTemplate": {
            "ContainerSpec": container,
            "Resources": {"Limits": limits, "Reservations": reserved},
            "RestartPolicy": {"Condition": "none"},
            "Placement": {"Constraints": list(place.constraints)},
            "LogDriver": {
                "Name": "json-file",
                "Options": {"max-size": profile.log_size, "max-file": str(profile.log_files)},
            },
            "Networks": [{"Target": place.network}] if place.network else [],
        },
        "Mode": {"Replicated": {"Replicas": 1}},
        "EndpointSpec": {"Mode": "dnsrr"},
    }


def walls(profile: Profile, api: Version) -> dict[str, Any]:
    """What of a profile a service's container is asked for on an engine of this API."""
    found: dict[str, Any] = {
        "User": profile.user,
        "ReadOnly": profile.read_only,
        "Init": profile.init,
        "CapabilityDrop": list(profile.capabilities_dropped),
        "DNSConfig": {"Nameservers": [UNREACHED]},
        "Ulimits": [
            {"Name": key, "Soft": most, "Hard": most}
            for key, most in (
                ("nofile", profile.open_files),
                ("core", 0),
                ("fsize", profile.file_mb * MEGABYTE),
            )
        ],
        "Mounts": [
            _tmpfs("/tmp", 64 * MEGABYTE, 0o1777),  # noqa: S108 - a path inside the container
            _work(api),
        ],
    }
    if api >= PRIVILEGES_API:
        seccomp: dict[str, Any] = {"Mode": "unconfined"}
        if profile.seccomp != "unconfined":
            seccomp = {"Mode": "custom", "Profile": _base64(profile.seccomp)}
        found["Privileges"] = {"NoNewPrivileges": profile.no_new_privileges, "Seccomp": seccomp}
    return found


def lacking(api: Version) -> list[str]:
    """What a service cannot ask for on an engine of this API, and what to do for it on each node."""
    found = []
    if api < PRIVILEGES_API:
        found.append(
            "no-new-privileges and Overlord's seccomp profile are each node's own to set (`no-new-privileges` and"
            " `seccomp-profile` in its daemon.json)"
        )
    if api < TMPFS_OPTIONS_API:
        found.append("/work is on the node's disk, without a limit of its size")
    return found


def _tmpfs(target: str, size: int, mode: int) -> dict[str, Any]:
    return {"Type": "tmpfs", "Target": target, "TmpfsOptions": {"SizeBytes": size, "Mode": mode}}


def _work(api: Version) -> dict[str, Any]:
    """The directory it works in: memory where a tmpfs can hold programs, else a volume that goes with its container."""
    if api < TMPFS_OPTIONS_API:
        return {"Type": "volume", "Target": WORK}
    mount = _tmpfs(WORK, 1024 * MEGABYTE, 0o700)
    mount["TmpfsOptions"]["Options"] = [["exec"], ["uid", "10001"], ["gid", "10001"]]
    return mount


def _base64(text: str) -> str:
    from base64 import b64encode

    return b64encode(text.encode()).decode()


def first_of(tasks: Sequence[Task]) -> Task | None:
    """The one task that is the session; any other is the place keeper of a service that was stopped."""
    alive = [task for task in tasks if task["DesiredState"] != "remove"]
    return min(alive, key=lambda task: str(task["CreatedAt"]), default=None)


def container_of(task: Task) -> str:
    """The id of its container; empty while it has none."""
    return str(((task["Status"].get("ContainerStatus")) or {}).get("ContainerID") or "")


def words_of(task: Task) -> str:
    """What the swarm says of a task."""
    status = task["Status"]
    return str(status.get("Err") or status.get("Message") or status["State"])


def ending_of(
    task: Task, nodes: Mapping[str, Mapping[str, Any]], *, stopped: bool, out_of_memory: bool = False
) -> Ending | None:
    """How a session's task ended; None while it goes on. `nodes` are the swarm's by their ids; `stopped`, whether we asked it to end."""
    state = str(task["Status"]["State"])
    if state in _ENDED and container_of(task):
        return _ended(task, state, nodes, stopped=stopped, out_of_memory=out_of_memory)
    if state in _ENDED or state == "rejected":
        if stopped:
            return Ending(kind=EndKind.STOPPED, detail="it had not begun")
        return Ending(
            kind=EndKind.LOST, detail=f"it did not start on {_named(task, nodes)}: {words_of(task)}"
        )
    if state in GONE:
        return Ending(kind=EndKind.LOST, detail="its node was taken out of the swarm")
    if task["DesiredState"] in {"shutdown", "remove"} and state in _UNPLACED:
        kind = EndKind.STOPPED if stopped else EndKind.LOST
        return Ending(kind=kind, detail="it had not begun")
    node = nodes.get(str(task.get("NodeID", "")))
    if task.get("NodeID") and (node is None or node["Status"]["State"] == "down"):
        return Ending(kind=EndKind.LOST, detail=f"{_named(task, nodes)} is lost: {_why(node)}")
    return None


def _ended(
    task: Task,
    state: str,
    nodes: Mapping[str, Mapping[str, Any]],
    *,
    stopped: bool,
    out_of_memory: bool,
) -> Ending:
    code = int(task["Status"]["ContainerStatus"].get("ExitCode") or 0)
    if stopped:
        return Ending(kind=EndKind.STOPPED, exit_code=code, detail="it had run out of memory" * out_of_memory)
    if state == "shutdown":
        why = f"the swarm took it from {_named(task, nodes)}, as when a node is drained"
        return Ending(kind=EndKind.LOST, exit_code=code, detail=why)
    if out_of_memory:
        return Ending(kind=EndKind.OUT_OF_MEMORY, exit_code=code)
    if code in _ENDED_BY_OTHERS:
        return Ending(kind=EndKind.KILLED, exit_code=code, detail=_ENDED_BY_OTHERS[code])
    return Ending(kind=EndKind.EXITED, exit_code=code)


def node_name(node: Mapping[str, Any] | None) -> str:
    """What people call a node."""
    return "" if node is None else str((node.get("Description") or {}).get("Hostname") or node["ID"])


def _named(task: Task, nodes: Mapping[str, Mapping[str, Any]]) -> str:
    name = node_name(nodes.get(str(task.get("NodeID", "")))) or str(task.get("NodeID", ""))
    return f"node {name}" if name else "any node"


def _why(node: Mapping[str, Any] | None) -> str:
    if node is None:
        return "it is no longer in the swarm"
    return str(node["Status"].get("Message") or "it does not answer")


def by_session(tasks: Sequence[Task], instance: str) -> dict[SessionId, list[Task]]:
    """The tasks of an instance's sessions, those of services that are being removed among them."""
    found: dict[SessionId, list[Task]] = {}
    for task in tasks:
        mark = str((task["Spec"].get("ContainerSpec", {}).get("Labels") or {}).get(MARK, ""))
        whose, _, session = mark.partition("/")
        if session and whose == instance and task["DesiredState"] != "remove":
            found.setdefault(SessionId(session), []).append(task)
    return found


def session_of(service: Mapping[str, Any]) -> SessionId:
    """Whose service this is; empty for a relay."""
    return SessionId((service["Spec"].get("Labels") or {}).get(f"{LABEL}.session", ""))


def remedy(words: str, node: Mapping[str, Any]) -> str:
    """What to do about it, as the end of a sentence."""
    if "No such image" in words:
        return (
            f"; node {node_name(node or None)} does not have it: name its engine in swarm.engines, or a registry in"
            " swarm.registry"
        )
    if "no suitable node" in words:
        return "; see swarm.constraints, and `docker node ls` for which nodes are there"
    return ""
