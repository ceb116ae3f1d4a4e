"""Makes `operations.json`: what GitHub publishes of the operations Overlord calls, and nothing of the rest.

Run by hand, `python -m tests.github_openapi.regenerate`; it needs npm and its registry. The same package makes the same
file. OpenAPI's schemas become JSON Schema's: `nullable` is one more type, and `oneOf` is read as `anyOf`, because
GitHub's alternatives overlap (who fits its private user fits its public user too).
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from overlord.adapters.github.operation import OPERATIONS

PACKAGE = "@octokit/openapi"
VERSION = "23.0.2"
MEMBER = "package/generated/api.github.com.json"
OUTPUT = Path(__file__).with_name("operations.json")
JSON_TYPE = "application/json"
NPM_S = 300
OUTSIDE = frozenset({"graphql"})
"""What has no place in the description of the REST API."""

Json = dict[str, Any]
KEPT = ("type", "enum", "format", "required", "items", "properties", "additionalProperties", "$ref")
LIMITS = ("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern")
ALTERNATIVES = {"oneOf": "anyOf", "anyOf": "anyOf", "allOf": "allOf"}
"""Everything else of a schema is prose, or for other programs."""


class Description:
    """The whole description, and the shared schemas of it that were needed so far."""

    def __init__(self, document: Json) -> None:
        self.document = document
        self.shared: Json = {}

    def operations(self) -> Iterator[tuple[str, Json]]:
        """Each operation Overlord calls, by its id."""
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                if isinstance(operation, dict) and operation.get("operationId") in OPERATIONS:
                    yield operation["operationId"], self._operation(path, method, operation)

    def _operation(self, path: str, method: str, operation: Json) -> Json:
        kept: Json = {
            "path": path,
            "method": method.upper(),
            "parameters": [self._parameter(item) for item in operation.get("parameters", [])],
            "responses": {
                status: self._body(self._found(response))
                for status, response in operation["responses"].items()
            },
        }
        if "requestBody" in operation:
            body = operation["requestBody"]
            schema = _closed(self._inlined(body["content"][JSON_TYPE]["schema"]))
            kept["request"] = {"required": body.get("required", False), "schema": schema}
        return kept

    def _parameter(self, parameter: Json) -> Json:
        found = self._found(parameter)
        return {
            "name": found["name"],
            "in": found["in"],
            "required": found.get("required", False),
            "schema": self._inlined(found["schema"]),
        }

    def _body(self, response: Json) -> Json | None:
        """The schema of a response's JSON, or None where there is no body or no JSON in it."""
        content = response.get("content", {}).get(JSON_TYPE)
        return self._schema(content["schema"]) if content else None

    def _schema(self, schema: Json) -> Json:
        """A schema in which what is shared stays a reference."""
        if "$ref" not in schema:
            return _translated(schema, self._schema)
        name = schema["$ref"].rpartition("/")[2]
        if name not in self.shared:
            self.shared[name] = {}  # a place held: schemas may hold themselves
            self.shared[name] = _translated(self._found(schema), self._schema)
        return {"$ref": f"#/$defs/{name}"}

    def _inlined(self, schema: Json) -> Json:
        return _translated(self._found(schema), self._inlined)

    def _found(self, item: Json) -> Json:
        while "$ref" in item:
            found: Any = self.document
            for part in item["$ref"].split("/")[1:]:
                found = found[part]
            item = found
        return item


def _translated(schema: Mapping[str, Any], child: Any) -> Json:
    """One level of OpenAPI 3.0 as JSON Schema; `child` does the schemas within."""
    kept: Json = {name: schema[name] for name in (*KEPT, *LIMITS) if name in schema}
    for name, value in schema.get("properties", {}).items():
        kept["properties"] = kept["properties"] | {name: child(value)}
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            kept[name] = child(schema[name])
    for name, target in ALTERNATIVES.items():
        if name in schema:
            kept[target] = [child(item) for item in schema[name]]
    return _nullable(kept) if schema.get("nullable") else kept


def _nullable(schema: Json) -> Json:
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    changed = schema | {"type": [schema["type"], "null"]}
    if "enum" in schema:
        changed["enum"] = [*schema["enum"], *([] if None in schema["enum"] else [None])]
    return changed


def _closed(schema: Json) -> Json:
    """A request's schema that has no room for what GitHub does not know: it would take it, and do nothing with it."""
    closed = dict(schema)
    if "properties" in schema:
        closed["properties"] = {name: _closed(item) for name, item in schema["properties"].items()}
        closed.setdefault("additionalProperties", False)
    if isinstance(schema.get("items"), dict):
        closed["items"] = _closed(schema["items"])
    for name in ("anyOf", "allOf"):
        if name in schema:
            closed[name] = [_closed(item) for item in schema[name]]
    return closed


def trimmed(document: Json) -> Json:
    """What `operations.json` holds."""
    description = Description(document)
    operations = dict(description.operations())
    missing = OPERATIONS.keys() - operations.keys() - OUTSIDE
    if missing:
        raise SystemExit(f"{PACKAGE} {VERSION} does not describe {', '.join(sorted(missing))}")
    return {
        "$defs": description.shared,
        "operations": operations,
        "source": {"package": PACKAGE, "version": VERSION, "licence": "MIT"},
    }


def written(kept: Json) -> str:
    return json.dumps(kept, indent=1, sort_keys=True) + "\n"


def fetched(folder: Path) -> Json:
    """The description in the package, which npm checks against its registry's hash."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"{PACKAGE}@{VERSION}"]
    try:
        subprocess.run(command, check=True, timeout=NPM_S, capture_output=True, text=True, cwd=folder)
    except FileNotFoundError:
        raise SystemExit("npm is not installed") from None
    except subprocess.TimeoutExpired:
        raise SystemExit(f"npm did not deliver {PACKAGE}@{VERSION} within {NPM_S} s") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"npm could not deliver {PACKAGE}@{VERSION}:\n{error.stderr}") from None
    [package] = folder.glob("*.tgz")
    with tarfile.open(package) as archive:
        member = archive.extractfile(MEMBER)
        if member is None:
            raise SystemExit(f"{PACKAGE}@{VERSION} has no {MEMBER}")
        document: Json = json.load(member)
    return document


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = trimmed(fetched(Path(folder)))
    OUTPUT.write_text(written(kept), encoding="utf-8")
    sys.stdout.write(f"{OUTPUT}: {len(kept['operations'])} operations, {OUTPUT.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
