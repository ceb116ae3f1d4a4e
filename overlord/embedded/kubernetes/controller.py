"""What a control plane does on its own: Jobs get their Pods, Pods their node, quotas are kept, what is owned goes with its owner."""

from datetime import UTC, datetime, timedelta
from typing import Any

from overlord.embedded.kubernetes.kind import BY_PLURAL, Kind
from overlord.embedded.kubernetes.quantity import amount
from overlord.embedded.kubernetes.refusal import Refusal
from overlord.embedded.kubernetes.store import Store

Object = dict[str, Any]
JOBS, PODS, EVENTS = (BY_PLURAL[plural] for plural in ("jobs", "pods", "events"))
_OVER = {"Succeeded", "Failed"}


class Controllers:
    """One look over everything at a time, after each change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: dict[str, str] = {}
        """The uid of the Pod that was made for a Job's uid."""

    def look(self) -> None:
        for job in self._store.list("jobs"):
            self._look_at_job(job)
        for pod in self._store.list("pods"):
            if not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp"):
                self._schedule(pod)

    def collect_owned(self, uid: str) -> None:
        """Delete what an object owned that is gone."""
        for plural in ("pods", "secrets", "configmaps", "jobs"):
            for item in self._store.list(plural):
                if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ()):
                    self.delete(BY_PLURAL[plural], item, None)

    def delete(self, kind: Kind, item: Object, grace_s: int | None) -> Object:
        """Delete an object: a Pod that runs is given its grace, everything else is gone at once."""
        namespace = item["metadata"].get("namespace", "")
        name = item["metadata"]["name"]
        if kind is PODS and item["status"].get("phase") not in _OVER and item["spec"].get("nodeName"):
            grace_s = item["spec"].get("terminationGracePeriodSeconds", 30) if grace_s is None else grace_s
            if grace_s > 0:
                return self._mark_deleted(item, grace_s)
        self._store.remove(kind, namespace, name)
        self.collect_owned(item["metadata"]["uid"])
        return item

    def _mark_deleted(self, pod: Object, grace_s: int) -> Object:
        metadata = pod["metadata"]
        if metadata.get("deletionGracePeriodSeconds", grace_s + 1) > grace_s:
            when = datetime.now(UTC) + timedelta(seconds=grace_s)
            metadata |= {
                "deletionTimestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "deletionGracePeriodSeconds": grace_s,
            }
            return self._store.put(PODS, pod)
        return pod

    def _look_at_job(self, job: Object) -> None:
        uid, status = job["metadata"]["uid"], job["status"]
        if any(condition["type"] in {"Complete", "Failed"} for condition in status.get("conditions") or ()):
            return
        pods = [pod for pod in self._store.list("pods", job["metadata"]["namespace"]) if _is_owned(pod, uid)]
        if job["spec"].get("suspend"):
            for pod in pods:
                if pod["status"].get("phase") not in _OVER and not pod["metadata"].get("deletionTimestamp"):
                    self.delete(PODS, pod, None)
            return
        if not pods and uid not in self._made:
            self._make_pod(job)
            return
        phases = [pod["status"].get("phase") for pod in pods]
        if "Succeeded" in phases:
            self._end_job(job, "Complete", succeeded=1)
        elif not pods or "Failed" in phases:
            self._end_job(job, "Failed", failed=1)

    def _make_pod(self, job: Object) -> None:
        metadata, template = job["metadata"], job["spec"]["template"]
        pod = {
            "metadata": {
                **template.get("metadata", {}),
                "generateName": f"{metadata['name']}-",
                "ownerReferences": [
                    {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "name": metadata["name"],
                        "uid": metadata["uid"],
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }
        try:
            self.check_quota(metadata["namespace"], "pods", pod)
        except Refusal as refusal:
            self._tell(job, "FailedCreate", f"Error creating: {refusal}")
            return
        made = self._store.add(PODS, metadata["namespace"], pod)
        self._made[metadata["uid"]] = made["metadata"]["uid"]
        started = {"startTime": self._store.timestamp(), "active": 1, "ready": 0, "terminating": 0}
        self._store.put(JOBS, {**job, "status": {**job["status"], **started}})

    def _end_job(self, job: Object, condition: str, **counts: int) -> None:
        now = self._store.timestamp()
        entry = {"type": condition, "status": "True", "lastProbeTime": now, "lastTransitionTime": now}
        if condition == "Failed":
            entry |= {
                "reason": "BackoffLimitExceeded",
                "message": "Job has reached the specified backoff limit",
            }
        done = {"completionTime": now} if condition == "Complete" else {}
        status = {**job["status"], **counts, **done, "active": 0, "conditions": [entry]}
        self._store.put(JOBS, {**job, "status": status})

    def check_quota(self, namespace: str, plural: str, item: Object) -> None:
        """Raises Refusal (403) where a ResourceQuota has no room for one more."""
        for quota in self._store.list("resourcequotas", namespace):
            hard, used = quota["spec"].get("hard") or {}, self._used(namespace)
            asked = _wanted(item) if plural == "pods" else {f"count/{plural}.batch": amount("1")}
            for name, most in hard.items():
                if name in asked and used.get(name, amount("0")) + asked[name] > amount(most):
                    raise Refusal(
                        403,
                        f'{plural} "{item["metadata"].get("name", "")}" is forbidden: exceeded quota:'
                        f" {quota['metadata']['name']}, requested: {name}={asked[name]}, limited: {name}={most}",
                    )

    def _used(self, namespace: str) -> dict[str, Any]:
        found: dict[str, Any] = {"count/jobs.batch": amount(str(len(self._store.list("jobs", namespace))))}
        for pod in self._store.list("pods", namespace):
            if pod["status"].get("phase") not in _OVER:
                for name, value in _wanted(pod).items():
                    found[name] = found.get(name, amount("0")) + value
        return found

    def _schedule(self, pod: Object) -> None:
        why = self._claim_missing(pod)
        nodes = [node for node in self._store.list("nodes") if _is_ready(node)]
        wanted = (pod["spec"].get("nodeSelector") or {}).items()
        fitting = [node for node in nodes if wanted <= (node["metadata"].get("labels") or {}).items()]
        if not why and not fitting:
            why = f"0/{len(nodes)} nodes are available: {len(nodes)} node(s) didn't match Pod's node affinity/selector."
        if why:
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
            pod["status"]["conditions"] = [condition]
        else:
            held = [other["spec"].get("nodeName") for other in self._store.list("pods")]
            node = min(
                fitting, key=lambda item: (held.count(item["metadata"]["name"]), item["metadata"]["name"])
            )
            pod["spec"]["nodeName"] = node["metadata"]["name"]
            pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
        self._store.put(PODS, pod)

    def _claim_missing(self, pod: Object) -> str:
        for volume in pod["spec"].get("volumes") or ():
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if (
                claim
                and self._store.get("persistentvolumeclaims", pod["metadata"]["namespace"], claim) is None
            ):
                return f'persistentvolumeclaim "{claim}" not found'
        return ""

    def _tell(self, job: Object, reason: str, message: str) -> None:
        metadata, name = job["metadata"], f"{job['metadata']['name']}.{reason.lower()}"
        event = {
            "metadata": {"name": name},
            "type": "Warning",
            "reason": reason,
            "message": message,
            "involvedObject": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
            },
        }
        if self._store.get("events", metadata["namespace"], name) is None:
            self._store.add(EVENTS, metadata["namespace"], event)


def _is_owned(item: Object, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())


def _is_ready(node: Object) -> bool:
    conditions = node["status"].get("conditions") or ()
    is_up = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return is_up and not node["spec"].get("unschedulable")


def _wanted(pod: Object) -> dict[str, Any]:
    found: dict[str, Any] = {"pods": amount("1"), "count/pods": amount("1")}
    for container in pod["spec"]["containers"]:
        for kind, listed in (container.get("resources") or {}).items():
            for name, text in listed.items():
                found[f"{kind}.{name}"] = found.get(f"{kind}.{name}", amount("0")) + amount(text)
    return found
