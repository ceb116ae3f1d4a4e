"""What an API server adds to an object that is made, and what it refuses of one."""

import uuid
from typing import Any

from overlord.embedded.kubernetes.quantity import canonical_resources
from overlord.embedded.kubernetes.refusal import Refusal

Object = dict[str, Any]
_POD_DEFAULTS = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "enableServiceLinks": True,
}
_CONTAINER_DEFAULTS = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}


def completed(plural: str, item: Object) -> None:
    """Fill in what is the default of a new object. Raises Refusal (422)."""
    if not item["metadata"].get("name") and not item["metadata"].get("generateName"):
        raise Refusal(422, "metadata.name: Required value: name or generateName is required")
    match plural:
        case "jobs":
            _complete_job(item)
        case "pods":
            _complete_pod(item["spec"])
            item["status"] = {"phase": "Pending"}
        case "secrets":
            item.setdefault("type", "Opaque")
        case "persistentvolumeclaims":
            item["status"] = {"phase": "Bound", "accessModes": item["spec"].get("accessModes", [])}
        case "namespaces":
            item["status"] = {"phase": "Active"}
            item["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = item["metadata"][
                "name"
            ]
        case "networkpolicies":
            _complete_policy(item["spec"])


def check_change(plural: str, now: Object, asked: Object) -> None:
    """Raises Refusal (422) for a change of what cannot be changed; rewrites what a server writes in its own way."""
    if plural == "networkpolicies":
        _complete_policy(asked["spec"])
    if plural == "jobs" and now["spec"]["template"] != asked["spec"].get("template"):
        raise Refusal(
            422, f'Job.batch "{now["metadata"]["name"]}" is invalid: spec.template: field is immutable'
        )
    if plural == "secrets" and now.get("immutable") and now.get("data") != asked.get("data"):
        raise Refusal(
            422,
            f'Secret "{now["metadata"]["name"]}" is invalid: data: field is immutable when `immutable` is set',
        )


def _complete_job(item: Object) -> None:
    spec = item["spec"]
    controller = str(uuid.uuid4())
    for name, value in {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": controller}},
    }.items():
        spec.setdefault(name, value)
    template = spec["template"]
    if template["spec"].get("restartPolicy") not in {"Never", "OnFailure"}:
        raise Refusal(
            422,
            'Job.batch is invalid: spec.template.spec.restartPolicy: Unsupported value: supported values: "OnFailure", "Never"',
        )
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    name = item["metadata"]["name"]
    labels |= {
        "batch.kubernetes.io/controller-uid": controller,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": controller,
        "job-name": name,
    }
    _complete_pod(template["spec"])
    item["status"] = {}


def _complete_pod(spec: Object) -> None:
    for name, value in _POD_DEFAULTS.items():
        spec.setdefault(name, value)
    # What is false by default and says so is left out again, as a server does.
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(name) is False:
            del spec[name]
    for container in spec["containers"]:
        for name, value in _CONTAINER_DEFAULTS.items():
            container.setdefault(name, dict(value) if isinstance(value, dict) else value)
    canonical_resources(spec)


def _complete_policy(spec: Object) -> None:
    """Lists that are empty are left out by a server; a rule of none is kept as it is."""
    for name in ("ingress", "egress"):
        if spec.get(name) == []:
            del spec[name]
