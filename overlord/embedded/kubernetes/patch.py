"""The ways to change an object by a part of it: JSON patch, merge patch, strategic merge and server-side apply (as a merge)."""

import copy
from typing import Any

from overlord.embedded.kubernetes.refusal import Refusal

Object = dict[str, Any]
_KEYS = {
    "containers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "ownerReferences": "uid",
    "conditions": "type",
    "ports": "port",
}
"""By what a strategic merge tells the entries of a list; every other list is replaced."""


def patched(item: Object, change: Any, kind: str) -> Object:
    """The object after a patch of a content type. Raises Refusal for one that cannot be applied."""
    if kind == "application/json-patch+json":
        return _by_operations(item, change)
    if not isinstance(change, dict):
        raise Refusal(400, "a patch has to be an object")
    strategic = kind in {"application/strategic-merge-patch+json", "application/apply-patch+yaml"}
    if not strategic and kind != "application/merge-patch+json":
        raise Refusal(
            415, f"the body of the request was in an unknown format: {kind}", reason="UnsupportedMediaType"
        )
    return dict(_merged(item, change, strategic=strategic))


def _merged(item: Any, change: Any, *, strategic: bool) -> Any:
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    found = copy.deepcopy(item) if isinstance(item, dict) else {}
    for name, value in change.items():
        if name.startswith("$"):
            continue
        if value is None:
            found.pop(name, None)
        elif strategic and name in _KEYS and isinstance(value, list) and _is_keyed(value, _KEYS[name]):
            found[name] = _list_merged(found.get(name) or [], value, _KEYS[name])
        else:
            found[name] = _merged(found.get(name), value, strategic=strategic)
    return found


def _is_keyed(entries: list[Any], key: str) -> bool:
    return all(isinstance(entry, dict) and key in entry for entry in entries)


def _list_merged(items: list[Object], changes: list[Object], key: str) -> list[Object]:
    found = {item[key]: item for item in items}
    for change in changes:
        if change.get("$patch") == "delete":
            found.pop(change[key], None)
        else:
            found[change[key]] = _merged(found.get(change[key]), change, strategic=True)
    return list(found.values())


def _by_operations(item: Object, operations: Any) -> Object:
    found = copy.deepcopy(item)
    for operation in operations:
        *path, last = [
            part.replace("~1", "/").replace("~0", "~") for part in str(operation["path"]).split("/")[1:]
        ]
        place: Any = found
        try:
            for part in path:
                place = place[int(part)] if isinstance(place, list) else place[part]
            _operate(place, last, operation)
        except (KeyError, IndexError, ValueError, TypeError):
            raise Refusal(
                422, f"the server rejected our request due to an error in {operation['path']}"
            ) from None
    return found


def _operate(place: Any, last: str, operation: Object) -> None:
    index: Any = last if isinstance(place, dict) else (len(place) if last == "-" else int(last))
    match operation["op"]:
        case "add" if isinstance(place, list):
            place.insert(index, operation["value"])
        case "add" | "replace":
            place[index] = operation["value"]
        case "remove":
            del place[index]
        case "test":
            if place[index] != operation["value"]:
                raise ValueError(last)
        case other:
            raise ValueError(other)
