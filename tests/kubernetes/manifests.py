"""The manifests of deploy/kubernetes, as kustomize puts them together, and as objects of an embedded cluster."""

from pathlib import Path
from typing import Any

import yaml

from overlord.embedded.kubernetes.cluster import EmbeddedCluster
from overlord.embedded.kubernetes.kind import KINDS

Object = dict[str, Any]
FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
ACCOUNT = ("overlord", "overlord")


def manifests() -> list[Object]:
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    return [item for name in listed for item in yaml.safe_load_all((FOLDER / name).read_text())]


def one(kind: str, name: str) -> Object:
    """A manifest. Raises LookupError."""
    for item in manifests():
        if (item["kind"], item["metadata"]["name"]) == (kind, name):
            return item
    raise LookupError(name)


def apply_account(cluster: EmbeddedCluster) -> str:
    """Give the daemon's account its Role; its token."""
    for item in manifests():
        if item["kind"] in {"Role", "RoleBinding"}:
            [kind] = [kind for kind in KINDS if kind.name == item["kind"]]
            cluster.add(kind.plural, item["metadata"]["namespace"], item)
    return cluster.account(*ACCOUNT)
