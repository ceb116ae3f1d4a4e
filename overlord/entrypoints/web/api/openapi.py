"""The API's description, OpenAPI 3.1: made from the declarations of its addresses, and nothing else."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter

from overlord.entrypoints.web.api.endpoint import Endpoint
from overlord.entrypoints.web.api.problem import MEDIA_TYPE, TITLES, TYPE, ProblemBody
from overlord.verbs.argument_json import Schema

REFERENCE = "#/components/schemas/{model}"
EVERYWHERE = {
    400: "Something that was said is not understood.",
    401: "No token, or none that counts.",
    403: "The token may not do that.",
    429: "Too many wrong tokens from this address.",
    503: "The database is busy.",
}
ABOUT = """\
Every query and every verb of Overlord. A request comes with an access token: `Authorization: Bearer ovl_…` \
(`overlord token create`). What goes wrong is answered as `application/problem+json`. Fields may be added to any answer."""


def document(endpoints: Sequence[Endpoint], prefix: str) -> Schema:
    """The whole description."""
    schemas, components = _schemas(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        operation = _operation(endpoint, schemas)
        paths.setdefault(f"{prefix}{endpoint.path}", {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Overlord", "version": version("overlord"), "description": ABOUT},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": name} for name in dict.fromkeys(endpoint.tag for endpoint in endpoints)],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": components,
        },
    }


def _schemas(endpoints: Sequence[Endpoint]) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """What each address answers, and what these schemas refer to."""
    typed = [(item.name, item.returns) for item in endpoints if item.returns is not None]
    named = [*typed, ("problem", ProblemBody)]
    made, shared = TypeAdapter.json_schemas(
        [(name, "serialization", TypeAdapter(kind)) for name, kind in named], ref_template=REFERENCE
    )
    schemas = {name: _open(schema) for (name, _), schema in made.items()}
    schemas |= {item.name: item.schema for item in endpoints if item.schema is not None}
    components = {name: _open(schema) for name, schema in shared.get("$defs", {}).items()}
    kinds = [f"{TYPE}{kind}" for kind in TITLES]
    problem = components["ProblemBody"]
    problem["properties"]["type"] = {"type": "string", "enum": kinds}
    return schemas, components


def _open(part: Any) -> Any:
    """Fields may be added in a later version, so a schema forbids none."""
    if isinstance(part, list):
        return [_open(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _open(value) for key, value in part.items() if (key, value) != ("additionalProperties", False)
    }


def _operation(endpoint: Endpoint, schemas: Mapping[str, Schema]) -> Schema:
    answered: Schema = {"description": "What was asked for."}
    if endpoint.media_type != "application/json":
        answered["content"] = {endpoint.media_type: {"schema": {"type": "string"}}}
    else:
        answered["content"] = {
            endpoint.media_type: {"schema": schemas.get(endpoint.name, {"type": "object"})}
        }
    problems = dict(sorted({**EVERYWHERE, **_longer(endpoint), **endpoint.problems}.items()))
    operation: Schema = {
        "operationId": endpoint.name,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": f"Needs a token with the right `{endpoint.right}`.",
        "parameters": [*_in_path(endpoint), *map(_parameter, endpoint.parameters)],
        "responses": {"200": answered, **{str(status): _problem(why) for status, why in problems.items()}},
    }
    if endpoint.body is not None:
        needed = bool(endpoint.body.get("required"))
        operation["requestBody"] = {
            "required": needed,
            "content": {"application/json": {"schema": endpoint.body}},
        }
    return operation


def _longer(endpoint: Endpoint) -> dict[int, str]:
    """What may go wrong where more is read."""
    return {404: "There is no such thing."} if "{" in endpoint.path or endpoint.parameters else {}


def _in_path(endpoint: Endpoint) -> list[Schema]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    kinds = {"number": {"type": "integer", "minimum": 1}}
    return [
        {"name": name, "in": "path", "required": True, "schema": kinds.get(name, {"type": "string"})}
        for name in names
    ]


def _parameter(item: Any) -> Schema:
    return {"name": item.name, "in": item.where, "required": item.is_needed, "schema": item.schema}


def _problem(why: str) -> Schema:
    schema = {"$ref": REFERENCE.format(model="ProblemBody")}
    return {"description": why, "content": {MEDIA_TYPE: {"schema": schema}}}
