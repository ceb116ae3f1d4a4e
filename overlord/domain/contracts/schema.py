"""What is published for editors as `config/contract.schema.json`: contracts of version 2, with the shorter forms people may write.

Rewritten by `python -m tests.architecture.contract_schema`; a test holds the file against the models. The strings beneath the fields are
read from the source here: pydantic's own way does that at every import, and makes each start of Overlord a fifth of a second longer.
"""

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent
from typing import Any, get_args

from pydantic import BaseModel

from overlord.domain.contracts.contract import Contract
from overlord.domain.contracts.criteria.criterion import Criterion
from overlord.domain.contracts.part import Part
from overlord.domain.contracts.reading import CONTRACT_DIR


def contract_schema() -> dict[str, Any]:
    """The models as JSON Schema, each key with what it means."""
    schema = Contract.model_json_schema()
    for model in sorted(set(models(Contract)), key=lambda item: item.__name__):
        properties = (schema if model is Contract else schema["$defs"][model.__name__])["properties"]
        for name, description in _descriptions(model).items():
            properties[name]["description"] = description
    properties = schema["properties"]
    properties["version"] = {"const": 2, "description": properties["version"]["description"]}
    scope = schema["$defs"]["Role"]["properties"]["scope"]
    patterns = schema["$defs"]["ScopeRule"]["properties"]["patterns"]
    scope["anyOf"] = [{key: patterns[key] for key in ("type", "items", "maxItems")}, *scope["anyOf"]]
    schema["required"] = []  # each of two files is a part of a contract
    schema["title"] = f"{CONTRACT_DIR}/*.yaml"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_clean(schema)}


def models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Every model that a contract is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models(field.annotation)
    else:
        for part in get_args(annotation):
            yield from models(part)


def _descriptions(model: type[BaseModel]) -> dict[str, str]:
    """The strings beneath a model's fields; a criterion's one key means what the criterion does."""
    inherited = [base for base in model.__mro__[1:2] if issubclass(base, Part) and base is not Part]
    found = {name: text for base in inherited for name, text in _descriptions(base).items()}
    (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            name = field.target.id
            if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                found[name] = " ".join(str(text.value.value).split())
            elif issubclass(model, Criterion) and name == getattr(model, "kind", None):
                found[name] = inspect.getdoc(model) or ""
    return {name: text for name, text in found.items() if name in model.model_fields}


def _clean(schema: Any) -> Any:
    """Without what an editor can do nothing with: titles made from names, empty values that are absent in a contract."""
    if isinstance(schema, list):
        return [_clean(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    is_field = not {"type", "anyOf", "oneOf", "$ref", "const"}.isdisjoint(schema)
    taken_out = {"title"} if is_field and schema.get("type") != "object" else set()
    if is_field and schema.get("default", 0) in (None, "", [], {}):
        taken_out.add("default")
    closed = {"additionalProperties": False} if "patternProperties" in schema else {}
    return {key: _clean(value) for key, value in schema.items() if key not in taken_out} | closed
