"""A session's Job and what belongs to it: made, found again, and compared with what was asked for."""

import asyncio
import base64
import contextlib
import re
import socket
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from overlord.adapters.docker.layers import setup_image
from overlord.adapters.kubernetes.cluster import Cluster, Missing, Taken
from overlord.adapters.kubernetes.copies import ClaimCopies
from overlord.adapters.kubernetes.layers import ClaimLayers
from overlord.adapters.kubernetes.pod import (
    CACHE,
    CLAIM_NETWORK,
    ENVIRONMENT,
    SESSION_NETWORK,
    SETUP_NETWORK,
    Host,
    PodProfile,
    differences,
    policy_name,
)
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import Launch, SessionAccess
from overlord.errors import RunnerRefused, RunnerUnavailable

Object = dict[str, Any]
SESSION_LABEL = "overlord.session"
_SESSION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


class SessionJobs:
    """The Jobs of one instance's sessions in a namespace. `command` stands in for the image's own entry point."""

    def __init__(
        self,
        cluster: Cluster,
        layers: ClaimLayers,
        copies: ClaimCopies,
        *,
        instance: str,
        epoch: int,
        image: str,
        profile: PodProfile,
        setup_memory_mb: int,
        command: Sequence[str] | None,
    ) -> None:
        self._cluster = cluster
        self._layers = layers
        self._copies = copies
        self._instance = instance
        self._epoch = epoch
        self._image = image
        self._profile = profile
        self._setup_memory_mb = setup_memory_mb
        self._command = command

    @property
    def label(self) -> str:
        return f"overlord.instance={self._instance}"

    async def begin(self, launch: Launch) -> str:
        """Make a session's Job and let it go, or find that it was; its uid."""
        if launch.access is None:
            raise RunnerRefused(
                "sessions on Kubernetes reach Overlord over the network: set session_listener.address"
            )
        name, host = self.name(launch.session), await _host_of(launch.access)
        await self._keep_policies(host)
        await self._copies.fetch(self._copies.of(launch), _aliases(host))
        asked = await self._asked(name, launch, host)
        job = await self._create(name, launch.session, asked)
        uid = str(job["metadata"]["uid"])
        if job["spec"].get("suspend"):
            await self._check(name, asked, job)
            await self._keep_secret(name, uid, launch, launch.access)
            await self._cluster.patch("jobs", name, {"spec": {"suspend": False}})
        return uid

    def name(self, session: SessionId) -> str:
        """A Job's name, which is also part of its Pod's: letters that such names may have, and what tells it from others."""
        if not _SESSION.fullmatch(session):
            raise RunnerRefused(
                f"{session!r} cannot be a session's id: use letters, digits, '-', '_' and '.'"
            )
        readable = re.sub(r"[^a-z0-9]+", "-", session.lower())[:24].strip("-")
        return f"overlord-{self._instance}-{readable}-{sha256(session.encode()).hexdigest()[:8]}"

    async def find(self, session: SessionId) -> Object | None:
        """A session's Job. Raises RunnerRefused where somebody else's has its name."""
        try:
            job = await self._cluster.get("jobs", self.name(session))
        except Missing:
            return None
        if (label_of(job, "overlord.instance"), label_of(job, SESSION_LABEL)) != (self._instance, session):
            raise RunnerRefused(f"a Job named {self.name(session)} exists and is not ours; remove it")
        return None if job["metadata"].get("deletionTimestamp") else job

    async def pods(self, labels: str) -> list[Object]:
        return (await self._cluster.list("pods", labels=labels)).items

    async def own_pods(self, session: SessionId) -> list[Object]:
        """The Pods of a session's Job as it is now, not those of another that had its name."""
        job = await self.find(session)
        if job is None:
            return []
        pods = await self.pods(f"{self.label},{SESSION_LABEL}={session}")
        return [pod for pod in pods if owner_of(pod) == job["metadata"]["uid"]]

    async def _asked(self, name: str, launch: Launch, host: Host) -> Object:
        labels = {
            "overlord.instance": self._instance,
            SESSION_LABEL: launch.session,
            **self._layers.labels(launch),
        }
        memory_mb = self._setup_memory_mb if launch.makes_layer else launch.memory_mb
        return self._profile.job(
            name,
            image=setup_image(self._image) if launch.makes_layer else self._image,
            labels=labels,
            annotations={"overlord.job": launch.job, "overlord.epoch": str(self._epoch)},
            launch=launch,
            memory_mb=memory_mb,
            secret=name,
            volumes=[*await self._layers.volumes(launch), *self._copies.volumes(self._copies.of(launch))],
            aliases=_aliases(host),
            command=self._command,
        )

    async def _create(self, name: str, session: SessionId, asked: Object) -> Object:
        """The Job: made now, or found as it was made before."""
        try:
            return await self._cluster.create("jobs", asked)
        except Taken:
            job = await self.find(session)
        if job is None:
            raise RunnerUnavailable(f"the name {name} is just being made free in the cluster")
        return job

    async def _check(self, name: str, asked: Object, job: Object) -> None:
        if found := differences({"spec": asked["spec"]}, job):
            await self._cluster.delete("jobs", name)
            raise RunnerRefused(f"the cluster's Job is not what was asked for: {'; '.join(found[:5])}")

    async def _keep_secret(self, name: str, uid: str, launch: Launch, access: SessionAccess) -> None:
        told = {**launch.environment, **access.environment(), "OVERLORD_SESSION": launch.session}
        if (copy := self._copies.of(launch)) is not None:
            told |= copy.for_session()
        if launch.layer:
            told["MINION_ENVIRONMENT"] = ENVIRONMENT
        if launch.makes_layer:
            told["MINION_CACHE"] = CACHE
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid}
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

    async def remove_policies(self) -> None:
        for network in (SESSION_NETWORK, SETUP_NETWORK, CLAIM_NETWORK):
            await self._cluster.delete("networkpolicies", policy_name(self._instance, network))

    async def _keep_policies(self, host: Host) -> None:
        """Before each session: whoever takes a policy away opens the next one's way, and no cluster says that it is gone."""
        for asked in self._profile.policies(self._instance, host):
            name = asked["metadata"]["name"]
            try:
                shown = await self._cluster.get("networkpolicies", name)
            except Missing:
                with contextlib.suppress(Taken):
                    await self._cluster.create("networkpolicies", asked)
                continue
            if shown["spec"] != asked["spec"] and differences(asked["spec"], shown["spec"]):
                await self._cluster.replace("networkpolicies", name, asked)


def _aliases(host: Host) -> list[Object]:
    """A name that is looked up here and told to the Pod."""
    return [] if host.name == host.address else [{"ip": host.address, "hostnames": [host.name]}]


def label_of(item: Object, name: str) -> str:
    return str((item["metadata"].get("labels") or {}).get(name, ""))


def owner_of(pod: Object) -> str:
    """The uid of the Job that a Pod is of."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((str(owner["uid"]) for owner in owners if owner.get("kind") == "Job"), "")


async def _host_of(access: SessionAccess) -> Host:
    """Where the session listener is: by a name that is looked up here, since sessions ask no name server."""
    parts = urlsplit(access.url)
    if not parts.hostname:
        raise RunnerRefused(f"session_listener.address: {access.url} names no host")
    port = parts.port or 443
    try:
        found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RunnerUnavailable(
            f"session_listener.address: {parts.hostname} has no address: {error}"
        ) from error
    return Host(name=parts.hostname, address=str(found[0][4][0]), port=port)
