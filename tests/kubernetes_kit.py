"""Kubernetes as the runners' suites drive it: the embedded cluster, its real API, and Pods that play puppets."""

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from overlord.adapters.kubernetes.cluster import read_access
from overlord.adapters.kubernetes.runner import KubernetesRunner
from overlord.domain.identifiers import SessionId
from overlord.domain.launch import SessionAccess
from overlord.embedded.kubernetes.cluster import EmbeddedCluster
from tests.puppet import PUPPET, SessionApi

NAMESPACE = "overlord-sessions"
CLAIM = "environments"
INSTANCE = "test"
ACCESS = SessionAccess(url="https://127.0.0.1:7443", token="a-token", authority="-----BEGIN CERTIFICATE-----")


@dataclass
class KubernetesKit:
    """`options` are the runner's own, beside what every test needs."""

    root: Path
    session_api: SessionApi
    cluster: EmbeddedCluster
    kubeconfig: Path
    access: SessionAccess = ACCESS
    options: dict[str, Any] = field(default_factory=dict)

    def runner(self, program: str = "") -> KubernetesRunner:
        return KubernetesRunner(
            self.root / "notes",
            read_access(self.kubeconfig),
            namespace=NAMESPACE,
            image="overlord-minion",
            instance=INSTANCE,
            **{"claim": CLAIM, "pause_s": 0.01, "command": self._command(program), **self.options},
        )

    def source(self, program: str) -> str:
        return (
            "from pathlib import Path\n"
            "from overlord.adapters.kubernetes.cluster import read_access\n"
            "from overlord.adapters.kubernetes.runner import KubernetesRunner\n"
            "from overlord.domain.launch import SessionAccess\n"
            f"access = SessionAccess(url={self.access.url!r}, token='t', authority='a')\n"
            f"runner = KubernetesRunner(Path({str(self.root / 'notes')!r}), read_access(Path({str(self.kubeconfig)!r})),"
            f" namespace={NAMESPACE!r}, image='overlord-minion', instance={INSTANCE!r}, command={self._command(program)!r})\n"
        )

    async def kill_from_outside(self, session: SessionId) -> None:
        self.cluster.kill(session)

    async def admin(self, method: str, path: str, content: object = None) -> Any:
        """Ask the cluster as its administrator; what it answers."""
        headers = {"authorization": f"Bearer {self.cluster.admin_token}"}
        trusted = ssl.create_default_context(cadata=self.cluster.authority.decode())
        async with httpx.AsyncClient(base_url=self.cluster.url, headers=headers, verify=trusted) as client:
            answer = await client.request(method, path, json=content)
        answer.raise_for_status()
        return answer.json()

    def _command(self, program: str) -> Sequence[str]:
        # A puppet speaks on the unix socket that the Minion would open for itself.
        own = f'import os; os.environ["OVERLORD_URL"] = "unix://{self.session_api.path}/s"\n'
        return ["python", "-c", own + PUPPET + program]


@asynccontextmanager
async def kubernetes_kit(
    root: Path, session_api: SessionApi, *, nodes: int = 1, images: set[str] | None = None
) -> AsyncIterator[KubernetesKit]:
    """A cluster of its own, with the namespace and the claim that sessions need."""
    cluster = EmbeddedCluster(root / "cluster", nodes=nodes, images=images)
    cluster.make_namespace(NAMESPACE)
    cluster.make_claim(NAMESPACE, CLAIM)
    async with cluster.serve():
        yield KubernetesKit(root, session_api, cluster, cluster.write_kubeconfig(root / "kubeconfig"))
