"""A cluster of this machine's processes, with what can happen to one: a node that is lost, a Pod that is evicted, a server that fails.

It speaks the real protocol, so the daemon, kubectl and every other client can be pointed at it.
"""

import asyncio
import base64
import contextlib
import json
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from overlord.embedded.kubernetes.api import Api, Fault
from overlord.embedded.kubernetes.certificate import write_certificate
from overlord.embedded.kubernetes.controller import Controllers
from overlord.embedded.kubernetes.kind import BY_PLURAL
from overlord.embedded.kubernetes.kubelet import Kubelet
from overlord.embedded.kubernetes.right import ADMIN, Right, Rights
from overlord.embedded.kubernetes.store import Store
from overlord.embedded.server import serve

Object = dict[str, Any]
_QUOTA_AGAIN_S = 0.2
"""How often what has no room looks for some."""


class EmbeddedCluster:
    """`images`: those that nodes can pull; None for any."""

    def __init__(self, root: Path, *, nodes: int = 1, images: set[str] | None = None) -> None:
        self.store = Store()
        self.rights = Rights(self.store)
        self.controllers = Controllers(self.store)
        self.api = Api(self.store, self.rights, self.controllers, self._log_of)
        self.admin_token = self._token(ADMIN)
        self.url = ""
        self._authority = b""
        self._root = root
        self.nodes = {
            f"node-{number}": Kubelet(self.store, root, f"node-{number}", images=images)
            for number in range(1, nodes + 1)
        }
        for name in self.nodes:
            self._add_node(name)
        self.make_namespace("default")

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """The cluster while the block runs; gives the API's URL. What runs is killed at its end."""
        working = asyncio.create_task(self._work())
        try:
            certificate = self._root / "server.pem"
            self._authority = write_certificate(certificate)
            async with serve(self.api, certificate=certificate) as self.url:
                parts = urlsplit(self.url)
                for node in self.nodes.values():
                    node.api = (str(parts.hostname), str(parts.port))
                yield self.url
                for broken in list(self.api.watches):
                    broken.set()
        finally:
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
            for node in self.nodes.values():
                await node.close()
            shutil.rmtree(self._root / "claims", ignore_errors=True)

    def kubeconfig(self, token: str = "", namespace: str = "default") -> Object:
        """How a client reaches the cluster with a token; without one, as its administrator."""
        authority = base64.b64encode(self._authority).decode()
        entry = {"cluster": "embedded", "user": "embedded", "namespace": namespace}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "embedded",
            "clusters": [
                {"name": "embedded", "cluster": {"server": self.url, "certificate-authority-data": authority}}
            ],
            "users": [{"name": "embedded", "user": {"token": token or self.admin_token}}],
            "contexts": [{"name": "embedded", "context": entry}],
        }

    @property
    def authority(self) -> bytes:
        """The certificate that clients are to trust, as PEM."""
        return self._authority

    def write_kubeconfig(self, path: Path, token: str = "") -> Path:
        path.write_text(json.dumps(self.kubeconfig(token)))
        path.chmod(0o600)
        return path

    def account(self, namespace: str, name: str) -> str:
        """A token of a service account; what it may do the cluster's Roles say."""
        return self._token(f"system:serviceaccount:{namespace}:{name}")

    def used(self, namespace: str, name: str) -> set[Right]:
        """What a service account asked for and was given."""
        return self.rights.used.get(f"system:serviceaccount:{namespace}:{name}", set())

    def make_namespace(self, name: str) -> None:
        labels = {"kubernetes.io/metadata.name": name}
        self.add(
            "namespaces", "", {"metadata": {"name": name, "labels": labels}, "status": {"phase": "Active"}}
        )

    def make_claim(self, namespace: str, name: str) -> None:
        spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "10Gi"}}}
        self.add(
            "persistentvolumeclaims",
            namespace,
            {"metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound"}},
        )

    def add(self, plural: str, namespace: str, item: Object) -> Object:
        return self.store.add(BY_PLURAL[plural], namespace, item)

    def pod_of(self, session: str) -> Object:
        """A session's Pod. Raises LookupError."""
        for pod in self.store.list("pods"):
            if (pod["metadata"].get("labels") or {}).get("overlord.session") == session:
                return pod
        raise LookupError(session)

    def fail(self, status: int, **what: Any) -> None:
        """Let requests fail; see `Fault`."""
        self.api.faults.append(Fault(status=status, **what))

    def drop_watches(self) -> None:
        """Break every watch off in the middle."""
        for broken in list(self.api.watches):
            broken.set()

    def expire_watches(self) -> None:
        """Forget every change so far: a watch that is begun at an older version is refused."""
        self.store.forget_changes()

    def enforce_policies(self) -> None:
        """From now on a NetworkPolicy holds what its Pods send, as not every cluster's network does."""
        for node in self.nodes.values():
            node.enforces_policies = True

    def kill(self, session: str) -> None:
        """Kill a session's program as somebody on its node would."""
        pod = self.pod_of(session)
        os.kill(self._node(pod).process_of(pod["metadata"]["uid"]), signal.SIGKILL)

    def run_out_of_memory(self, session: str) -> None:
        pod = self.pod_of(session)
        self._node(pod).run_out_of_memory(pod["metadata"]["uid"])

    def evict_for_pressure(
        self, session: str, message: str = "The node was low on resource: memory."
    ) -> None:
        """As a node does that runs short: the Pod has failed, and its object stays."""
        pod = self.pod_of(session)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "TerminationByKubelet",
            "message": message,
        }
        pod["status"] |= {
            "phase": "Failed",
            "reason": "Evicted",
            "message": message,
            "conditions": [condition],
        }
        self.store.put(BY_PLURAL["pods"], pod)
        self._node(pod).kill(pod["metadata"]["uid"])

    def lose_node(self, name: str) -> None:
        """A node that nobody hears from any more: its Pods are marked for deletion, and nothing confirms that they ended."""
        kubelet = self.nodes[name]
        kubelet.is_lost = True
        node = self.store.get("nodes", "", name)
        assert node is not None
        node["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
        self.store.put(BY_PLURAL["nodes"], node)
        for pod in self.store.list("pods"):
            if pod["spec"].get("nodeName") == name and pod["status"].get("phase") not in {
                "Succeeded",
                "Failed",
            }:
                condition = {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByTaintManager",
                    "message": "Taint manager: deleting due to NoExecute taint",
                }
                pod["status"].setdefault("conditions", []).append(condition)
                self.controllers.delete(BY_PLURAL["pods"], self.store.put(BY_PLURAL["pods"], pod), None)

    def _token(self, account: str) -> str:
        token = secrets.token_urlsafe(24)
        self.rights.tokens[token] = account
        return token

    def _node(self, pod: Object) -> Kubelet:
        return self.nodes[pod["spec"]["nodeName"]]

    def _log_of(self, pod: Object) -> Path | None:
        node = pod["spec"].get("nodeName")
        return None if not node else self.nodes[node].log_of(pod["metadata"]["uid"])

    def _add_node(self, name: str) -> None:
        status = {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        }
        labels = {"kubernetes.io/hostname": name}
        self.add("nodes", "", {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status})

    async def _work(self) -> None:
        """Look over everything after each change; now and then all the same, for what waits for room."""
        while True:
            before = self.store.version
            self.controllers.look()
            for node in self.nodes.values():
                node.look()
            if self.store.version == before:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_QUOTA_AGAIN_S):
                        await self.store.wait()
