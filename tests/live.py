"""Clusters that somebody has, which `make live` runs the runners' conformance suite on.

| variable | what it says |
|---|---|
| `OVERLORD_LIVE_HOST` | this machine's address, as nodes reach it |
| `OVERLORD_LIVE_SWARM` | a swarm's engines, as `tcp://10.0.0.5:2375,tcp://10.0.0.6:2375`, a manager first; it has the image `overlord-minion:latest` and its `-setup` |
| `OVERLORD_LIVE_KUBECONFIG` | the kubeconfig of a cluster |
| `OVERLORD_LIVE_NAMESPACE` | its namespace for sessions; `overlord-sessions` if not set, as in `deploy/kubernetes` |
| `OVERLORD_LIVE_CLAIM` | the claim for environments there; `environments` if not set |
| `OVERLORD_LIVE_IMAGE` | the Minion's image, as its nodes have it; `overlord-minion:latest` if not set |

Tests of a swarm or a cluster that switch machines off have one of their own in any case (`tests/swarm`, `tests/kubernetes`).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from typing_extensions import override

from overlord.adapters.kubernetes.cluster import Cluster, read_access
from overlord.adapters.kubernetes.runner import KubernetesRunner
from overlord.domain.identifiers import SessionId
from overlord.embedded.swarm_lab import LabNode, SwarmLab
from tests.puppet import PUPPET, SessionApi

IS_ON = os.environ.get("OVERLORD_LIVE") == "1" and bool(os.environ.get("OVERLORD_LIVE_HOST"))


def host() -> str:
    """This machine's address, as nodes reach it."""
    return os.environ["OVERLORD_LIVE_HOST"]


@dataclass(slots=True)
class GivenNode(LabNode):
    """An engine of somebody's swarm."""

    at: str = ""

    @property
    @override
    def name(self) -> str:
        return self.at

    @property
    @override
    def address(self) -> str:
        return self.at


def swarm() -> SwarmLab | None:
    """The swarm that somebody has; None where none is given."""
    given = [each.strip() for each in os.environ.get("OVERLORD_LIVE_SWARM", "").split(",") if each.strip()]
    if not (IS_ON and given):
        return None
    nodes = [GivenNode(number, Path("/nonexistent"), (), at=at) for number, at in enumerate(given, 1)]
    return SwarmLab(nodes, host=host())


def has_kubernetes() -> bool:
    """Whether somebody gave a cluster."""
    return IS_ON and bool(os.environ.get("OVERLORD_LIVE_KUBECONFIG"))


@dataclass
class LiveKubernetesKit:
    """The runner on somebody's cluster. Puppets connect to this machine, which their NetworkPolicy lets them reach."""

    root: Path
    session_api: SessionApi
    instance: str = field(default_factory=lambda: f"t{uuid4().hex[:8]}")

    def runner(self, program: str = "") -> KubernetesRunner:
        given = self._given()
        return KubernetesRunner(
            self.root / "notes", read_access(given.pop("kubeconfig")), command=self._command(program), **given
        )

    def source(self, program: str) -> str:
        given = self._given()
        kubeconfig = str(given.pop("kubeconfig"))
        return (
            "from pathlib import Path\n"
            "from overlord.adapters.kubernetes.cluster import read_access\n"
            "from overlord.adapters.kubernetes.runner import KubernetesRunner\n"
            f"runner = KubernetesRunner(Path({str(self.root / 'notes')!r}), read_access(Path({kubeconfig!r})),"
            f" command={self._command(program)!r}, **{given!r})\n"
        )

    async def kill_from_outside(self, session: SessionId) -> None:
        given = self._given()
        cluster = Cluster(read_access(given["kubeconfig"]), given["namespace"], call_s=30.0, pause_s=0.25)
        for pod in (await cluster.list("pods", labels=f"overlord.session={session}")).items:
            await cluster.delete("pods", pod["metadata"]["name"], grace_s=0)
        await cluster.close()

    def _given(self) -> dict[str, Any]:
        environment = os.environ
        return {
            "kubeconfig": Path(environment["OVERLORD_LIVE_KUBECONFIG"]),
            "namespace": environment.get("OVERLORD_LIVE_NAMESPACE", "overlord-sessions"),
            "claim": environment.get("OVERLORD_LIVE_CLAIM", "environments"),
            "image": environment.get("OVERLORD_LIVE_IMAGE", "overlord-minion:latest"),
            "instance": self.instance,
        }

    def _command(self, program: str) -> Sequence[str]:
        at = self.session_api.url.removeprefix("https://")
        return ["python", "-c", f'import os; os.environ["OVERLORD_CONNECT"] = {at!r}\n{PUPPET}{program}']
