"""A node: it begins the Pods that are bound to it, as processes, tells their state, and ends those that are to be deleted."""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overlord.embedded.kubernetes import container as container_program
from overlord.embedded.kubernetes.kind import BY_PLURAL
from overlord.embedded.kubernetes.selector import matches
from overlord.embedded.kubernetes.store import Store

Object = dict[str, Any]
PODS = BY_PLURAL["pods"]
_AGAIN_S = 0.1
_ENTRY_POINT = ("python", "-P", "-m", "minion")
"""What the image of sessions starts."""


@dataclass(slots=True)
class RunningPod:
    """A Pod's process, and what was said of it."""

    directory: Path
    program: asyncio.subprocess.Process | None = None
    is_out_of_memory: bool = False
    ends_at: float | None = None
    """When it is killed, by the loop's clock."""
    told: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is to end sooner."""


class Kubelet:
    """`images`: those that can be had; None for any. `claims` is where the node finds what lies on claims."""

    def __init__(self, store: Store, root: Path, name: str, *, images: set[str] | None = None) -> None:
        self.name = name
        self.images = images
        self.is_lost = False
        self.enforces_policies = False
        self.api = ("", "")
        """Host and port that Pods are told the API is at."""
        self._store = store
        self._root = root
        self._pods: dict[str, RunningPod] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def look(self) -> None:
        """Take up each Pod that is bound here, and end those that are to be deleted."""
        if self.is_lost:
            return
        for pod in self._store.list("pods"):
            if pod["spec"].get("nodeName") != self.name:
                continue
            uid = pod["metadata"]["uid"]
            if uid not in self._pods and pod["status"].get("phase") == "Pending":
                running = RunningPod(self._root / "pods" / uid)
                self._pods[uid] = running
                task = asyncio.create_task(self._run(pod, running))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            if pod["metadata"].get("deletionTimestamp") and uid in self._pods:
                self._end(self._pods[uid], pod["metadata"].get("deletionGracePeriodSeconds", 30))
        self._kill_deleted()

    def log_of(self, uid: str) -> Path:
        return self._root / "pods" / uid / "log"

    def process_of(self, uid: str) -> int:
        """The process id of a Pod's own program, as this machine counts. Raises LookupError."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    environ = (entry / "environ").read_bytes()
                    if f"OVERLORD_EMBEDDED_POD={uid}\0".encode() in environ:
                        return int(entry.name)
        raise LookupError(uid)

    def run_out_of_memory(self, uid: str) -> None:
        """End a Pod's program as the kernel does when its memory is used up."""
        self._pods[uid].is_out_of_memory = True
        os.kill(self.process_of(uid), signal.SIGKILL)

    def kill(self, uid: str) -> None:
        """End a Pod's process without a word to anybody."""
        running = self._pods.get(uid)
        if running is not None and running.program is not None:
            with contextlib.suppress(ProcessLookupError):
                running.program.kill()

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for uid, running in self._pods.items():
            if running.program is not None:
                self.kill(uid)
                await running.program.wait()
        shutil.rmtree(self._root / "pods", ignore_errors=True)

    def _end(self, running: RunningPod, grace_s: int) -> None:
        ends_at = asyncio.get_running_loop().time() + grace_s
        if running.ends_at is None:
            if running.program is not None and running.program.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    running.program.terminate()
        elif ends_at >= running.ends_at:
            return
        running.ends_at = ends_at
        running.told.set()

    def _kill_deleted(self) -> None:
        """What was deleted without waiting for this node."""
        known = {pod["metadata"]["uid"] for pod in self._store.list("pods")}
        for uid in self._pods.keys() - known:
            self.kill(uid)

    async def _run(self, pod: Object, running: RunningPod) -> None:
        environment = await self._until_ready(pod, running)
        if environment is None:
            self._finish(pod)
            return
        running.directory.mkdir(parents=True)
        with (running.directory / "log").open("wb") as log:
            running.program = await self._begin(pod, running, environment, log.fileno())
        self._tell(pod, phase="Running", state={"running": {"startedAt": self._store.timestamp()}})
        self.look()
        code = await self._until_over(running)
        if self.is_lost:
            return
        reason = "OOMKilled" if running.is_out_of_memory else ("Completed" if code == 0 else "Error")
        now = self._store.timestamp()
        state = {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}}
        self._tell(pod, phase="Succeeded" if code == 0 else "Failed", state=state)
        self._finish(pod)

    async def _until_over(self, running: RunningPod) -> int:
        """Wait for the program; kill it when its grace is over."""
        assert running.program is not None
        over = asyncio.create_task(running.program.wait())
        while not over.done():
            running.told.clear()
            told = asyncio.create_task(running.told.wait())
            now = asyncio.get_running_loop().time()
            left_s = None if running.ends_at is None else max(0.0, running.ends_at - now)
            await asyncio.wait({over, told}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            if running.ends_at is not None and asyncio.get_running_loop().time() >= running.ends_at:
                with contextlib.suppress(ProcessLookupError):
                    running.program.kill()
        code = over.result()
        return code if code >= 0 else 128 - code

    async def _until_ready(self, pod: Object, running: RunningPod) -> dict[str, str] | None:
        """What its program is told, once its image and Secrets are there; None when it was deleted first."""
        own = pod["spec"]["containers"][0]
        while running.ends_at is None and self._is_there(pod):
            if self.images is not None and own["image"] not in self.images:
                waits = ("ImagePullBackOff", f'Back-off pulling image "{own["image"]}"')
            else:
                try:
                    return self._environment(pod)
                except KeyError as error:
                    waits = ("CreateContainerConfigError", f"secret {error} not found")
            self._tell(pod, phase="Pending", state={"waiting": {"reason": waits[0], "message": waits[1]}})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_S):
                    await running.told.wait()
        return None

    def _is_there(self, pod: Object) -> bool:
        found = self._store.get("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
        return found is not None and found["metadata"]["uid"] == pod["metadata"]["uid"]

    def _environment(self, pod: Object) -> dict[str, str]:
        own, found = pod["spec"]["containers"][0], dict[str, str]()
        for source in own.get("envFrom") or ():
            name = source["secretRef"]["name"]
            secret = self._store.get("secrets", pod["metadata"]["namespace"], name)
            if secret is None:
                raise KeyError(name)
            found |= {
                key: base64.b64decode(text).decode() for key, text in (secret.get("data") or {}).items()
            }
        return found | {entry["name"]: entry.get("value", "") for entry in own.get("env") or ()}

    async def _begin(
        self, pod: Object, running: RunningPod, environment: dict[str, str], log: int
    ) -> asyncio.subprocess.Process:
        own = pod["spec"]["containers"][0]
        command = [*(own.get("command") or _ENTRY_POINT), *(own.get("args") or ())]
        if command[0] == "python":
            command[0] = sys.executable
        for name in ("work", "tmp"):
            (running.directory / name).mkdir()
        work = str(running.directory / "work")
        image = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "KUBERNETES_SERVICE_HOST": self.api[0],
            "KUBERNETES_SERVICE_PORT": self.api[1],
        }
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", container_program.__file__, json.dumps(self._world(pod)), *command),
            env={
                **(image | environment),
                # Its scratch volumes are directories of this machine, which sessions share as they share its files.
                **{"HOME": work, "MINION_WORK": work, "TMPDIR": str(running.directory / "tmp")},
                "HOSTNAME": pod["metadata"]["uid"],
            },
            cwd=work,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )

    def _world(self, pod: Object) -> Object:
        return {"mounts": self._mounts(pod), "has_network": not self._is_held(pod)}

    def _is_held(self, pod: Object) -> bool:
        """Whether a NetworkPolicy holds what it sends; such a Pod has no network at all here."""
        if not self.enforces_policies:
            return False
        labels = pod["metadata"].get("labels") or {}
        policies = self._store.list("networkpolicies", pod["metadata"]["namespace"])
        return any(
            "Egress" in policy["spec"].get("policyTypes", ())
            and matches(policy["spec"].get("podSelector") or {}, labels)
            for policy in policies
        )

    def _mounts(self, pod: Object) -> list[list[Any]]:
        claims = {
            volume["name"]: volume["persistentVolumeClaim"]["claimName"]
            for volume in pod["spec"].get("volumes") or ()
            if "persistentVolumeClaim" in volume
        }
        found = []
        for mount in pod["spec"]["containers"][0].get("volumeMounts") or ():
            if mount["name"] in claims:
                place = self._root / "claims" / pod["metadata"]["namespace"] / claims[mount["name"]]
                place /= mount.get("subPath", "")
                place.mkdir(parents=True, exist_ok=True)
                found.append([str(place), mount["mountPath"], bool(mount.get("readOnly"))])
        return found

    def _tell(self, pod: Object, *, phase: str, state: Object) -> None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        found = self._store.get("pods", namespace, name)
        if found is None or self.is_lost or found["metadata"]["uid"] != pod["metadata"]["uid"]:
            return
        own = found["spec"]["containers"][0]
        is_up = "running" in state
        found["status"] |= {
            "phase": phase if found["status"].get("reason") != "Evicted" else "Failed",
            "containerStatuses": [
                {
                    "name": own["name"],
                    "image": own["image"],
                    "imageID": f"{own['image']}@embedded",
                    "ready": is_up,
                    "started": is_up,
                    "restartCount": 0,
                    "state": state,
                }
            ],
        }
        self._store.put(PODS, found)

    def _finish(self, pod: Object) -> None:
        """Take a Pod that was to be deleted away, now that nothing of it runs."""
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        found = self._store.get("pods", namespace, name)
        if found is None or found["metadata"]["uid"] != pod["metadata"]["uid"]:
            return
        if found["metadata"].get("deletionTimestamp"):
            self._store.remove(PODS, namespace, name)
