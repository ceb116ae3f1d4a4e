"""Environments on a PersistentVolumeClaim: a directory for each setup, and a ConfigMap for each key that says which one is finished.

A setup writes where no other ever does, so what one leaves that was killed is found by nobody. Which directory is the
environment is one object's word, changed in one request: no daemon and no session sees half of one.
"""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Any

from overlord.adapters.docker.layers import setup_image
from overlord.adapters.kubernetes.cluster import Cluster, Missing, Taken
from overlord.adapters.kubernetes.pod import CACHE, CLAIM, CONTAINER, ENVIRONMENT, PodProfile
from overlord.adapters.process.layers import FINISHED, checked_key
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch
from overlord.errors import RunnerRefused, RunnerUnavailable

Object = dict[str, Any]
_SMALL_JOB_S = 600
"""How long a small Job may take, with the pull of its image."""
_LOOK = f"""
import json, os, sys
place, size = sys.argv[1], 0
for root, _, files in os.walk(place):
    size += sum(os.lstat(os.path.join(root, name)).st_size for name in files)
print(json.dumps({{"finished": os.path.isfile(os.path.join(place, {FINISHED!r})), "size": size}}))
"""
_CLEAR = """
import os, shutil, sys
def writable(act, path, _):
    os.chmod(os.path.dirname(path), 0o700); act(path)
place = sys.argv[1]
if os.path.isdir(place): shutil.rmtree(place, onerror=writable)
print("{}")
"""


class ClaimLayers:
    """The environments and downloads that one instance keeps on a claim; without a claim every setup is refused.

    `wait_for_change` returns when a Pod of the instance changed, or after a moment.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        instance: str,
        image: str,
        claim: str,
        profile: PodProfile,
        wait_for_change: Callable[[], Awaitable[None]],
    ) -> None:
        self._cluster = cluster
        self._instance = instance
        self._image = image
        self._claim = claim
        self._profile = profile
        self._wait_for_change = wait_for_change

    def ground(self, image: str) -> str:
        if image:
            raise RunnerRefused(
                f"{json.dumps(image)} cannot be the ground of an environment: no images are made on Kubernetes;"
                " put what the recipe needs into an image of the Minion and name that in kubernetes.image"
            )
        return setup_image(self._image)

    async def prepare(self, key: str, *, image: str, packages: Sequence[str]) -> None:
        name = self._name(key)
        self._check_claim()
        self.ground(image)
        if packages:
            raise RunnerRefused(
                f"no packages are installed on Kubernetes ({', '.join(sorted(packages))}): put them into an image of the"
                " Minion and name that in kubernetes.image"
            )
        labels = {"overlord.instance": self._instance, "overlord.environment": key}
        await self._note(name, labels, {}, {"state": "begun"})

    async def keep(self, session: SessionId, key: str) -> int:
        name = self._name(key)
        noted = await self._noted(name)
        if noted is None:
            raise RunnerRefused("the setup left no finished environment: it was never begun")
        if noted.get("state") == "finished":
            return int(noted["size"])
        directory = _digest(session)
        found = await self._run(_LOOK, f"{self._root(key)}/{directory}", key)
        if not found.get("finished"):
            raise RunnerRefused("the setup left no finished environment")
        size = int(found["size"])
        change = {"data": {"state": "finished", "directory": directory, "size": str(size)}}
        await self._cluster.patch("configmaps", name, change)
        return size

    async def has(self, key: str) -> bool:
        noted = await self._noted(self._name(key))
        return noted is not None and noted.get("state") == "finished"

    async def remove(self, key: str) -> None:
        name = self._name(key)
        if await self._noted(name) is None or await self._is_used(f"overlord.environment={key}"):
            return
        if self._claim:
            await self._run(_CLEAR, self._root(key), key)
        await self._cluster.delete("configmaps", name)

    async def volumes(self, launch: Launch) -> list[tuple[Object, Object]]:
        """The volumes of a session that makes an environment, or runs in one."""
        if not launch.layer:
            return []
        self._check_claim()
        source = {"name": "claim", "persistentVolumeClaim": {"claimName": self._claim}}
        if not launch.makes_layer:
            noted = await self._noted(self._name(launch.layer))
            if noted is None or noted.get("state") != "finished":
                raise RunnerRefused(
                    "the environment of this session was removed since it was made; try again, and it is made anew"
                )
            place = f"{self._root(launch.layer)}/{noted['directory']}"
            return [(source, {"name": "claim", "mountPath": ENVIRONMENT, "subPath": place, "readOnly": True})]
        place = f"{self._root(launch.layer)}/{_digest(launch.session)}"
        space = launch.space.casefold()
        labels = {"overlord.instance": self._instance, "overlord.downloads": _digest(space)}
        await self._note(self._downloads_name(space), labels, {"overlord.space": space}, {})
        return [
            (source, {"name": "claim", "mountPath": ENVIRONMENT, "subPath": place}),
            (source, {"name": "claim", "mountPath": CACHE, "subPath": self._downloads_root(space)}),
        ]

    async def downloads(self) -> list[str]:
        listed = await self._cluster.list(
            "configmaps", labels=f"overlord.instance={self._instance},overlord.downloads"
        )
        names = (item["metadata"].get("annotations", {}).get("overlord.space", "") for item in listed.items)
        return sorted({str(name) for name in names if name})

    async def remove_downloads(self, space: str) -> None:
        space = space.casefold()
        name = self._downloads_name(space)
        if await self._noted(name) is None or await self._is_used(f"overlord.downloads={_digest(space)}"):
            return
        if self._claim:
            await self._run(_CLEAR, self._downloads_root(space), _digest(space))
        await self._cluster.delete("configmaps", name)

    def labels(self, launch: Launch) -> dict[str, str]:
        """What tells, of a session's Job, which environment and downloads are in use."""
        if not launch.layer:
            return {}
        found = {"overlord.environment": launch.layer[:63]}
        if launch.makes_layer:
            found["overlord.downloads"] = _digest(launch.space.casefold())
        return found

    async def _is_used(self, labels: str) -> bool:
        """Whether a session's Pod that has not ended has an environment, or downloads, mounted."""
        listed = await self._cluster.list("pods", labels=f"overlord.instance={self._instance},{labels}")
        return any(_is_alive(pod) and "overlord.session" in pod["metadata"]["labels"] for pod in listed.items)

    async def _run(self, script: str, place: str, about: str) -> Object:
        """Run a script of ours on a directory of the claim; what it prints."""
        name = f"overlord-{self._instance}-claim-{uuid.uuid4().hex[:12]}"
        labels = {"overlord.instance": self._instance, "overlord.claim": about[:63]}
        command = ["python", "-c", script, f"{CLAIM}/{place}"]
        image = setup_image(self._image)
        asked = self._profile.small_job(name, image=image, labels=labels, claim=self._claim, command=command)
        await self._cluster.create("jobs", asked)
        try:
            async with asyncio.timeout(_SMALL_JOB_S):
                return await self._result(name)
        except TimeoutError:
            raise RunnerUnavailable(f"the small Job {name} did not end in {_SMALL_JOB_S} s") from None
        finally:
            await self._cluster.delete("jobs", name)

    async def _result(self, job: str) -> Object:
        while True:
            listed = await self._cluster.list("pods", labels=f"batch.kubernetes.io/job-name={job}")
            for pod in listed.items:
                phase = pod.get("status", {}).get("phase")
                if phase in {"Succeeded", "Failed"}:
                    name = pod["metadata"]["name"]
                    said = await self._cluster.log(name, container=CONTAINER, most_bytes=4096)
                    return _result_of(said, phase)
            await self._wait_for_change()

    async def _note(
        self, name: str, labels: dict[str, str], annotations: dict[str, str], data: dict[str, str]
    ) -> None:
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        try:
            await self._cluster.create(
                "configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )
        except Taken:
            return

    async def _noted(self, name: str) -> dict[str, str] | None:
        try:
            return dict((await self._cluster.get("configmaps", name)).get("data") or {})
        except Missing:
            return None

    def _check_claim(self) -> None:
        if not self._claim:
            raise RunnerRefused(
                "environments lie on a PersistentVolumeClaim: name one in kubernetes.environments_claim"
                " (ReadWriteMany where sessions run on several nodes)"
            )

    def _name(self, key: str) -> str:
        return f"overlord-{self._instance}-environment-{checked_key(key)}"

    def _root(self, key: str) -> str:
        return f"environments/{self._instance}/{key}"

    def _downloads_name(self, space: str) -> str:
        return f"overlord-{self._instance}-downloads-{_digest(space)}"

    def _downloads_root(self, space: str) -> str:
        return f"downloads/{self._instance}/{_digest(space)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def _is_alive(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}


def _result_of(said: bytes, phase: str) -> Object:
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    if phase != "Succeeded" or not isinstance(found, dict):
        words = said.decode(errors="replace").strip()[-400:]
        raise RunnerUnavailable(f"a small Job on the claim of environments failed: {words or phase}")
    return found
