"""What clients ask before anything else: versions, groups, resources, and whether fields are validated."""

from typing import Any

from overlord.embedded.kubernetes.kind import KINDS, VERSION, groups, resources_of
from overlord.embedded.kubernetes.refusal import Refusal

Object = dict[str, Any]


def discovered(path: str) -> Object | None:
    """The answer to a path of discovery; None for any other path. Raises Refusal (404)."""
    parts = path.strip("/").split("/")
    match parts:
        case ["version"]:
            return dict(VERSION)
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        case ["api", "v1"]:
            return resources_of("")
        case ["apis"]:
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in groups()]}
        case ["apis", group] if group in groups():
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}
        case ["apis", group, version] if groups().get(group) == version:
            return resources_of(group)
        case ["openapi", "v3"]:
            return {
                "paths": {
                    _root(kind.group): {"serverRelativeURL": f"/openapi/v3/{_root(kind.group)}"}
                    for kind in KINDS
                }
            }
        case ["openapi", "v3", *root]:
            return _described("/".join(root))
        case ["healthz" | "livez" | "readyz"]:
            return {}
    return None


def _group(name: str) -> Object:
    version = {"groupVersion": f"{name}/{groups()[name]}", "version": groups()[name]}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _root(group: str) -> str:
    return f"apis/{group}/{groups()[group]}" if group else "api/v1"


def _described(root: str) -> Object:
    """As much of OpenAPI as tells a client that this server looks at fields itself."""
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string"}} for name in ("fieldValidation", "dryRun")
    ]
    paths, schemas = {}, {}
    for kind in KINDS:
        if _root(kind.group) != root:
            continue
        place = "namespaces/{namespace}/" if kind.namespaced else ""
        known = {"group": kind.group, "version": kind.version, "kind": kind.name}
        paths[f"/{root}/{place}{kind.plural}/{{name}}"] = {
            "patch": {"parameters": parameters, "x-kubernetes-group-version-kind": known, "responses": {}}
        }
        schemas[f"io.k8s.{kind.name}"] = {"type": "object", "x-kubernetes-group-version-kind": [known]}
    if not paths:
        raise Refusal(404, "the server could not find the requested resource")
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
        "paths": paths,
        "components": {"schemas": schemas},
    }
