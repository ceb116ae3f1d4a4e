"""Whether a cluster is ready for sessions, asked of it without leaving anything behind."""

import asyncio
from collections.abc import Sequence

from lightkube.config.kubeconfig import SingleConfig

from overlord.adapters.kubernetes.cluster import Cluster, Missing
from overlord.adapters.look import Look
from overlord.errors import ExternalServiceError, RunnerRefused, RunnerUnavailable

OLDEST = (1, 30)
"""The first whose Jobs wait for a Pod to have failed before they make another one, in every cluster (podReplacementPolicy)."""
RIGHTS = (
    *(("batch", "jobs", verb) for verb in ("create", "delete", "get", "list", "patch")),
    *(("", "pods", verb) for verb in ("delete", "list", "watch")),
    ("", "pods/log", "get"),
    *(("", "secrets", verb) for verb in ("create", "delete", "update")),
    *(("", "configmaps", verb) for verb in ("create", "delete", "get", "list", "patch")),
    ("", "events", "list"),
    ("", "persistentvolumeclaims", "get"),
    *(("networking.k8s.io", "networkpolicies", verb) for verb in ("create", "delete", "get", "update")),
)
"""What the runner asks for; deploy/kubernetes/account.yaml gives it."""


async def examine_cluster(
    access: SingleConfig, *, namespace: str, claim: str, runtime_class: str, call_s: float = 30.0
) -> Sequence[Look]:
    """What was found of a cluster; one look alone where it does not answer."""
    cluster = Cluster(access, namespace, call_s=call_s)
    try:
        found = [await _version(cluster, access), await _namespace(cluster), await _rights(cluster)]
        found.append(await _claim(cluster, claim))
        if runtime_class:
            found.append(await _runtime_class(cluster, runtime_class))
        return found
    except ExternalServiceError as error:
        return [Look(what="cluster", is_well=False, said=str(error))]
    finally:
        await cluster.close()


async def _version(cluster: Cluster, access: SingleConfig) -> Look:
    shown = await cluster.look("version")
    text = f"Kubernetes {shown.get('gitVersion', '?')} at {access.cluster.server}"
    digits = ("".join(filter(str.isdigit, str(shown.get(name, "0")))) or "0" for name in ("major", "minor"))
    if tuple(map(int, digits)) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return Look(what="cluster", is_well=False, said=f"{text} is too old; {wanted} is needed")
    return Look(what="cluster", is_well=True, said=text)


async def _namespace(cluster: Cluster) -> Look:
    name = cluster.namespace
    # What may be read of a namespace that is not there is the same as of an empty one; a dry creation tells.
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "overlord-doctor-"}}
    try:
        await cluster.create("configmaps", probe, is_tried=True)
    except RunnerRefused as error:
        return Look(what="namespace", is_well=False, said=str(error))
    return Look(what="namespace", is_well=True, said=name)


async def _rights(cluster: Cluster) -> Look:
    allowed = await asyncio.gather(*(_may(cluster, *right) for right in RIGHTS))
    lacking = [
        f"{verb} {resource}"
        for (_, resource, verb), is_allowed in zip(RIGHTS, allowed, strict=True)
        if not is_allowed
    ]
    if lacking:
        text = (
            f"not allowed to {', '.join(lacking)}; apply the Role of deploy/kubernetes to Overlord's account"
        )
        return Look(what="rights", is_well=False, said=text)
    return Look(what="rights", is_well=True, said=f"all {len(RIGHTS)} that are needed")


async def _may(cluster: Cluster, group: str, resource: str, verb: str) -> bool:
    name, _, sub = resource.partition("/")
    attributes = {"namespace": cluster.namespace, "verb": verb, "group": group, "resource": name}
    if sub:
        attributes["subresource"] = sub
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await cluster.review("apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)
    return bool(answer.get("status", {}).get("allowed"))


async def _claim(cluster: Cluster, name: str) -> Look:
    if not name:
        text = "none: nothing is set up before tests; name a PersistentVolumeClaim in kubernetes.environments_claim"
        return Look(what="environments", is_well=False, said=text, is_sure=False)
    try:
        shown = await cluster.get("persistentvolumeclaims", name)
    except Missing:
        text = f"the namespace has no PersistentVolumeClaim {name} (kubernetes.environments_claim)"
        return Look(what="environments", is_well=False, said=text)
    modes = shown.get("spec", {}).get("accessModes") or []
    text = f"on the claim {name}, {shown.get('status', {}).get('phase', '?')}"
    if "ReadWriteMany" not in modes:
        text += f"; {', '.join(modes)} does for sessions on one node alone"
        return Look(what="environments", is_well=False, said=text, is_sure=False)
    return Look(what="environments", is_well=True, said=text)


async def _runtime_class(cluster: Cluster, name: str) -> Look:
    try:
        await cluster.look(f"apis/node.k8s.io/v1/runtimeclasses/{name}")
    except Missing:
        text = f"the cluster has no RuntimeClass {name} (kubernetes.runtime_class)"
        return Look(what="runtime class", is_well=False, said=text)
    except RunnerUnavailable:
        text = f"{name}; Overlord's account may not look whether the cluster has it, and a session would tell"
        return Look(what="runtime class", is_well=False, said=text, is_sure=False)
    return Look(what="runtime class", is_well=True, said=name)
