"""Sessions as Jobs of a Kubernetes cluster: one Pod each, behind the walls of `pod.py`.

A Job is made suspended and let go when its Secret is there: a daemon that ended in between finds it, and it has not run. What a
session is told lies in that Secret, which its Job owns, and not in the Job, which more people may read. A session is found
again by its Job's name; what a cluster forgets is in a few notes (`notes.py`).
"""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lightkube.config.kubeconfig import SingleConfig

from overlord.adapters.ending import Endings, harmless
from overlord.adapters.kubernetes.cluster import Cluster, Missing
from overlord.adapters.kubernetes.copies import ClaimCopies
from overlord.adapters.kubernetes.ending import ending, is_never_started, of_deleted, of_pod
from overlord.adapters.kubernetes.jobs import SESSION_LABEL, SessionJobs, label_of, owner_of
from overlord.adapters.kubernetes.layers import ClaimLayers
from overlord.adapters.kubernetes.notes import Notes
from overlord.adapters.kubernetes.pod import CONTAINER, PodProfile
from overlord.adapters.kubernetes.watching import PodWatch
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import AgentProgram, Launch, RunnerCapabilities, Running
from overlord.domain.session import Ending, EndKind
from overlord.errors import RunnerRefused, RunnerUnavailable
from overlord.failpoints import Failpoint, outward

Object = dict[str, Any]
_LOG_BYTES = 2_000_000
_LOG_S = 5.0


class KubernetesRunner:
    """Runs each session in a Pod of `image`, under `profile`, in one namespace.

    `root` holds its notes; `instance` tells this Overlord's objects from another's in the same namespace. `claim` is where
    environments lie, `copies_claim` where ready copies do. `command` stands in for the image's own entry point. `start_s`: for so long a session may wait for its
    program to run, before it is taken for lost; `kill_s`: so long a Pod may take to be gone after its grace, before its object
    is deleted without waiting for its node; `pause_s`: the first pause before a request is repeated.
    """

    name = "kubernetes"
    capabilities = RunnerCapabilities(isolates_files=True, isolates_network=True, limits_memory=True)

    def __init__(
        self,
        root: Path,
        access: SingleConfig,
        *,
        namespace: str,
        image: str,
        instance: str,
        epoch: int = 0,
        profile: PodProfile | None = None,
        claim: str = "",
        copies_claim: str = "",
        setup_memory_mb: int = 4096,
        command: Sequence[str] | None = None,
        call_s: float = 30.0,
        start_s: float = 300.0,
        kill_s: float = 10.0,
        pause_s: float = 0.25,
    ) -> None:
        self._notes = Notes(root)
        self._cluster = Cluster(access, namespace, call_s=call_s, pause_s=pause_s)
        profile = profile or PodProfile()
        self._start_s = start_s
        self._kill_s = kill_s
        self._endings = Endings()
        self._told: set[str] = set()
        self._label = f"overlord.instance={instance}"
        self._watch = PodWatch(self._cluster, self._label, self._on_pod, pause_s=pause_s)
        self._layers = ClaimLayers(
            self._cluster,
            instance=instance,
            image=image,
            claim=claim,
            profile=profile,
            wait_for_change=self._watch.wait_for_change,
        )
        copies = ClaimCopies(
            self._cluster, instance=instance, image=image, claim=copies_claim, profile=profile
        )
        self._jobs = SessionJobs(
            self._cluster,
            self._layers,
            copies,
            instance=instance,
            epoch=epoch,
            image=image,
            profile=profile,
            setup_memory_mb=setup_memory_mb,
            command=command,
        )

    @outward(Failpoint.START_SESSION)
    async def start(self, launch: Launch) -> None:
        if self._notes.of(launch.session).job:
            return
        self._watch.begin()
        uid = await self._jobs.begin(launch)
        self._notes.started(launch.session, uid)

    async def find(self, session: SessionId) -> Running | None:
        note = self._notes.of(session)
        if note.ending is not None:
            return Running(session=session, ending=note.ending)
        job = await self._jobs.find(session)
        pods = [] if job is None else await self._jobs.pods(f"{self._label},{SESSION_LABEL}={session}")
        return await self._seen(session, job, pods)

    async def sessions(self) -> Sequence[Running]:
        jobs = await self._cluster.list("jobs", labels=f"{self._label},{SESSION_LABEL}")
        pods = await self._jobs.pods(f"{self._label},{SESSION_LABEL}")
        by_name = {SessionId(label_of(job, SESSION_LABEL)): job for job in jobs.items}
        never = Ending(kind=EndKind.LOST, detail="never started")
        found = []
        for name in sorted(by_name.keys() | self._notes.all_started()):
            running = await self._seen(name, by_name.get(name), pods)
            if running is not None or name in by_name:
                found.append(running or Running(session=name, ending=never))
        return found

    @outward(Failpoint.STOP_SESSION)
    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        running = await self.find(session)
        if running is None or running.ending is not None:
            return
        self._notes.stopped(session)
        pods = await self._jobs.own_pods(session)
        if not pods:
            with contextlib.suppress(Missing):
                await self._cluster.patch("jobs", self._jobs.name(session), {"spec": {"suspend": True}})
            return
        with contextlib.suppress(RunnerUnavailable):  # its node may not answer any more
            await self._keep_log(session, pods[0])
        log = asyncio.create_task(self._keep_log(session, pods[0], follow=True))
        # Nothing is deleted with a grace of nothing but what no node answers for: it is gone then before it is dead.
        grace = max(1, math.ceil(grace_s))
        for pod in pods:
            await self._cluster.delete("pods", pod["metadata"]["name"], grace_s=grace)
        if not await self._until_ended(session, within_s=grace_s + self._kill_s):
            for pod in pods:
                await self._cluster.delete("pods", pod["metadata"]["name"], grace_s=0)
            if not await self._until_ended(session, within_s=self._kill_s):
                raise RunnerUnavailable(f"the Pod of session {session} does not end, not even when killed")
        await asyncio.wait({log}, timeout=_LOG_S)
        log.cancel()

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        most = min(limit_bytes, _LOG_BYTES)
        if most <= 0:
            return ""
        for pod in await self._jobs.own_pods(session):
            said = await self._cluster.log(
                pod["metadata"]["name"], container=CONTAINER, most_bytes=_LOG_BYTES
            )
            if said:
                return harmless(said, limit_bytes=most)
        return harmless(self._notes.log(session), limit_bytes=most)

    @outward(Failpoint.REMOVE_SESSION)
    async def remove(self, session: SessionId) -> None:
        if await self._jobs.find(session) is not None:
            self._notes.stopped(session)
            pods = await self._jobs.own_pods(session)
            alive = [pod for pod in pods if pod["status"].get("phase") not in {"Succeeded", "Failed"}]
            ended = self._notes.of(session).ending
            is_lost = ended is not None and ended.kind is EndKind.LOST  # no node says that it is gone
            for grace, within_s in ([] if is_lost else [(1, self._kill_s)]) + [(0, 1.0)]:
                for pod in alive:
                    await self._cluster.delete("pods", pod["metadata"]["name"], grace_s=grace)
                if not alive or await self._until_gone(session, within_s=within_s):
                    break
            await self._cluster.delete("jobs", self._jobs.name(session))
            await self._cluster.delete("secrets", self._jobs.name(session))
        self._notes.forget(session)

    async def agent_version(self, program: AgentProgram, *, space: str = "") -> str:  # noqa: ARG002 - in the image
        return ""

    async def ground(self, image: str, *, space: str = "") -> str:  # noqa: ARG002 - one ground for all
        return self._layers.ground(image)

    @outward(Failpoint.PREPARE_LAYER)
    async def prepare_layer(
        self,
        key: str,
        *,
        image: str,
        packages: Sequence[str],
        space: str = "",  # noqa: ARG002
    ) -> None:
        await self._layers.prepare(key, image=image, packages=packages)

    @outward(Failpoint.KEEP_LAYER)
    async def keep_layer(self, session: SessionId, key: str) -> int:
        return await self._layers.keep(session, key)

    async def has_layer(self, key: str) -> bool:
        return await self._layers.has(key)

    @outward(Failpoint.REMOVE_LAYER)
    async def remove_layer(self, key: str) -> None:
        await self._layers.remove(key)

    async def downloads(self) -> Sequence[str]:
        return await self._layers.downloads()

    @outward(Failpoint.REMOVE_DOWNLOADS)
    async def remove_downloads(self, space: str) -> None:
        await self._layers.remove_downloads(space)

    async def follow(self) -> AsyncIterator[SessionId]:
        self._watch.begin()
        async for session in self._endings.follow():
            yield session

    async def wait(self, session: SessionId) -> Ending | None:
        """Wait for a change of the instance's Pods, a moment at most; the session's ending, if there is one by then."""
        await self._watch.wait_for_change()
        running = await self.find(session)
        return None if running is None else running.ending

    async def remove_policies(self) -> None:
        """Take away what the instance's sessions were held by; of an instance that has none any more."""
        await self._jobs.remove_policies()

    async def close(self) -> None:
        self._endings.close()
        await self._watch.close()
        await self._cluster.close()

    async def _seen(self, session: SessionId, job: Object | None, pods: Sequence[Object]) -> Running | None:
        note = self._notes.of(session)
        if job is None and not note.job:
            return None
        if job is not None and is_never_started(job, note):
            return None
        uid = note.job if job is None else str(job["metadata"]["uid"])
        if not note.job:  # the daemon that let it go ended before it had noted that
            self._notes.started(session, uid)
            note = self._notes.of(session)
        own = [pod for pod in pods if owner_of(pod) == uid]
        ended = ending(job, own, note, now=datetime.now(UTC), start_s=self._start_s)
        if ended is not None:
            if ended.kind is EndKind.LOST and job is not None and not own:
                ended = await self._with_reason(ended, job)
            self._notes.ended(session, ended)
        return Running(session=session, ending=ended)

    async def _with_reason(self, ended: Ending, job: Object) -> Ending:
        """What the cluster last said of a Job that has no Pod: a quota, an admission controller."""
        fields = f"involvedObject.uid={job['metadata']['uid']}"
        with contextlib.suppress(RunnerUnavailable, RunnerRefused):
            listed = await self._cluster.list("events", fields=fields)
            said = [str(event.get("message", "")) for event in listed.items if event.get("type") == "Warning"]
            if said:
                return Ending(kind=ended.kind, detail=f"{ended.detail}: {said[-1][:400]}")
        return ended

    async def _keep_log(self, session: SessionId, pod: Object, *, follow: bool = False) -> None:
        """Keep what it printed so far, or until its end, which may come before the log is there to be followed."""
        name = pod["metadata"]["name"]
        said = await self._cluster.log(name, container=CONTAINER, most_bytes=_LOG_BYTES, follow=follow)
        if said:
            self._notes.keep_log(session, said)

    async def _until_ended(self, session: SessionId, *, within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while True:
            running = await self.find(session)
            if running is None or running.ending is not None:
                return True
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            await self._watch.wait_for_change(left_s)

    async def _until_gone(self, session: SessionId, *, within_s: float) -> bool:
        deadline = time.monotonic() + within_s
        while await self._jobs.own_pods(session):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            await self._watch.wait_for_change(left_s)
        return True

    def _on_pod(self, pod: Object, is_gone: bool) -> None:
        session = SessionId(label_of(pod, SESSION_LABEL))
        if not session:
            return
        note, now = self._notes.of(session), datetime.now(UTC)
        if note.ending is None:
            ended = of_deleted(pod, note, now=now) if is_gone else of_pod(pod, note, now=now)
            if ended is None:
                return
            if note.job == owner_of(pod):
                self._notes.ended(session, ended)
        uid = str(pod["metadata"]["uid"])
        if uid not in self._told:
            self._told.add(uid)
            self._endings.notify(session)
        if is_gone:
            self._told.discard(uid)
