"""A request to the API server, taken apart."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from starlette.requests import Request

from overlord.embedded.kubernetes.kind import BY_PLURAL, Kind, groups
from overlord.embedded.kubernetes.refusal import Refusal
from overlord.embedded.kubernetes.right import Right
from overlord.embedded.kubernetes.selector import selects

Object = dict[str, Any]
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, taken apart."""

    kind: Kind
    namespace: str
    name: str
    subresource: str
    verb: str

    @property
    def right(self) -> Right:
        resource = self.kind.plural + (f"/{self.subresource}" if self.subresource else "")
        return Right(verb=self.verb, group=self.kind.group, resource=resource, namespace=self.namespace)


def taken_apart(request: Request) -> Asked:
    """Raises Refusal (404) for a path of nothing."""
    parts = request.url.path.strip("/").split("/")
    match parts:
        case ["api", "v1", *rest]:
            group = ""
        case ["apis", group, version, *rest] if groups().get(group) == version:
            pass
        case _:
            raise Refusal(404, "the server could not find the requested resource")
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = [*rest, "", "", ""][:3]
    kind = BY_PLURAL.get(plural)
    if kind is None or kind.group != group or (subresource and subresource not in kind.subresources):
        raise Refusal(404, "the server could not find the requested resource")
    verb = _VERBS.get(request.method, "get" if name else "list")
    if verb == "list" and request.query_params.get("watch") in {"true", "1"}:
        verb = "watch"
    if verb == "delete" and not name:
        verb = "deletecollection"
    return Asked(kind=kind, namespace=namespace, name=name, subresource=subresource, verb=verb)


async def body_of(request: Request) -> Any:
    """Raises Refusal: 415 for a form that is not spoken here, 400 for a body that is neither JSON nor, for an apply, YAML."""
    content, form = await request.body(), request.headers.get("content-type", "")
    if "protobuf" in form or "cbor" in form:
        raise Refusal(
            415, f"the body of the request was in an unknown format: {form}", reason="UnsupportedMediaType"
        )
    if not content:
        return {}
    try:
        if "yaml" in request.headers.get("content-type", ""):
            return yaml.safe_load(content)
        return json.loads(content)
    except (ValueError, yaml.YAMLError):
        raise Refusal(400, "the object provided is unrecognized") from None


def selection_of(request: Request) -> Callable[[Object], bool]:
    query = request.query_params
    return selects(query.get("labelSelector", ""), query.get("fieldSelector", ""))


def is_dry(request: Request) -> bool:
    return request.query_params.get("dryRun") == "All"
