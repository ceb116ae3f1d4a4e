"""The JSON that queries print, as schemas: made from the types of their values, published in `docs/schemas/`."""

import json
from typing import Any

from pydantic import TypeAdapter

from overlord.domain.interface import Interface
from overlord.queries import registry
from overlord.queries.registry import help_of
from tests.architecture.test_imports import ROOT

FOLDER = ROOT / "docs" / "schemas"


def schema(name: str) -> dict[str, Any]:
    """That of one query's `--json`."""
    query = registry.find(name)
    made = TypeAdapter(query.value).json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"overlord {query.terminal or name} --json",
        "description": help_of(name).partition("\n")[0],
        **{key: _open(value) for key, value in made.items() if key not in ("title", "description")},
    }


def _open(part: Any) -> Any:
    """Fields may be added in a later version, so a schema forbids none."""
    if isinstance(part, list):
        return [_open(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _open(value) for key, value in part.items() if (key, value) != ("additionalProperties", False)
    }


def files() -> dict[str, str]:
    """What stands in the folder."""
    offered = registry.offered(Interface.TERMINAL)
    return {f"{name}.json": json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n" for name in offered}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
