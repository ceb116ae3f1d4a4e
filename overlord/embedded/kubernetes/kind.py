"""The resources this cluster knows, as its discovery tells them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
VERSION = {
    "major": "1",
    "minor": "33",
    "gitVersion": "v1.33.0-overlord",
    "gitCommit": "0",
    "gitTreeState": "clean",
    "buildDate": "2025-04-23T00:00:00Z",
    "goVersion": "go1.24",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One resource. `subresources` maps a name to its verbs."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    short: Sequence[str] = ()
    subresources: Sequence[str] = ()
    verbs: Sequence[str] = _VERBS

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def _core(
    plural: str, name: str, *short: str, namespaced: bool = True, subresources: Sequence[str] = ()
) -> Kind:
    return Kind(
        group="", version="v1", plural=plural, name=name, short=short, namespaced=namespaced, subresources=subresources
    )  # fmt: skip


_RBAC = "rbac.authorization.k8s.io"
KINDS = (
    _core("namespaces", "Namespace", "ns", namespaced=False, subresources=("status",)),
    _core("nodes", "Node", "no", namespaced=False, subresources=("status",)),
    _core("pods", "Pod", "po", subresources=("log", "status", "eviction")),
    _core("secrets", "Secret"),
    _core("configmaps", "ConfigMap", "cm"),
    _core("events", "Event", "ev"),
    _core("services", "Service", "svc"),
    _core("serviceaccounts", "ServiceAccount", "sa"),
    _core("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", subresources=("status",)),
    _core("resourcequotas", "ResourceQuota", "quota", subresources=("status",)),
    _core("limitranges", "LimitRange", "limits"),
    Kind(group="batch", version="v1", plural="jobs", name="Job", subresources=("status",)),
    Kind(group="apps", version="v1", plural="deployments", name="Deployment", short=("deploy",)),
    Kind(
        group="networking.k8s.io",
        version="v1",
        plural="networkpolicies",
        name="NetworkPolicy",
        short=("netpol",),
    ),
    Kind(group="node.k8s.io", version="v1", plural="runtimeclasses", name="RuntimeClass", namespaced=False),
    Kind(group=_RBAC, version="v1", plural="roles", name="Role"),
    Kind(group=_RBAC, version="v1", plural="rolebindings", name="RoleBinding"),
    Kind(group=_RBAC, version="v1", plural="clusterroles", name="ClusterRole", namespaced=False),
    Kind(
        group=_RBAC, version="v1", plural="clusterrolebindings", name="ClusterRoleBinding", namespaced=False
    ),
    Kind(
        group="authorization.k8s.io",
        version="v1",
        plural="selfsubjectaccessreviews",
        name="SelfSubjectAccessReview",
        namespaced=False,
        verbs=("create",),
    ),
)
BY_PLURAL = {kind.plural: kind for kind in KINDS}


def groups() -> dict[str, str]:
    """Each group that has a name, and its version."""
    return {kind.group: kind.version for kind in KINDS if kind.group}


def resources_of(group: str) -> Object:
    """What discovery says of a group."""
    listed = []
    for kind in KINDS:
        if kind.group != group:
            continue
        entry = {
            "name": kind.plural,
            "singularName": kind.name.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.name,
            "verbs": list(kind.verbs),
        }
        listed.append({**entry, "shortNames": list(kind.short)} if kind.short else entry)
        listed += [
            {
                "name": f"{kind.plural}/{sub}",
                "singularName": "",
                "namespaced": kind.namespaced,
                "kind": kind.name,
                "verbs": ["get", "patch", "update"],
            }
            for sub in kind.subresources
        ]
    version = "v1" if not group else f"{group}/{groups()[group]}"
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}
