"""The walls of a session's container as one value, and what an engine made of them.

Every field of `Profile` is a defence: the engine is asked for all of them, and `differences` reads the engine's own
`inspect` back. A session is not started in a container that differs in one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from minion.protocol import AGENTS_DIRECTORY
from overlord.adapters.authorities import SYSTEM
from overlord.config_files import packaged
from overlord.domain.launch import AgentProgram, Launch
from overlord.domain.session import CONTAINER_UID

SESSION_API = "/run/door"
"""Where a session finds its session API's directory."""
READY = "/ready"
"""Where it finds the ready copy of its base commit."""
WORK = "/work"
CACHE = "/cache"
"""Where a setup keeps what it downloads."""
MEGABYTE = 1024 * 1024


@cache
def own_seccomp() -> str:
    """The allow-list of system calls, as the engine wants it: without line breaks."""
    text = packaged("seccomp.json")
    return json.dumps(json.loads(text), separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplies:
    """What a setup's container gets beside its session API."""

    cache: str = ""
    """The volume it keeps downloads in; without a name one that goes with the container."""
    authorities: Path | None = None
    """The certificate authorities it trusts."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What its volumes are found by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What holds a session. The defaults are the product; other values are for tests that take one wall away."""

    user: str = f"{CONTAINER_UID}:{CONTAINER_UID}"
    network: str = "none"
    capabilities_dropped: tuple[str, ...] = ("ALL",)
    no_new_privileges: bool = True
    seccomp: str = field(default_factory=own_seccomp, repr=False)
    """A profile as JSON, or `unconfined`."""
    read_only: bool = True
    read_only_session_api: bool = True
    init: bool = True
    """A PID 1 that passes signals on and reaps; without it a Python program ignores TERM."""
    ipc: str = "private"
    pid: str = ""
    """Empty: a process namespace of its own."""
    tmp: str = "rw,noexec,nosuid,nodev,size=64m,mode=1777"
    work: str = "rw,exec,nosuid,nodev,size=1g,mode=0700,uid=10001,gid=10001"
    """Disk is memory: what is written here counts against `memory_mb`."""
    pids: int = 256
    memory_mb: int = 2048
    """The most a launch may ask for; swap is part of it, so there is none."""
    cpus: float = 1.0
    open_files: int = 4096
    file_mb: int = 500
    log_size: str = "1m"
    log_files: int = 2
    setup_network: str = "bridge"
    """What a setup reaches packages through; no other session has one."""
    setup_memory_mb: int = 4096
    setup_pids: int = 1024
    setup_file_mb: int = 4096
    runtime: str | None = None
    """An OCI runtime such as `runsc`; None is the engine's default."""

    def host_config(
        self, launch: Launch, supplies: Supplies | None = None, *, agent: str = ""
    ) -> dict[str, Any]:
        """The engine's `HostConfig` for one launch. `agent` is the volume that holds its agent's program."""
        if launch.makes_layer:
            return self._for_setup(launch, supplies or Supplies())
        memory = min(launch.memory_mb, self.memory_mb) * MEGABYTE
        asked = {
            "NetworkMode": self.network,
            "CapDrop": list(self.capabilities_dropped),
            "SecurityOpt": self._security(),
            "ReadonlyRootfs": self.read_only,
            "Init": self.init,
            "IpcMode": self.ipc,
            "PidMode": self.pid,
            "Tmpfs": {path: options for path, options in self._tmpfs() if options},
            "PidsLimit": self.pids,
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": int(min(launch.cpus, self.cpus) * 1_000_000_000),
            "Ulimits": self._ulimits(),
            "LogConfig": {"Type": "json-file", "Config": self._log()},
            "Mounts": [
                self._session_api(launch),
                *([] if launch.ready is None else [_bind(launch.ready, READY)]),
                *([] if launch.agent is None or not agent else [_program(agent, launch.agent)]),
            ],
            "AutoRemove": False,
            "RestartPolicy": {"Name": "no"},
        }
        return asked if self.runtime is None else {**asked, "Runtime": self.runtime}

    def _for_setup(self, launch: Launch, supplies: Supplies) -> dict[str, Any]:
        """A setup's walls: it has network and a disk of its own, and still no rights, and no way to another container."""
        walls = replace(
            self,
            network=self.setup_network,
            read_only=False,
            work="",
            memory_mb=self.setup_memory_mb,
            pids=self.setup_pids,
            file_mb=self.setup_file_mb,
        ).host_config(replace(launch, makes_layer=False))
        # A volume without a name goes with its container; what is written there is not kept in the image.
        mounts = [
            _volume(name, place, supplies.labels) for name, place in (("", WORK), (supplies.cache, CACHE))
        ]
        if supplies.authorities is not None:
            mounts.append(_bind(supplies.authorities, str(SYSTEM)))
        return {**walls, "Mounts": [*walls["Mounts"], *mounts]}

    def _security(self) -> list[str]:
        return [f"seccomp={self.seccomp}"] + ["no-new-privileges:true"] * self.no_new_privileges

    def _tmpfs(self) -> Iterator[tuple[str, str]]:
        yield from (("/tmp", self.tmp), (WORK, self.work))  # noqa: S108 - a path inside the container

    def _ulimits(self) -> list[dict[str, Any]]:
        most = {"nofile": self.open_files, "core": 0, "fsize": self.file_mb * MEGABYTE}
        return [{"Name": name, "Soft": value, "Hard": value} for name, value in most.items()]

    def _log(self) -> dict[str, str]:
        return {"max-size": self.log_size, "max-file": str(self.log_files)} if self.log_files else {}

    def _session_api(self, launch: Launch) -> dict[str, Any]:
        return {
            "Type": "bind",
            "Source": str(launch.session_api),
            "Target": SESSION_API,
            "ReadOnly": self.read_only_session_api,
            "BindOptions": {"Propagation": "rprivate"},
        }


def _bind(source: Path, target: str) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": target,
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _volume(name: str, target: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "Type": "volume",
        "Source": name,
        "Target": target,
        "ReadOnly": False,
        "VolumeOptions": {"Labels": dict(labels)},
    }


def _program(volume: str, agent: AgentProgram) -> dict[str, Any]:
    """An agent's program: nothing of the session's own image is copied into its volume."""
    return {
        "Type": "volume",
        "Source": volume,
        "Target": f"{AGENTS_DIRECTORY}/{agent.program}",
        "ReadOnly": True,
        "VolumeOptions": {"NoCopy": True},
    }


def differences(asked: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str]:
    """What an engine's `inspect` shows otherwise than the container configuration it was asked for.

    Also what was not asked for at all: privileges, devices, mounts that an image or an engine's settings add.
    """
    host, config = shown["HostConfig"], shown["Config"]
    found = [
        f"{name}: asked {_short(value)}, got {_short(host.get(name))}"
        for name, value in asked["HostConfig"].items()
        if name != "Mounts" and _normalized(name, host.get(name)) != _normalized(name, value)
    ]
    if config.get("User") != asked["User"]:
        found.append(f"User: asked {asked['User']}, got {config.get('User')}")
    found += [f"{name}: {_short(host[name])}" for name in _NEVER if host.get(name)]
    mounts = {_mounted(mount) for mount in shown["Mounts"]}
    wanted = {
        (mount["Type"], mount["Source"], mount["Target"], not mount["ReadOnly"])
        for mount in asked["HostConfig"]["Mounts"]
    }
    found += [f"mount of {mount[2]}" for mount in sorted(mounts ^ wanted, key=str)]
    return found


def _mounted(mount: Mapping[str, Any]) -> tuple[str, str, str, bool]:
    """A mount as it was asked for: a volume by its name, one that the engine named by none."""
    if mount["Type"] == "volume":
        name = str(mount.get("Name", ""))
        return ("volume", "" if _UNNAMED.fullmatch(name) else name, mount["Destination"], mount["RW"])
    return (mount["Type"], str(mount.get("Source")), mount["Destination"], mount["RW"])


_UNNAMED = re.compile(r"[0-9a-f]{64}")
_NEVER = (
    *(
        "Privileged",
        "CapAdd",
        "Binds",
        "Devices",
        "DeviceRequests",
        "DeviceCgroupRules",
        "VolumesFrom",
        "GroupAdd",
    ),
    *("PublishAllPorts", "PortBindings", "Links", "ExtraHosts", "Sysctls", "OomKillDisable"),
)


def _normalized(name: str, value: Any) -> Any:
    """A value without what may differ though it means the same: order, and defaults an engine fills in."""
    if name in {"CapDrop", "SecurityOpt"}:
        return sorted(value or ())
    if name == "Ulimits":
        return sorted((limit["Name"], limit["Soft"], limit["Hard"]) for limit in value or ())
    if name == "RestartPolicy":
        return (value or {}).get("Name") or "no"
    return value


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else f"{text[:120]}…"
