"""Ready copies on a claim that all nodes share: fetched by one small Job for each, mounted by sessions for reading only."""

import base64
import contextlib
import time
from typing import Any

from overlord.adapters.kubernetes.cluster import Cluster, Taken
from overlord.adapters.kubernetes.pod import CONTAINER, SESSION_NETWORK, PodProfile, job_of
from overlord.adapters.remote_copies import COPIES, FETCHING, RemoteCopy
from overlord.domain.launch import Launch

Object = dict[str, Any]
AGAIN_S = 3600.0
"""So often a copy that is in use is asked for again: it is kept on the claim by that."""
GONE_S = 600


class ClaimCopies:
    """The copies that one instance keeps on a claim; without a claim sessions clone."""

    def __init__(
        self, cluster: Cluster, *, instance: str, image: str, claim: str, profile: PodProfile
    ) -> None:
        self._cluster = cluster
        self._instance = instance
        self._image = image
        self._claim = claim
        self._profile = profile
        self._asked_at: dict[str, float] = {}

    def of(self, launch: Launch) -> RemoteCopy | None:
        """The copy a session begins with; None where it clones."""
        return RemoteCopy.of(launch) if self._claim and not launch.makes_layer else None

    def volumes(self, copy: RemoteCopy | None) -> list[tuple[Object, Object]]:
        """Where a session finds it."""
        return [] if copy is None else [self._volume(copy, read_only=True)]

    async def fetch(self, copy: RemoteCopy | None, host_aliases: list[Object]) -> None:
        """See to it that the copy comes onto the claim; nobody waits for it here."""
        now = time.monotonic()
        if copy is None or now - self._asked_at.get(copy.key, -AGAIN_S) < AGAIN_S:
            return
        name = f"overlord-{self._instance}-copy-{copy.key}"
        with contextlib.suppress(Taken):
            job = await self._cluster.create("jobs", self._job(name, copy, host_aliases))
            await self._keep_secret(name, str(job["metadata"]["uid"]), copy)
            await self._cluster.patch("jobs", name, {"spec": {"suspend": False}})
        self._asked_at[copy.key] = now

    def _job(self, name: str, copy: RemoteCopy, host_aliases: list[Object]) -> Object:
        labels = {"overlord.instance": self._instance, "overlord.copy": copy.key}
        volume, mount = self._volume(copy, read_only=False)
        pod = self._profile.small_pod(
            image=self._image, command=FETCHING, volume=volume, mount=mount, secret=name
        )
        if host_aliases:
            pod["hostAliases"] = host_aliases
        job = job_of(name, labels, {}, SESSION_NETWORK, pod)
        job["spec"]["ttlSecondsAfterFinished"] = GONE_S
        assert pod["containers"][0]["name"] == CONTAINER
        return job

    async def _keep_secret(self, name: str, uid: str, copy: RemoteCopy) -> None:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid}
        told = copy.for_fetching()
        asked = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {
                "name": name,
                "labels": {"overlord.instance": self._instance},
                "ownerReferences": [owner],
            },
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in told.items()},
        }
        try:
            await self._cluster.create("secrets", asked)
        except Taken:
            await self._cluster.replace("secrets", name, asked)

    def _volume(self, copy: RemoteCopy, *, read_only: bool) -> tuple[Object, Object]:
        source = {"name": "copies", "persistentVolumeClaim": {"claimName": self._claim}}
        place = f"copies/{self._instance}/{copy.space_key}"
        return source, {"name": "copies", "mountPath": COPIES, "subPath": place, "readOnly": read_only}
