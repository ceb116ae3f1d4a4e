"""The cluster of `overlord demo --runner kubernetes`: its API is real, and its Pods are processes of this machine."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

NAMESPACE = "overlord-sessions"
CLAIM, COPIES = "environments", "copies"


async def embedded_cluster(stack: AsyncExitStack, home: Path) -> dict[str, Any]:
    """Start a cluster, for as long as the stack lasts; the settings that sessions run there by."""
    from overlord.embedded.kubernetes.cluster import EmbeddedCluster

    cluster = EmbeddedCluster(home / "cluster", nodes=3)
    cluster.make_namespace(NAMESPACE)
    for claim in (CLAIM, COPIES):
        cluster.make_claim(NAMESPACE, claim)
    await stack.enter_async_context(cluster.serve())
    kubeconfig = cluster.write_kubeconfig(home / "kubeconfig")
    return {
        "session_listener": {"address": "127.0.0.1:0"},
        "kubernetes": {
            "kubeconfig": str(kubeconfig),
            "namespace": NAMESPACE,
            "environments_claim": CLAIM,
            "copies_claim": COPIES,
        },
    }
