"""Objects as the table that `kubectl get` prints."""

from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def as_table(items: list[Object], version: int) -> Object:
    names = ["Name", "Status", "Age"]
    columns = [
        {
            "name": name,
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": name,
            "priority": 0,
        }
        for name in names
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": str(version)},
        "columnDefinitions": columns,
        "rows": [{"cells": _cells(item), "object": _partial(item)} for item in items],
    }


def _partial(item: Object) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}


def _cells(item: Object) -> list[str]:
    made = datetime.fromisoformat(item["metadata"]["creationTimestamp"])
    return [item["metadata"]["name"], _status(item), f"{int((datetime.now(UTC) - made).total_seconds())}s"]


def _status(item: Object) -> str:
    if item["metadata"].get("deletionTimestamp"):
        return "Terminating"
    status = item.get("status") or {}
    for container in status.get("containerStatuses") or ():
        for state in container["state"].values():
            if state.get("reason"):
                return str(state["reason"])
    if item["kind"] == "Job" and item["spec"].get("suspend"):
        return "Suspended"
    ended = [
        condition["type"] for condition in status.get("conditions") or () if condition["status"] == "True"
    ]
    return str(status.get("reason") or status.get("phase") or (ended[-1] if ended else ""))
